"""How fast the engines are, in one run on the machine at hand: a table, and the same as JSON.

    python benchmarks/engine.py [--quick] [--json FILE] [--threads N] [--clock wall|cpu] [--before CHECKOUT] [--record]

Every time is the fastest of several repetitions, and ratios compare times of one run. On a machine that others use as
well, --clock cpu --threads 1 counts the time that this process was given instead of the time that passed. --before
names a checkout of version 0.2, whose compiled step is timed in alternation with ours. The ratios at the end stand
beside those of the line before in history.json; --record adds this run's line, once per release.

"Necessary" operations are those of matrix products alone, in the form with the fewest that multiplies: per step
4 m T (d + H) for the two products with the bit matrix, 6 T d (d + H) for the positions, 6 m (d^2 + 2 d f) for what
follows the attention. With dropout every sample has tokens of its own: 12 m (T + 1) d H for scores, mixed tokens and
their gradients, 18 m d^2 for queries, keys and values, and the same behind the attention. Exponentials, norms, masks,
the optimiser and all copying count as nothing. The peak is that of torch's own matrix product, the best over several
sizes, on one core. Tables of partial sums do fewer additions than that count in the products with the bit matrix, so
the share can exceed what a matrix product could reach.
"""

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parent))
import baselines
import history

from sparsehead._base.provenance import processor
from sparsehead.train.spec import TrainSpec, preset
from sparsehead.train.transformer.engines import Engine, make_engine

PEAK_SIZES = (256, 512, 1024)
SHAPES = ((100, 50), (300, 70), (300, 200), (1000, 110), (1000, 300), (10_000, 170))
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = time.perf_counter
# How version 0.2 is driven, in a process of its own.
BEFORE = """
import sys, time, numpy as np, torch
from sparsehead.spec import preset
from sparsehead.train.transformer.engines import make_engine
torch.set_num_threads(1)
T, m, dropout = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
steps, repeats = int(sys.argv[4]), int(sys.argv[5])
clock = {"wall": time.perf_counter, "cpu": time.process_time}[sys.argv[6]]
spec = preset("fast", function="x0 & x1 & x2", T=T, m=m, seed=0, unique=False, learning_rate=1e-6, dropout=dropout)
engine = make_engine(spec)
bits = (np.random.default_rng(0).random((m, T)) < 0.79).astype(np.uint8)
engine.start(spec, 0, (bits, bits[:, :3].prod(1)))
engine.advance(1)
best = 1e9
for _ in range(repeats):
    start = clock()
    engine.advance(steps)
    best = min(best, clock() - start)
print(best / steps)
"""


def fastest(call: Callable[[], object], *, repeats: int, budget: float = 20.0) -> float:
    """Seconds of the fastest call, after one that is not counted; stops after `budget` seconds."""
    call()
    best, started = float("inf"), time.perf_counter()
    for _ in range(repeats):
        start = clock()
        call()
        best = min(best, clock() - start)
        if time.perf_counter() - started > budget:
            break
    return best


