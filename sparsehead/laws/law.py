"""`law`: measure m_80 at several T by trials; return it with fitted laws and the information floor."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Unpack

from .._base.arguments import instance, several, shown, whole
from .._base.display import Card, WithChart, clipped
from .._base.errors import DomainError
from .._base.fields import check_names
from .._base.frame import Frame
from .._base.jsonable import ResultsRecord, json_values
from ..floor.floor import Floor
from ..functions import FAMILIES, SparseFunction
from ..functions.task import Task
from ..sweep import Progress, StoredSweep
from ..sweep.cluster import parse_cluster, sweep_on
from ..sweep.shards import Shard, parse_shard
from ..train.footprint import require_trial
from ..train.keywords import Settings
from ..train.learners.own import LearnerLike, require_learner, with_learner
from ..train.learners.travel import packed
from ..train.spec import LEARNERS, SETTINGS, TrainSpec, target_function, task_settings
from ..train.spec import preset as preset_spec
from ..train.transformer.engines import require_engine
from .adaptive import Adaptive
from .curves import Cell
from .fits import LawFit, fit_laws
from .joint import LAW_CAUTION
from .methods import above_floor, by_grid, jointly, one_by_one
from .published import GRID_M
from .rounds import MakeSpec, TrialSource, failures
from .tasks import tasks_at
from .theory import floors, slopes
from .thresholds import Threshold

METHODS = ("joint", "adaptive", "grid")


@dataclass(frozen=True, repr=False, kw_only=True)
class LawResult(ResultsRecord, WithChart):
    """A measured law: the result of `law`, and the content of results files (law.json, law-grid.json, ..).

    Args:
        thresholds: m_80 by T, each with its 95 % interval and its number of trials.
        fits: fits to all trials, by name ("log", "power", "linear"); empty if the trials do not determine a law.
        best: the law with the least AIC; None without fits, or if a misfit makes AIC meaningless.
        note: why there is no fit, or that the laws cannot be distinguished.
        floor: by T, the number of independent samples that the best learner needs for one answer, and for as many
            answers as a trial has runs; empty if theory gives no floor. Trials redraw ambiguous training sets, so their
            thresholds can be compared with the floor but are not bounded by it.
        cells: the outcomes, by T.
        seconds: time spent in this call; trials from the store take none.
        target: the function in words.
        in_paper: whether the function is that of the paper's figure 2.
        slopes: samples per ln T for the best learner ("information") and others, by `floor.constants.per_ln_T`.
        complete: whether all trials of the design were run; False is possible only with stored=True.
    """

    _CHART = "figures.law:law_figure"

    thresholds: dict[int, Threshold]
    fits: dict[str, LawFit]
    best: str | None
    note: str
    floor: dict[int, Floor]
    cells: dict[int, list[Cell]]
    seconds: float
    target: str = "AND of 3 bits"
    in_paper: bool = True
    slopes: dict[str, float] = field(default_factory=dict)

    @property
    def misfit(self) -> str:
        """Return the notes' sentences on how trials depart from the fitted success curve; empty if they do not."""
        notes = (self.note, *(threshold.note for threshold in self.thresholds.values()))
        return next((note[note.index("misfit") :] for note in notes if "misfit" in note), "")

    @property
    def steepness(self) -> tuple[float, float | None, float | None] | None:
        """The success curve's logistic slope in ln m by the best fit, with its 95 % interval; None without a best fit.

        The share of solved trials rises from .2 to .8 while m grows by the factor exp(2.77 / slope).
        """
        fit = self.fits.get(self.best or "")
        return None if fit is None else (fit.params["slope"], *fit.intervals["slope"])

    def __repr__(self) -> str:
        known = [f"T={T}: {_in_words(t)}" for T, t in self.thresholds.items()]
        more = f"; .. {len(known)} T in all" if len(known) > 4 else ""
        return f"<LawResult, m_80 of {clipped(self.target, 100)}: {'; '.join(known[:4])}{more}>"

    def to_frame(self) -> Frame:
        """One row for each T: m_80, its 95 % interval, trials, and both information floors (see `floor`)."""
        return Frame(
            {"T": T, "m_80": t.m80, "low": t.low, "high": t.high, "side": t.side, "trials": t.trials,
             "floor": getattr(self.floor.get(T), "m", None),
             "floor_runs": getattr(self.floor.get(T), "m_guesses", None), "note": t.note}
            for T, t in self.thresholds.items()
        )  # fmt: skip

    def _card(self) -> Card:
        best = self.fits.get(self.best or "")
        fit = [] if best is None else [f"best fit by AIC: {best.law}, b = {best.params['b']:.4g}"]
        if (steep := self.steepness) is not None:
            fit.append(f"steepness: success has slope {steep[0]:.2g} in ln m")
        lines = [f"m_80: samples at which 80 % of trials learn {self.target}", *fit, self.note]
        return Card("Law", [line for line in lines if line], {"seconds": self.seconds}, self.to_frame())

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values, as `sparsehead law --json` prints it."""
        return dict(json_values(self))


class LawSettings(Settings, total=False):
    """The settings of `law`: the settings of `learn`, with the encoding as a name."""

    encoding: str


def law(
    function: SparseFunction | str = "and",
    *,
    T: int | Sequence[int] | None = None,
    s: int | None = None,
    db: str | Path = "results.db",
    seed: int = 0,
    method: str | None = None,
    policy: Adaptive | None = None,
    exceptions: Mapping[int, Mapping[str, Any]] | None = None,
    preset: str = "fast",
    workers: int = 2,
    cluster: str | None = None,
    shard: str | None = None,
    stored: bool = False,
    known: Mapping[int, Sequence[Cell]] | None = None,
    task_of: Callable[[int], Task] | None = None,
    progress: Callable[[Progress], None] | None = None,
    say: Callable[[str], None] | None = None,
    learner: LearnerLike = "transformer",
    **settings: Unpack[LawSettings],
) -> LawResult:
    """Measure m_80, the number of samples at which 80 % of trials learn the function, at each context length T.

    Trials are stored in `db` as they finish; repeating the call runs only missing trials.

    Args:
        function: a family (and, or, parity, majority, junta; needs s), an expression, or a SparseFunction.
        T: context lengths, one or several; for a SparseFunction its own by default.
        s: number of positions that a family's functions depend on; not needed for an expression.
        seed: determines every random stream.
        method: "joint" measures all T together, taking ln m_80 as smooth in ln T, and puts trials where they narrow the
            intervals most; "adaptive" measures each T separately; "grid" is the paper's protocol, 40 trials at each
            m = 50, 60, .., 200. The default is joint, but adaptive for one or two T.
        policy: settings of joint and adaptive: wanted width of the intervals, largest number of trials at each T.
        exceptions: changes to the policy at some T, such as a smaller max_trials where trials take long.
        preset: "fast" (no dropout), "paper", "literal", "mingpt" or "best": see `spec.preset`.
        workers, cluster: number of processes, one thread each; or a Dask cluster: "tcp://host:port" or "local:N".
        shard: "i/n" runs part i of n, for array jobs with a store each. After merging the stores, the same call without
            shard finds every trial. Parts of "adaptive" are context lengths, parts of "grid" are trials; "joint" needs
            all outcomes together and has no parts.
        stored: run nothing; return the law from the trials that the store has.
        known: by T, cells measured earlier, such as those of a results file. A cell of n trials counts as the first n
            trials at its m, which are not run again. Only with method joint or adaptive.
        task_of: T -> `Task`, instead of a function: distribution of inputs and noise may change with T. Workers must be
            able to import its sampler.
        say: called with each sentence that the user should see, such as which version made reused outcomes.
        learner: a name, a function `(bits, labels, rng) -> predict`, a scikit-learn estimator, `module(..)`, or
            "package.module:name". A trial in which a user-defined learner fails counts as not learned.
        settings: fields of `TrainSpec`: encoding, H (heads), d (embedding width), restarts, dropout, ...
    Paper: law-and, law-dropout, law-decades

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> policy = Adaptive(start=12, max_trials=8)
    >>> with TemporaryDirectory() as folder:
    ...     found = law(
    ...         "and", s=2, T=8, db=Path(folder) / "r.db", learner="exhaustive", policy=policy, workers=1
    ...     )
    >>> list(found.thresholds), found.thresholds[8].trials
    ([8], 8)
    """
    started = time.monotonic()
    _check_arguments(method, seed, workers, db, policy, settings)
    if known and method == "grid":
        raise DomainError(
            "known cells go with method joint or adaptive; the grid has a fixed number of trials at each m."
        )
    part = Shard() if shard is None else parse_shard(shard)
    tasks: dict[int, Task] = {}
    if task_of is not None:
        beside = {"function": None if function == "and" else function, "s": s, **settings}
        tasks = tasks_at(task_of, _lengths("", T), beside)
        function = next(iter(tasks.values())).f
    lengths = _lengths(function, T)
    # for at most this many T the default is "adaptive": "joint" would take twice as many trials
    alone_up_to = 2
    method = method or ("joint" if len(lengths) > alone_up_to else "adaptive")
    lengths = _lengths_of(part, lengths, method)
    function, policy = str(function), policy or Adaptive()
    size = s if function in FAMILIES else None  # an expression determines its own s
    make = _trials_of(function, size, preset, with_learner(learner, settings), tasks)
    # Reject settings out of range, and trials that do not fit into memory, before anything runs.
    _refuse_early(make, lengths, max(GRID_M) if method == "grid" else policy.start, cluster, workers)
    if s is not size and s != (reads := target_function(make(lengths[0], 50, 0)).s):
        raise DomainError(
            f"the expression reads {reads} positions, but s (--s) is {shown(s)}; leave s out, which only families "
            "need."
        )
    floor = floors(make, lengths)
    made = StoredSweep(db) if stored else sweep_on(cluster, db, workers=workers, say=say)
    with made as sweep:
        trials = TrialSource(sweep, make, seed, progress, known or {})
        if method == "grid":
            cells, thresholds = by_grid(trials, lengths, part)
        else:
            exceptions = exceptions or {}
            wanted = {T: replace(policy, **exceptions.get(T, {})) for T in lengths}
            policies = {T: above_floor(wanted[T], floor[T].m if T in floor else 0) for T in lengths}
            cells, thresholds = (jointly if method == "joint" else one_by_one)(trials, policies)
    laws = fit_laws(cells, caution=LAW_CAUTION if method == "joint" else 1.0)
    name = {"and": "AND", "or": "OR"}.get(function, function)
    return LawResult(
        thresholds=thresholds,
        fits=laws.fits,
        best=laws.best,
        note=" ".join(filter(None, [laws.note, failures(made)])),
        floor=floor,
        cells=cells,
        seconds=time.monotonic() - started,
        target=name if size is None else f"{name} of {size} bits",
        in_paper=(function, size) == ("and", 3),
        slopes=slopes(make, lengths[-1]),
        complete=made.complete if isinstance(made, StoredSweep) else True,
    )


def _trials_of(
    function: str, s: int | None, preset: str, settings: dict[str, Any], tasks: Mapping[int, Task]
) -> MakeSpec:
    """Return the function (T, m, seed) -> spec of the trial."""
    if LEARNERS[settings["learner"]].as_drawn:
        settings = {"unique": False, **settings}

    def make(T: int, m: int, seed: int) -> TrainSpec:
        task = task_settings(tasks[T]) if tasks else {"function": function, "s": s, "T": T}
        return preset_spec(preset, m=m, seed=seed, **task, **settings)

    return make


def _refuse_early(
    make: MakeSpec, lengths: Sequence[int], most: int, cluster: str | None, workers: int
) -> None:
    """Raise before anything runs if a trial is too large for this machine, the cluster's address is malformed, the
    function reads positions that some T does not have, or the learner cannot be sent to workers. The memory of a
    cluster's workers is checked when they connect."""
    if cluster is None:
        largest = make(lengths[-1], most, 0)
        require_engine(largest)
        require_trial(largest, what="law", workers=workers)
    else:
        parse_cluster(cluster)
    for T in lengths:
        target_function(make(T, 50, 0))
    learner = make(lengths[0], 50, 0).learner
    require_learner(learner, lengths[0])
    packed(learner)


