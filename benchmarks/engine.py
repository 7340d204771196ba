"""How fast the engine is, in one run on the machine at hand: a table, and the same as JSON.

    python benchmarks/engine.py [--quick] [--json FILE] [--threads N] [--clock wall|cpu]

Every time is the fastest of several repetitions, and ratios compare times of one run. On a machine that others use as
well, --clock cpu --threads 1 counts the time that this process was given instead of the time that passed.

"Necessary" operations are those of the table path's matrix products alone, in the form with the fewest: per step
4 m T (d + H) for the two products with the bit matrix, 6 T d (d + H) for the positions, 6 m (d^2 + 2 d f) for what
follows the attention. Exponentials, norms, the optimiser and all copying count as nothing. The peak is that of torch's
own matrix product, the best over several sizes, on one core.
"""

import argparse
import json
import resource
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).parent))
import baselines
from sparsehead.train.engine import Slots
from sparsehead.train.gradient import step as torch_step
from sparsehead.train.parameters import Ensemble
from sparsehead.train.workspace import Workspace

from sparsehead.provenance import processor
from sparsehead.spec import TrainSpec, preset
from sparsehead.train import engine, general

PEAK_SIZES = (256, 512, 1024)


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}
clock = time.perf_counter


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


def spec_of(T: int, m: int, **settings: Any) -> TrainSpec:
    """The paper's model on T, m. The learning rate is tiny: a step costs the same, and stays at initialisation."""
    return preset(
        "fast", function="x0 & x1 & x2", T=T, m=m, seed=0, unique=False, learning_rate=1e-6, **settings
    )


def loaded(spec: TrainSpec, n_slots: int = 1) -> Slots:
    """Slots with data and weights in them."""
    slots = Slots(spec, n_slots)
    tokens, labels = baselines.data(spec.T, spec.m)
    for i in range(n_slots):
        slots.load_data(i, (tokens[0, :, :-1].to(torch.uint8).numpy(), labels[0].to(torch.uint8).numpy()))
        slots.start(i, spec, 0)
    return slots


def in_training(
    T: int, m: int, *, dropout: float = 0.0, repeats: int = 40, n_steps: int = 10, threads: int = 1
) -> float:
    """Seconds per trial-step, `threads` runs side by side, ten steps per call as in training."""
    runs = [loaded(spec_of(T, m, dropout=dropout)) for _ in range(threads)]

    def advance() -> None:
        workers = [threading.Thread(target=r.advance, args=(0, n_steps)) for r in runs[1:]]
        for worker in workers:
            worker.start()
        runs[0].advance(0, n_steps)
        for worker in workers:
            worker.join()

    return fastest(advance, repeats=repeats) / n_steps / threads


def without_kernel(measure: Callable[[], float]) -> float:
    """`measure` with the compiled kernel hidden: torch alone."""
    kept, engine.library = engine.library, lambda dtype: None  # type: ignore[assignment]
    try:
        return measure()
    finally:
        engine.library = kept


def general_path(T: int, m: int, dropout: float) -> float:
    """Seconds per trial-step of the general path, by autograd, without the optimiser."""
    slots = loaded(spec_of(T, m, dropout=dropout))
    p, bits = slots.weights.rows(0, 1), slots.bits.float()
    masks = {"dropout": dropout, "seed": 0, "number": 0}
    return fastest(lambda: general.step(p, slots.gradient, bits, slots.labels, **masks), repeats=5)


def compare(T: int, m: int, threads: int, quick: bool) -> dict[str, float]:
    """(a) to (e), milliseconds per trial-step."""
    tokens, labels = (x[0] for x in baselines.data(T, m))
    n_runs = 2 if quick else 4
    few = 1 if quick else 2
    out = {
        "a_encoder_layer": fastest(
            baselines.stepper(baselines.Encoder(T, 0.0), tokens, labels), repeats=few, budget=30
        ),
        "a_encoder_layer_dropout": fastest(
            baselines.stepper(baselines.Encoder(T, 0.1), tokens, labels), repeats=few, budget=30
        ),
        "b_cls_only": fastest(baselines.stepper(baselines.ClsOnly(T), tokens, labels), repeats=5),
        "c_vmap_of_b": fastest(baselines.vmap_stepper(T, m, n_runs), repeats=3) / n_runs,
        "d_general": general_path(T, m, 0.0),
        "d_general_dropout": general_path(T, m, 0.1),
        "d_compiled_dropout": in_training(T, m, dropout=0.1, repeats=5, threads=threads),
        "e_table_torch": without_kernel(lambda: in_training(T, m)),
        "e_table": in_training(T, m, threads=threads),
    }
    return {name: 1e3 * seconds for name, seconds in out.items()}


def ensemble(T: int, m: int) -> list[dict[str, float]]:
    """Milliseconds per trial-step against ensemble size: runs in turn (compiled), and batched products (torch)."""
    rows = []
    for R in (1, 2, 4, 8, 16):
        slots = loaded(spec_of(T, m), R)

        def turn(slots: Slots = slots, R: int = R) -> None:
            for i in range(R):
                slots.advance(i, 10)

        p = Ensemble(slots.weights.architecture, slots.weights.flat.clone())
        g, w = Ensemble.zeros(p.architecture, R, dtype=torch.float32), Workspace(dtype=torch.float32)
        bits, labels = slots.bits.float(), slots.labels
        with torch.no_grad():
            batched = fastest(lambda: torch_step(p, g, bits, labels, w), repeats=20)  # noqa: B023
        rows.append(
            {
                "runs": R,
                "in_turn_ms": 1e2 * fastest(turn, repeats=10) / R,
                "batched_torch_ms": 1e3 * batched / R,
            }
        )
    return rows


