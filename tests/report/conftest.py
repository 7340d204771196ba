"""A folder of small made-up results."""

import json
import math

import pytest


def made_up_results():
    """What each results file holds; numbers are invented and only have the right shape."""
    Ts = (100, 300, 1000)
    thresholds = [
        {"T": T, "m80": 12 * math.log(T), "low": 11 * math.log(T), "high": 13 * math.log(T), "trials": 50}
        for T in Ts
    ]
    fit = {"params": {"a": 0.5, "b": 0.1}, "intervals": {"b": [0.0, None]}}
    law = {
        "thresholds": thresholds,
        "floor": [{"T": T, "m": 4 * math.log(T)} for T in Ts],
        "fits": {"log": {**fit, "aic": 10.0}, "linear": {**fit, "aic": 14.0}},
        "seconds": 1.0,
    }
    steps = range(0, 101, 10)
    return {
        "law": law,
        "law-grid": law,
        "law-decades": {**law, "bound": [{"T": T, "m": 1e6 * math.log(T)} for T in Ts]},
        "success": {"cells": [{"T": T, "m": m, "solved": 3, "trials": 4} for T in Ts for m in (50, 100)]},
        "curves": {
            "T": 300,
            "curves": [
                {"m": m, "replicate": r, "step": s, "accuracy": min(1.0, 0.5 + s * r * m / 2e4)}
                for m in (50, 200) for r in (0, 1) for s in steps
            ],
        },
        "attention": {"weights": [[0.1, 0.7, 0.1, 0.1]] * 5, "support": [1]},
        "parity": {
            "curves": [{"T": T, "seed": 0, "step": s, "loss": 0.69 / (1 + s * s)} for T in (10, 15) for s in steps]
        },
        "learned-norms": {"points": [{"T": T, "source": "learned", "norm": 9.0, "low": 8.0, "high": 11.0} for T in Ts]},
        "bound-training": {"points": [{"step": s, "bound": 10.0 + s, "accuracy": 0.5 + s / 200} for s in steps]},
    }  # fmt: skip


@pytest.fixture(scope="session")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results")
    for name, data in made_up_results().items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    return folder