def _in_words(t: Threshold) -> str:
    """Describe the threshold and its interval; without a threshold, the bound that is known."""
    if t.m80 is None and t.side in ("at most", "at least"):
        return f"{t.side} {_shown(t.high if t.low is None else t.low)}"
    return f"{_shown(t.m80)} [{_shown(t.low)}, {_shown(t.high)}]"


def _shown(m: float | None) -> str:
    return "?" if m is None else f"{m:.1f}"


def _lengths(function: Any, T: Any) -> list[int]:
    """Return the context lengths in ascending order, without repetitions."""
    if not isinstance(function, SparseFunction):
        hint = "a family such as 'and', an expression such as 'x1 & x2', or a SparseFunction"
        instance("function", function, str, hint)
    elif T is None:
        T = function.T
    if T is None:
        raise DomainError("law needs at least one context length T, such as T=[100, 300]; got none.")
    given = (T,) if hasattr(T, "__index__") else several("T", T, "context lengths, such as [100, 300]")
    if not given:
        raise DomainError("law needs at least one context length T, got none.")
    return sorted({whole("each T", length) for length in given})


def _lengths_of(part: Shard, lengths: list[int], method: str) -> list[int]:
    """Return the context lengths that this shard measures."""
    if part.whole or method == "grid":
        return lengths
    if method == "joint":
        raise DomainError(
            f"shard {part} needs method adaptive (parts are context lengths) or grid (parts are trials); joint decides "
            "from the outcomes of all context lengths at once."
        )
    lengths_here = part.part(lengths)
    if not lengths_here:
        raise DomainError(
            f"shard {part} has nothing to do: there are {len(lengths)} context lengths; use at most as many shards."
        )
    return lengths_here


def _check_arguments(
    method: Any, seed: Any, workers: Any, db: Any, policy: Any, settings: Mapping[str, Any]
) -> None:
    """Raise for wrong types and unknown names; `TrainSpec` checks its own fields."""
    if method is not None and method not in METHODS:
        raise DomainError(f"method {method!r} is unknown; the methods are {', '.join(METHODS)}.")
    whole("seed", seed, least=0)
    whole("workers", workers)
    if policy is not None:
        instance("policy", policy, Adaptive, "sparsehead.laws.adaptive.Adaptive(width=.., max_trials=..)")
    if not isinstance(db, str | Path):
        raise DomainError(f"db is the path of a store; got {shown(db)}.")
    for name in settings.keys() & {*(each.name for each in fields(Adaptive)), "trials"}:
        raise DomainError(
            f"law has no setting {name!r}; policy=Adaptive(start=.., width=.., max_trials=..) has it."
        )
    check_names(settings, SETTINGS, what="law")
