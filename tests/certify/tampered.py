"""Certificates with one number changed, in the model or in the certificate: each is refused, or still true.

    python tests/certify/tampered.py --certificates 10000 --seed 7

A certificate that the checker accepts is compared with the model's outputs on all 2^T inputs, T <= 12, computed from
the definitions in long double; mpmath (60 digits, or 1500 for large weights) computes the inputs with the largest error
and the one closest to the threshold. A model that the checker accepts and `load` refuses counts as false too.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import mpmath
import numpy as np

from sparsehead._base.errors import DomainError, SparseheadError
from sparsehead._base.rng import stream
from sparsehead.certify import check as checker
from sparsehead.certify.certificate_file import certificate_content
from sparsehead.construct import build
from sparsehead.functions import assignments, from_table, parse
from sparsehead.heads.model import arrays_of
from sparsehead.heads.model_file import load, packed

if __package__:
    from .adversarial import exact_output, long_outputs
    from .random_models import random_model
    from .tampering import changed_once
else:
    from adversarial import exact_output, long_outputs  # type: ignore[no-redef]
    from random_models import random_model  # type: ignore[no-redef]
    from tampering import changed_once  # type: ignore[no-redef]

BUILDS: list[tuple[str, int, dict[str, Any]]] = [
    ("x1 & x2 & x5", 8, {}), ("x0 ^ x2 ^ x3", 6, {}), ("maj(x0,x1,x4) ^ x2", 5, {"readout": "mlp"}),
    ("x2 | x5", 7, {"encoding": "bag"}), ("x2 & x5", 6, {"encoding": "random", "d": 20, "seed": 0}),
    ("x0 & !x3", 7, {"encoding": "trainable"}), ("x1 ^ x2", 5, {"heads": "s"}), ("x0 & x4", 6, {"heads": "cancel"}),
    ("x1 ^ x2 ^ x3", 5, {"method": "paper"}), ("x3", 12, {}), ("1", 4, {}),
]  # fmt: skip


@cache
def originals(seed):
    """Models and certificates that hold, of all kinds that the checker knows: built ones and random ones."""
    functions = [(parse(text, T=T), settings) for text, T, settings in BUILDS]
    pairs = [(packed(build(f, **settings)), f) for f, settings in functions]
    found = [(raw, certificate_content(raw, f)) for raw, f in pairs]
    rng = stream(seed, "tampered", "originals")
    while len(found) < 3 * len(BUILDS):
        model = random_model(rng, 4)
        raw, f = packed(model), from_table(T=4, support=range(4), table=model.predict(assignments(4)))
        try:
            found.append((raw, certificate_content(raw, f)))
        except DomainError:
            continue
    return found


def false_statement(raw, content):
    """What is false in a certificate that was accepted, or None."""
    with tempfile.NamedTemporaryFile(suffix=".safetensors") as file:
        Path(file.name).write_bytes(raw)
        try:
            model = load(file.name)
        except SparseheadError as error:
            return f"the model does not load: {error}"
    bits = assignments(model.T)
    ones = {row["bits"] for row in content["patterns"] if row["value"]}
    labels = np.array(["".join(str(int(x[i])) for i in content["support"]) in ones for x in bits], dtype=int)
    claimed = float.fromhex(content["max_error"])
    with np.errstate(all="ignore"):
        outputs = long_outputs(model, bits)
        errors = np.abs(outputs - labels)
        signed = np.where(labels == 1, outputs - model.threshold, model.threshold - outputs)
    large = max(np.abs(array).max(initial=0.0) for _, array in arrays_of(model)) > 1e6
    worst = {int(i) for i in (*np.argsort(-errors)[:2], np.argmin(signed))}
    worst |= {int(i) for i in np.flatnonzero(~(errors <= claimed) | ~(signed >= 0))[:8]}
    for i in worst:
        output = exact_output(model, bits[i], 1500 if large else 60)
        if abs(output - int(labels[i])) > mpmath.mpf(claimed):
            return f"the error at {bits[i]} is {mpmath.nstr(abs(output - int(labels[i])), 20)}, claimed {claimed!r}"
        if (output > mpmath.mpf(model.threshold)) != bool(labels[i]):
            return f"the prediction at {bits[i]} is wrong"
    return None


def run(certificates, seed, *, first=0, report=False):
    """(counts, false statements) of `certificates` changed ones, from number `first` on."""
    counts: Counter[tuple[str, str]] = Counter()
    false, start = [], time.time()
    for number in range(first, first + certificates):
        rng = stream(seed, "tampered", number)
        known = originals(seed)
        raw, content = known[rng.integers(len(known))]
        raw, text, what = changed_once(raw, content, rng)
        try:
            checker.check(raw, text)
        except (checker.Refused, *checker.UNREADABLE):
            counts[what, "refused"] += 1
        else:
            counts[what, "accepted"] += 1
            if (reason := false_statement(raw, json.loads(text))) is not None:
                false.append(f"seed {seed} number {number}, {what}: {reason}")
        if report and number % 1000 == 999:
            print(
                f"{number + 1 - first} certificates, {len(false)} false, {time.time() - start:.0f} s",
                flush=True,
            )
    return counts, false


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--certificates", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--first", type=int, default=0, help="begin with this number, to share the work")
    options = parser.parse_args()
    counts, false = run(options.certificates, options.seed, first=options.first, report=True)
    for what in sorted({key[0] for key in counts}):
        print(what, "refused", counts[what, "refused"], "accepted", counts[what, "accepted"])
    total: Counter[str] = Counter()
    for (_, verdict), n in counts.items():
        total[verdict] += n
    print(json.dumps(total), *false, sep="\n")
    print(f"{len(false)} false statements in {options.certificates} certificates")
    return bool(false)


if __name__ == "__main__":
    sys.exit(main())