def growth(quick: bool) -> dict[str, Any]:
    """Time and memory against T at m = 250 and against m at T = 1000, with fitted exponents."""
    lengths = (1000, 3000, 10_000) if quick else (1000, 3000, 10_000, 30_000, 100_000)
    rows: dict[str, Any] = {"T": [], "m": []}
    for name, shapes in (
        ("T", [(T, 250) for T in lengths]),
        ("m", [(1000, m) for m in (50, 100, 200, 400, 800)]),
    ):
        for T, m in shapes:
            slots = loaded(spec_of(T, m))
            seconds = fastest(lambda: slots.advance(0, 1), repeats=20 if T < 30_000 else 4)  # noqa: B023
            rows[name].append({"T": T, "m": m, "ms": 1e3 * seconds, "megabytes": bytes_of(slots) / 2**20})
            del slots
    logs = torch.tensor([[row["T"], row["ms"], row["megabytes"]] for row in rows["T"]]).log()
    x = logs[:, 0] - logs[:, 0].mean()
    rows["time_exponent"], rows["memory_exponent"] = ((x @ logs[:, i] / (x @ x)).item() for i in (1, 2))
    rows["last_decade_exponent"] = ((logs[-1, 1] - logs[-3, 1]) / (logs[-1, 0] - logs[-3, 0])).item()
    rows["peak_rss_megabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return rows


def bytes_of(slots: Slots) -> int:
    """Memory that training one slot holds: weights, gradient, moments, bits, scratch."""
    tensors = [slots.weights.flat, slots.gradient.flat, *slots.optimiser.moments(0), slots.bits, slots.labels]
    tensors += list(slots.workspace._buffers.values())
    return sum(t.numel() * t.element_size() for t in tensors)


def run(threads: int, quick: bool) -> dict[str, Any]:
    """Everything, as one JSON-able object."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    result: dict[str, Any] = {
        "command": "make bench",
        "machine": processor(),
        "torch": torch.__version__,
        "compiled": loaded(spec_of(10, 5)).kernel is not None,
        "threads": threads,
    }
    result["growth"] = growth(quick)  # first, so that the process's peak memory is that of the engine
    result["peak_fraction"] = []
    for T, m in ((300, 70), (1000, 110), (300, 200)):
        top, seconds = peak(), in_training(T, m)
        top = max(top, peak())
        row = {"T": T, "m": m, "us": 1e6 * seconds, "peak_gflops": top / 1e9}
        result["peak_fraction"].append({**row, "fraction": necessary(T, m) / seconds / top})
    torch.set_num_threads(threads)
    result["compare_ms"] = times = compare(300, 200, threads, quick)
    result["ratios"] = {
        "a_over_e": times["a_encoder_layer"] / times["e_table"],
        "b_over_e": times["b_cls_only"] / times["e_table"],
        "c_over_e": times["c_vmap_of_b"] / times["e_table"],
        "a_over_d_general_with_dropout": times["a_encoder_layer_dropout"] / times["d_general_dropout"],
        "a_over_d_compiled_with_dropout": times["a_encoder_layer_dropout"] / times["d_compiled_dropout"],
    }
    torch.set_num_threads(1)
    result["ensemble"] = ensemble(300, 70)
    return result


def show(result: dict[str, Any]) -> None:
    """The tables."""
    print(f"torch {result['torch']}, compiled kernel: {result['compiled']}")
    print("\nshare of the matrix-product peak, one core")
    for row in result["peak_fraction"]:
        shape = f"T={row['T']:<5} m={row['m']:<4}"
        print(f"  {shape} {row['us']:8.0f} us  {row['fraction']:6.1%} of {row['peak_gflops']:.0f} GF/s")
    print(f"\nmilliseconds per trial-step, T=300, m=200, {result['threads']} thread(s)")
    for name, ms in result["compare_ms"].items():
        print(f"  {name:26} {ms:10.2f}")
    for name, ratio in result["ratios"].items():
        print(f"  {name:26} {ratio:10.0f}")
    print(
        "\nensemble size, T=300, m=70, ms per trial-step: runs in turn (compiled), batched products (torch)"
    )
    for row in result["ensemble"]:
        print(f"  {row['runs']:4}  {row['in_turn_ms']:8.3f}  {row['batched_torch_ms']:8.3f}")
    grown = result["growth"]
    print("\ngrowth: T, m, ms per step, MB held")
    for row in grown["T"] + grown["m"]:
        print(f"  {row['T']:7} {row['m']:5} {row['ms']:10.2f} {row['megabytes']:10.1f}")
    print(
        f"  time ~ T^{grown['time_exponent']:.2f}, last decade T^{grown['last_decade_exponent']:.2f}; memory ~ "
        f"T^{grown['memory_exponent']:.2f}; peak of the process {grown['peak_rss_megabytes']:.0f} MB"
    )


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description="Measure the training engine.")
    parser.add_argument("--quick", action="store_true", help="smaller shapes, fewer repetitions")
    parser.add_argument("--threads", type=int, default=2, help="cores for the comparison (a) to (e)")
    parser.add_argument(
        "--json", type=Path, default=Path("build/benchmark-engine.json"), help="where the JSON goes"
    )
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="time that passed, or that we were given"
    )
    given = parser.parse_args()
    global clock
    clock = CLOCKS[given.clock]
    result = run(given.threads, given.quick)
    show(result)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(result, indent=1) + "\n")
    print(f"\nwritten to {given.json}")


if __name__ == "__main__":
    main()