def peak() -> float:
    """Floating-point operations per second of torch.mm, the best over sizes, with torch's present threads."""
    best = 0.0
    for n in PEAK_SIZES:
        a, b, c = torch.randn(n, n), torch.randn(n, n), torch.empty(n, n)
        seconds = fastest(partial(torch.mm, a, b, out=c), repeats=2**31 // n**3 + 5)
        best = max(best, 2 * n**3 / seconds)
    return best


def necessary(T: int, m: int, d: int = 64, H: int = 16, f: int = 256) -> int:
    """Operations of one step's matrix products; see the head of this file."""
    return 4 * m * T * (d + H) + 6 * T * d * (d + H) + 6 * m * (d * d + 2 * d * f)


def necessary_with_dropout(T: int, m: int, d: int = 64, H: int = 16, f: int = 256) -> int:
    """The same of a step with dropout."""
    return 12 * m * (T + 1) * d * H + 18 * m * d * d + 6 * m * (d * d + 2 * d * f)


def spec_of(T: int, m: int, **settings: Any) -> TrainSpec:
    """The paper's model on T, m. The learning rate is tiny: a step costs the same, and stays at initialisation."""
    return preset(
        "fast", function="x0 & x1 & x2", T=T, m=m, seed=0, unique=False, learning_rate=1e-6, **settings
    )


def started(spec: TrainSpec, **how: Any) -> Engine:
    """An engine with data and weights in it."""
    made = make_engine(spec, **how)
    bits = (np.random.default_rng(0).random((spec.m, spec.T)) < 0.79).astype(np.uint8)
    made.start(spec, 0, (bits, bits[:, :3].prod(1).astype(np.uint8)))
    return made


def step_seconds(
    T: int,
    m: int,
    *,
    steps: int = 10,
    repeats: int = 20,
    engine: str = "auto",
    **settings: Any,
) -> float:
    """Seconds per step of one run, `steps` steps per call as in training."""
    made = started(spec_of(T, m, **settings), engine=engine)
    return fastest(lambda: made.advance(steps), repeats=repeats) / steps


def compare(T: int, m: int, quick: bool) -> dict[str, float]:
    """Milliseconds per step of one run: (a) to (c) written in torch, (d) in JAX, (e) our engines."""
    tokens, labels = (x[0] for x in baselines.data(T, m))
    few, n_runs = (1, 2) if quick else (2, 4)
    before = step_seconds(T, m)
    steppers = {
        "a_encoder_layer": baselines.Encoder(T, 0.0),
        "a_encoder_layer_dropout": baselines.Encoder(T, 0.1),
    }
    out = {
        name: fastest(baselines.stepper(module, tokens, labels), repeats=few, budget=30)
        for name, module in steppers.items()
    }
    out["b_cls_only"] = fastest(baselines.stepper(baselines.ClsOnly(T), tokens, labels), repeats=5)
    compiled = baselines.compiled_stepper(T, tokens, labels)
    if compiled is not None:
        out["b_torch_compile"] = fastest(compiled, repeats=5)
    out["c_vmap_of_b"] = fastest(baselines.vmap_stepper(T, m, n_runs), repeats=3) / n_runs
    jax_step = baselines.jax_stepper(T, m, 5)
    if jax_step is not None:
        out["d_jax_scan_of_b"] = fastest(jax_step, repeats=3) / 5
    out["e_torch"] = step_seconds(T, m, engine="torch")
    out["e_torch_dropout"] = step_seconds(T, m, engine="torch", dropout=0.1, steps=1, repeats=3)
    out["e_compiled_dropout"] = step_seconds(T, m, dropout=0.1, steps=2, repeats=5)
    # a quarter of a second each: twice, a minute apart, so that one disturbance does not decide every ratio
    out["e_compiled"] = min(before, step_seconds(T, m))
    return {name: 1e3 * seconds for name, seconds in out.items()}


def deep(T: int, m: int) -> dict[str, float]:
    """Two layers, the last one read at [CLS] alone, milliseconds per step: plain torch, and our torch engine."""
    tokens, labels = (x[0] for x in baselines.data(T, m))
    plain = {flash: baselines.stepper(baselines.Deep(T, flash), tokens, labels) for flash in (False, True)}
    return {
        "plain_softmax_ms": 1e3 * fastest(plain[False], repeats=2, budget=30),
        "plain_fused_attention_ms": 1e3 * fastest(plain[True], repeats=2, budget=30),
        "ours_ms": 1e3 * step_seconds(T, m, L=2, steps=1, repeats=3),
    }


def growth(quick: bool) -> dict[str, Any]:
    """Time against T at m = 300 and against m at T = 1000, with the exponent from 10^4 on, and memory."""
    lengths = (1000, 10_000) if quick else (1000, 10_000, 100_000, 1_000_000)
    rows: dict[str, Any] = {"T": [], "m": []}
    shapes = {"T": [(T, 300) for T in lengths], "m": [(1000, m) for m in (50, 100, 200, 400, 800)]}
    for name, pairs in shapes.items():
        for T, m in pairs:
            steps = max(1, 10_000 // T)
            seconds = step_seconds(T, m, steps=steps, repeats=10 if T <= 10_000 else 2)
            rows[name].append({"T": T, "m": m, "ms": 1e3 * seconds})
    late = [(math.log(r["T"]), math.log(r["ms"])) for r in rows["T"] if r["T"] >= 10_000]
    if len(late) > 1:
        rows["exponent_from_10000"] = (late[-1][1] - late[0][1]) / (late[-1][0] - late[0][0])
    rows["peak_rss_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return rows


def beside(checkout: Path, which: str, rounds: int = 3) -> list[dict[str, float]]:
    """Version 0.2's compiled step and ours, in alternation, milliseconds."""
    rows = []
    for T, m, dropout in [*((T, m, 0.0) for T, m in SHAPES), (100_000, 300, 0.0), (300, 200, 0.1)]:
        steps = 2 if dropout else max(1, 20_000 // T)
        old, new = float("inf"), float("inf")
        command = [sys.executable, "-c", BEFORE, str(T), str(m), str(dropout), str(steps), "5", which]
        there = {**os.environ, "PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1"}
        for _ in range(rounds):
            done = subprocess.run(
                command, env=there, capture_output=True, text=True, check=True, cwd=checkout
            )
            old = min(old, float(done.stdout))
            new = min(new, step_seconds(T, m, dropout=dropout, steps=steps, repeats=5))
        rows.append(
            {"T": T, "m": m, "dropout": dropout, "before_ms": 1e3 * old, "ms": 1e3 * new, "ratio": new / old}
        )
    return rows


def run(threads: int, quick: bool, before: Path | None, which: str) -> dict[str, Any]:
    """Everything, as one record."""
    torch.set_num_threads(1)
    result: dict[str, Any] = {
        "command": "make bench", "machine": processor(), "torch": torch.__version__, "clock": which,
        "made_by": started(spec_of(10, 5)).made_by, "threads": threads,
    }  # fmt: skip
    result["growth"] = growth(quick)  # first, so that the process's peak memory is that of the engine
    result["peak_fraction"] = []
    for T, m in ((300, 70), (1000, 110), (300, 200)):
        top, seconds = peak(), step_seconds(T, m)
        top = max(top, peak())
        row = {"T": T, "m": m, "us": 1e6 * seconds, "peak_gflops": top / 1e9}
        result["peak_fraction"].append({**row, "fraction": necessary(T, m) / seconds / top})
    seconds = step_seconds(300, 200, dropout=0.1, steps=1, repeats=20)
    share = necessary_with_dropout(300, 200) / seconds / top
    plain = result["peak_fraction"][-1]["us"]
    result["dropout"] = {"us": 1e6 * seconds, "fraction": share, "over_plain": 1e6 * seconds / plain}
    if before is not None:
        result["before"] = beside(before, which)
    torch.set_num_threads(threads)
    result["compare_ms"] = times = compare(300, 200, quick)
    result["ratios"] = {
        f"{name}_over_compiled": times[name]
        / times["e_compiled_dropout" if "dropout" in name else "e_compiled"]
        for name in times
        if not name.startswith("e_compiled")
    }
    result["deep"] = deep(300, 200)
    return result


def figures(result: dict[str, Any]) -> dict[str, float]:
    """The ratios of a run, by their names in history.json. Only the first two kinds are better when larger."""
    out = {f"share of peak, T={r['T']}, m={r['m']}": r["fraction"] for r in result["peak_fraction"]}
    out["share of peak with dropout, T=300, m=200"] = result["dropout"]["fraction"]
    out["step with dropout over plain, T=300, m=200"] = result["dropout"]["over_plain"]
    times = {r["T"]: r["ms"] for r in result["growth"]["T"]}
    for T in (10_000, 100_000):
        if T in times:
            out[f"step at T={T} over {T // 1000} steps at T=1000, m=300"] = (
                times[T] / times[1000] / (T // 1000)
            )
    for name, ratio in result["ratios"].items():
        out[name.replace("_over_compiled", " over ours").replace("_", " ")] = ratio
    deep = result["deep"]
    out["two layers, torch's fused attention over ours"] = deep["plain_fused_attention_ms"] / deep["ours_ms"]
    for r in result.get("before", []):
        kind = ", dropout" if r["dropout"] else ""
        out[f"ours over version 0.2, T={r['T']}, m={r['m']}{kind}"] = r["ratio"]
    return out


def show(result: dict[str, Any]) -> None:
    """The tables."""
    print(f"torch {result['torch']}, engine {result['made_by']}, {result['clock']} clock")
    print("\nshare of the matrix-product peak, one core")
    for row in result["peak_fraction"]:
        shape = f"T={row['T']:<5} m={row['m']:<4}"
        print(f"  {shape} {row['us']:8.0f} us  {row['fraction']:6.1%} of {row['peak_gflops']:.0f} GF/s")
    with_dropout = result["dropout"]
    print(
        f"  T=300, m=200 with dropout: {with_dropout['us']:.0f} us, {with_dropout['fraction']:.1%}, "
        f"{with_dropout['over_plain']:.1f} times the plain step"
    )
    for row in result.get("before", []):
        kind = " with dropout" if row["dropout"] else ""
        print(
            f"  T={row['T']:<6} m={row['m']:<4} {row['before_ms']:9.3f} ms in version 0.2, {row['ms']:9.3f} now, "
            f"ratio {row['ratio']:.2f}{kind}"
        )
    print(f"\nmilliseconds per step, T=300, m=200, {result['threads']} thread(s)")
    for name, ms in result["compare_ms"].items():
        print(f"  {name:26} {ms:10.2f}")
    for name, ratio in result["ratios"].items():
        print(f"  {name:40} {ratio:10.1f}")
    print("\ntwo layers, T=300, m=200")
    for name, ms in result["deep"].items():
        print(f"  {name:26} {ms:10.1f}")
    grown = result["growth"]
    print("\ngrowth: T, m, ms per step")
    for row in grown["T"] + grown["m"]:
        print(f"  {row['T']:8} {row['m']:5} {row['ms']:10.2f}")
    print(f"  time ~ T^{grown.get('exponent_from_10000', math.nan):.2f} from 10^4 on; "
          f"peak of the process {grown['peak_rss_megabytes']:.0f} MB")  # fmt: skip


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure the training engines.")
    parser.add_argument("--quick", action="store_true", help="smaller shapes, fewer repetitions")
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of torch in the comparisons (a) to (e)"
    )
    parser.add_argument(
        "--json", type=Path, default=Path("build/benchmark-engine.json"), help="where the JSON goes"
    )
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="time that passed, or that we were given"
    )
    parser.add_argument("--before", type=Path, help="a checkout of version 0.2 to time in alternation")
    parser.add_argument("--record", action="store_true", help="add this run's ratios to history.json")
    given = parser.parse_args()
    global clock
    clock = CLOCKS[given.clock]
    result = run(given.threads, given.quick, given.before, given.clock)
    show(result)
    line = history.line_of(result, figures(result))
    print("\nall ratios, beside the line before in benchmarks/history.json")
    print("\n".join(history.table(line, history.former(line, history.read()))))
    if given.record:
        history.record(line)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten to {given.json}")


if __name__ == "__main__":
    main()
