"""Reading of trained models: planted functions read back, certificates against true errors, when supports appear.

Verdicts are computed from intervals in the results files that `reproduce` writes.
"""

from statistics import median

from sparsehead._base.jsonable import json_values
from sparsehead.laws.intervals import wilson

from ..studies.read_trained import READ_CELL, AppearanceRecord, AppearanceRun, ReadTrial, ReadTrialsRecord
from .claim import Context, Finding, claim, judged
from .experiments import sign_test
from .measured import LEVEL, not_run, results


@claim("read-trained", kind="ours")
def check_read_trained(context: Context) -> Finding:
    """Given only evaluations of a one-layer model of sixteen heads that has learned the AND of three of 300 bits from
    200 samples, reading returns exactly that AND in at least 98 % of cases.
    """
    trials = results(context, "reading", ReadTrialsRecord).trials
    family, T, m = READ_CELL
    cell = [r for r in trials if (r.family, r.T, r.m) == READ_CELL and r.solved]
    if not cell:
        raise not_run(context, "reading")
    exact = sum(r.found == "planted" for r in cell)
    low, high = wilson(exact, len(cell))
    verdict = "holds" if low >= 0.98 else "refuted" if high < 0.98 else "undecided"
    solved = [r for r in trials if r.solved]
    failures = [r for r in solved if r.found != "planted"]
    read = len(solved) - len(failures)
    where = f"{family.upper()}, $T={T}$, $m={m}$"
    ours = f"{exact} of {len(cell)} models read back exactly [{low:.3f}, {high:.3f}]; {where}"
    detail = f"Over all families and sizes {read} of {len(solved)} solved trials. {_described(failures)}"
    return judged(verdict, ours=ours, detail=detail, failures=json_values(failures))


def _described(failures: list[ReadTrial]) -> str:
    """Describe the failures: no function found, or another function with its distance from the planted one."""
    if not failures:
        return "None failed."
    none = sum(r.found == "none" for r in failures)
    other = [r.function_error for r in failures if r.function_error is not None]
    parts = [f"{none} said none"] if none else []
    if other:
        parts.append(
            f"{len(other)} read another function, which differs from the planted one on ${min(other):.2g}$ to "
            f"${max(other):.2g}$ of inputs (median ${median(other):.2g}$)"
        )
    return f"Of the others, {' and '.join(parts)}."


@claim("read-certificate", kind="ours")
def check_read_certificate(context: Context) -> Finding:
    """The certificate of a reading holds on trained models: over all families, context lengths and sample sizes
    measured, the model's true error exceeds its certified bound in at most the stated 5 % of trials.
    """
    data = results(context, "reading", ReadTrialsRecord)
    pairs = [(r.model_error, r.model_bound) for r in data.trials]
    certified = [(error, bound) for error, bound in pairs if bound is not None]
    if not certified:
        raise not_run(context, "reading")
    broken = sum(error > bound for error, bound in certified)
    low, high = wilson(broken, len(certified))
    delta = data.delta
    verdict = "holds" if high <= delta else "refuted" if low > delta else "undecided"
    useful = sum(bound < 0.5 for _, bound in certified)
    ours = f"{broken} of {len(certified)} exceeded [{low:.3f}, {high:.3f}]; allowed {delta:g}"
    detail = (
        f"Median bound {median(bound for _, bound in certified):.3f}, median true error "
        f"${median(error for error, _ in certified):.2g}$; {useful} bounds are below 1/2."
    )
    return judged(verdict, ours=ours, detail=detail)


@claim("support-appears", kind="ours")
def check_support_appears(context: Context) -> Finding:
    """Influence shows a learned support more reliably than attention: at the end of training the support leads all
    other positions in influence in more of the solved runs than in attention.
    """
    runs = [r for r in results(context, "appearance", AppearanceRecord).runs if r.solved]
    if not runs:
        raise not_run(context, "appearance")
    only = {
        name: sum(getattr(r, name) is not None and getattr(r, other) is None for r in runs)
        for name, other in (("influence", "attention"), ("attention", "influence"))
    }
    n = sum(only.values())
    chances = [sign_test(k, n) for k in (only["influence"], only["attention"])]
    verdict = "holds" if chances[0] < LEVEL else "refuted" if chances[1] < LEVEL else "undecided"
    tasks = dict.fromkeys((r.task, r.T, r.m) for r in runs)
    ours = "; ".join(_when(task, [r for r in runs if (r.task, r.T, r.m) == task]) for task in tasks)
    detail = (
        f"Only influence leads in {only['influence']} of {len(runs)} runs, only attention in "
        f"{only['attention']}; one-sided sign test $p = {chances[0]:.3g}$, in the other direction "
        f"${chances[1]:.3g}$; below {LEVEL} decides."
    )
    return judged(verdict, ours=ours, detail=detail)


def _when(task: tuple[str, int, int], runs: list[AppearanceRun]) -> str:
    """Describe one task: in how many runs the support appears in each quantity, and the median step."""
    parts = []
    for name in ("accuracy", "influence", "attention"):
        steps = [step for r in runs if (step := getattr(r, name)) is not None]
        parts.append(f"{name} {len(steps)} of {len(runs)}" + (f" (step {median(steps):g})" if steps else ""))
    return f"{task[0]}, $T={task[1]}$: {', '.join(parts)}"
