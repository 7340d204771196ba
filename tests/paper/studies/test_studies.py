"""Readings that race, several laws in one file, what the store holds of a design, and the verdicts on them."""

import math
from dataclasses import replace

import pytest

from sparsehead._base.errors import DomainError
from sparsehead.floor.floor import Floor
from sparsehead.laws.adaptive import Adaptive
from sparsehead.laws.curves import Cell
from sparsehead.laws.fits import LawFit
from sparsehead.laws.law import LawResult, law
from sparsehead.laws.thresholds import Threshold
from sparsehead.store import Record, Store
from sparsehead.sweep import LocalSweep, StoredSweep
from sparsehead.train.spec import preset, spec_id
from sparsehead_paper.claims import laws as law_checks
from sparsehead_paper.claims import studies as checks
from sparsehead_paper.claims.claim import Context
from sparsehead_paper.figures.parity_settings import parity_settings_chart
from sparsehead_paper.figures.readings import readings_chart
from sparsehead_paper.figures.side_by_side import laws_chart
from sparsehead_paper.studies import plans
from sparsehead_paper.studies.comparison import compare
from sparsehead_paper.studies.curves import curves
from sparsehead_paper.studies.evidence import log_count
from sparsehead_paper.studies.folder import read_results, write_results
from sparsehead_paper.studies.functions import functions
from sparsehead_paper.studies.interpretations import (
    INTERPRETATIONS,
    NUMBERS,
    ComparedInterpretation,
    Interpretation,
    InterpretationsRecord,
    Number,
    NumberEvidence,
    PaperNumber,
    Standing,
)
from sparsehead_paper.studies.law_stage import LabelledLaw, Law, Laws, LawsRecord
from sparsehead_paper.studies.parity import (
    MATCHED_READING,
    ParitySettingRun,
    ParitySettingsRecord,
    collect_settings,
    parity_missing,
    parity_specs,
)
from sparsehead_paper.studies.shares import compared_races, shares, shares_by_choice
from sparsehead_paper.studies.slope import FACTORS, SettingCapacity, SlopeNormsRecord, norm_specs, slope
from sparsehead_paper.studies.stage import Workplace

LITERAL = Interpretation("L2 on all", "not clipped", "mingpt", 0.1)
MATCHED = Interpretation("AdamW on matrices", "clipped", "torch-default", 0.1)
CASE = {"function": "and", "s": 3, "T": 30, "m": 40, "seed": 0}


def quick(reading, n):
    """Trials of no steps, told apart by the reading's clipping; nothing is learned."""
    settings = {"dropout": 0.0, "clip": reading.settings["clip"]}
    return [
        preset("fast", function="and", s=2, T=8, m=20, seed=i, n_steps=0, restarts=1, holdout=20, **settings)
        for i in range(n)
    ]


def verdict_by_clip(records, _):
    """Evidence that prefers readings without clipping, by more with every trial."""
    return -3.1 * len(records) if records[0].spec["clip"] else -0.1 * len(records)


def told(records, _):
    return f"{len(records)} trials"


def seen(solved, steps):
    """A record of which only the verdict and the steps matter."""
    return Record("0", {}, {"status": "solved" if solved else "budget_spent", "steps": steps}, {}, 0.0)


FAKE = (
    Number("first", "law", "1", quick, verdict_by_clip, told),
    Number("second", "parity", "2", quick, verdict_by_clip, told),
)
TWO = tuple(Interpretation("L2 on all", clip, "mingpt", 0.1) for clip in ("clipped", "not clipped"))


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    db = tmp_path_factory.mktemp("race") / "r.db"
    return db, compare(Workplace(db, db.parent, workers=1), readings=TWO, numbers=FAKE, rounds=(2, 4))


@pytest.mark.claim("readings")
def test_the_worse_reading_leaves_the_race_and_gets_no_more_trials(raced):
    db, found = raced
    clipped, free = found.readings
    assert found.complete and clipped.standings["law"].left == "first, 4 trials"
    assert clipped.standings["law"].behind == pytest.approx(4 * 3.0) and not free.standings["law"].left
    with Store(db, readonly=True) as store:
        assert len(store.find(quick(TWO[0], 4))) == len(store.find(quick(TWO[1], 4))) == 4


@pytest.mark.claim("readings")
def test_what_the_store_holds_of_a_race_is_told_without_running(raced):
    db, found = raced
    assert compare(Workplace(db, db.parent, stored=True), readings=TWO, numbers=FAKE, rounds=(2, 4)) == found
    more = compare(Workplace(db, db.parent, stored=True), readings=TWO, numbers=FAKE, rounds=(2, 4, 6))
    assert not more.complete and "first with 4 trials" in more.state
    with LocalSweep(db, workers=1, batch=1) as sweep:  # the first reading has 4 trials, the second one 6
        sweep.run(quick(TWO[1], 6))
    gap = compare(Workplace(db, db.parent, stored=True), readings=TWO, numbers=FAKE[:1], rounds=(6,))
    assert not gap.complete and [len(row.numbers) for row in gap.readings] == [0, 1]


@pytest.mark.claim("readings")
def test_the_readings_are_those_of_the_text_and_share_trials_with_the_curves():
    assert len(INTERPRETATIONS) == len({reading.name for reading in INTERPRETATIONS}) == 36
    ids = [spec_id(spec) for spec in curves("paper").specs]
    by_name = {number.name: number for number in NUMBERS}
    ours = by_name["first steps, T=300, m=200"].specs(MATCHED, 40) + by_name["solved, T=300, m=50"].specs(
        MATCHED, 40
    )
    assert [spec_id(spec) for spec in ours] == ids
    assert all(spec.stall == 0 for number in NUMBERS for spec in number.specs(LITERAL, 1))
    assert by_name["parity, T=10"].specs(LITERAL, 1)[0].online


@pytest.mark.claim("readings")
def test_the_numbers_of_the_paper_are_likelier_under_what_it_saw(tmp_path):
    """Outcomes like the paper's against outcomes unlike it, for the count and for the first steps."""

    store, by_name = Store(tmp_path / "r.db"), {number.name: number for number in NUMBERS}
    count = by_name["solved, T=300, m=50"]
    like, unlike = ([seen(i < k, 100) for i in range(16)] for k in (10, 15))
    assert count.log_evidence(like, store) == pytest.approx(log_count(24, 40, seen=10, of=16))
    assert count.log_evidence(like, store) > count.log_evidence(unlike, store) + 3
    steps = by_name["first steps, T=300, m=200"]
    papers = [70, 80, 80, 90, 90, 100, 100, 110, 110, 130, 150, 170, 200, 250, 390, 90]
    fast = [50, 60, 40, 50, 60, 50, 40, 60, 50, 50, 60, 50, 40, 60, 50, 50]
    evidence = [steps.log_evidence([seen(True, s) for s in values], store) for values in (papers, fast)]
    assert evidence[0] > evidence[1] + 5
    assert steps.in_words([seen(True, 70), seen(False, 1000)], store) == "1/2, 70/70/70"
    store.close()


def test_every_study_has_its_own_trials_and_a_name():
    names = [stage.name for stage in plans.settings_studies()]
    assert len(names) == len(set(names)) and {
        "readings",
        "law-matched",
        "law-best",
        "slope",
        "functions",
    } <= set(names)
    labels = [label for changes in FACTORS.values() for label in changes]
    assert list(slope().laws) == labels and set(functions().groups) == set(functions().laws)
    ids = [spec_id(spec) for label in labels for spec in norm_specs(label, 100)]
    assert len(set(ids)) == len(ids)
    assert [stage.name for stage in plans.only(["law-best", "readings"])] == ["readings", "law-best"]
    with pytest.raises(DomainError, match="there is no experiment 'law-worst'"):
        plans.only(["law-worst"])


@pytest.mark.claim("law-matched")
def test_every_law_starts_within_its_own_bounds_on_m():
    stages = plans.settings_studies()
    alone = [stage for stage in stages if isinstance(stage, Law)]
    for own in alone + [own for stage in stages if isinstance(stage, Laws) for own in stage.laws.values()]:
        policy = Adaptive(start=own.start, width=own.width, max_trials=own.most_trials)
        for T, changes in own.settings.get("exceptions", {}).items():
            replace(policy, **changes)  # raises where start is below m_min
            assert T >= 1000 or changes.keys() == {"m_max"}


def test_a_law_is_told_from_the_store_in_the_order_in_which_it_runs(tmp_path):
    db = tmp_path / "r.db"
    call = dict(
        s=2, db=db, learner="exhaustive", policy=Adaptive(start=14, max_trials=40, width=0.3), workers=1
    )
    whole = law("and", T=[8, 16], **call)
    again = law("and", T=[8, 16], stored=True, **call)
    assert again.complete and again.cells == whole.cells
    wider = law(
        "and", T=[8, 16], stored=True, **{**call, "policy": Adaptive(start=14, max_trials=400, width=0.02)}
    )
    assert not wider.complete and wider.to_dict()["complete"] is False
    other = law("and", T=[8, 32], stored=True, seed=5, **call)
    assert not other.complete and other.thresholds[32].trials == 0


def parity_record(matched, other, planned=40):
    """Ten runs for each setting and T; None: not learned."""
    runs = [
        ParitySettingRun(name, T, seed, step, 3000)
        for name, steps in ((MATCHED_READING, matched), ("other", other))
        for T in (10, 15)
        for seed, step in enumerate(steps[T])
    ]
    return ParitySettingsRecord(tuple(runs), planned)


@pytest.mark.claim("parity-settings")
def test_the_reading_meets_the_papers_parity_only_with_all_seeds(tmp_path):
    """The paper's medians are 206 and 538, its ranges 156..247 and 381..1029."""
    context = Context(options={"results": str(tmp_path)})
    assert checks.check_parity_settings(context).verdict == "not run"
    slow = {10: [900] * 10, 15: [1900] * 10}
    good = {10: [200] * 10, 15: [500] * 10}
    one_fails = {10: [200] * 10, 15: [500] * 9 + [None]}
    for matched, planned, verdict in (
        (good, 50, "holds"),
        (slow, 40, "refuted"),
        (one_fails, 40, "refuted"),
        ({10: [None], 15: []}, 50, "refuted"),
        ({10: [200] * 10, 15: [500] * 9}, 50, "undecided"),
        ({10: [200] * 10, 15: [1900] * 10}, 40, "refuted"),
    ):
        record = parity_record(matched, slow, planned)
        write_results(tmp_path, "parity-settings", record)
        assert checks.check_parity_settings(context).verdict == verdict
        parity_settings_chart(record).to_dict()


@pytest.mark.claim("law-functions")
def test_several_laws_go_into_one_file_that_says_how_far_it_is(tmp_path):
    one = Law("x", (8, 16), 8, {"learner": "exhaustive"}, s=2, start=14)
    stage = Laws("functions", "two", {"a": one, "b": replace(one, s=1)}, {"a": "g", "b": "g"})
    assert stage.run(Workplace(tmp_path / "r.db", tmp_path, workers=1)) == []
    record = read_results(tmp_path, "functions", LawsRecord)
    assert record.complete and [law.label for law in record.laws] == ["a", "b"]
    assert (tmp_path / "functions.csv").read_text().count("\n") == 5


@pytest.mark.claim("readings")
def test_shares_of_the_evidence_are_probabilities():
    """Two readings ln 3 apart in one race and ln 3 the other way in another; a third has left at odds of 12."""
    nats = {"a": (0.0, math.log(3)), "b": (math.log(3), 0.0), "c": (math.log(12), 0.0)}
    rows = tuple(
        ComparedInterpretation(
            name, "L2 on all", "clipped" if name == "a" else "not clipped", "mingpt", 0.1, (),
            {"law": Standing(law, "n, 4 trials" if name == "c" else ""), "parity": Standing(parity)},
        )
        for name, (law, parity) in nats.items()
    )  # fmt: skip
    numbers = tuple(PaperNumber(race, race, "1") for race in ("law", "parity"))
    record = InterpretationsRecord(numbers, rows, "", complete=False)
    assert [share for _, share in shares(record, ["law"])] == pytest.approx([12 / 17, 4 / 17, 1 / 17])
    assert [share for _, share in shares(record, ["parity"])] == pytest.approx([1 / 7, 3 / 7, 3 / 7])
    assert [share for _, share in shares(record, ["law", "parity"])] == pytest.approx([4 / 9, 4 / 9, 1 / 9])
    assert shares_by_choice(record, ["law"]) == pytest.approx(
        {("decay", "L2 on all"): 1, ("clip", "clipped"): 12 / 17, ("clip", "not clipped"): 5 / 17,
         ("init", "mingpt"): 1, ("dropout", "0.1"): 1}
    )  # fmt: skip
    drawn = readings_chart(record).to_dict()["datasets"]["choices"]
    both = {row["choice"]: row["share"] for row in drawn if row["group"] == "all together"}
    assert both["gradients: clipped"] == pytest.approx(4 / 9)


def test_who_has_left_is_compared_with_who_leads_now():
    """L left 9 nats behind A, who led and then fell; B, who leads now, is 3 nats ahead of L on what they share."""
    evidence = {"A": (0.0, -20.0), "B": (-6.0, 0.0), "L": (-9.0,)}
    behind = {"A": (14.0, "n2, 4 trials"), "B": (0.0, ""), "L": (9.0, "n1, 4 trials")}
    rows = tuple(
        ComparedInterpretation(
            name, "L2 on all", "clipped", "mingpt", 0.1,
            tuple(NumberEvidence(f"n{i + 1}", 4, nats, "") for i, nats in enumerate(evidence[name])),
            {"law": Standing(*behind[name])},
        )
        for name in evidence
    )  # fmt: skip
    numbers = tuple(PaperNumber(name, "law", "1") for name in ("n1", "n2"))
    found = {
        row.name: share
        for row, share in shares(InterpretationsRecord(numbers, rows, "", complete=False), ["law"])
    }
    assert found["L"] / found["B"] == pytest.approx(math.exp(-3))


def test_a_race_that_has_not_compared_every_reading_has_no_shares():
    rows = tuple(
        ComparedInterpretation(name, "L2 on all", "clipped", "mingpt", 0.1, (), standings)
        for name, standings in (("a", {"law": Standing(0.0)}), ("b", {}))
    )
    record = InterpretationsRecord((PaperNumber("n", "law", "1"),), rows, "", complete=False)
    assert compared_races(record) == () and shares(record, ["law"]) == []
    assert "choices" not in readings_chart(record).to_dict()["datasets"]


def standing(law, parity=0.0, left=""):
    return {"law": Standing(law, left), "parity": Standing(parity, "")}


def readings_record(matched, other, *, complete=True):
    rows = tuple(
        ComparedInterpretation(
            r.name, r.decay, r.clip, r.init, r.dropout, (NumberEvidence("n", 4, -1.0, "3/4"),), standings
        )
        for r, standings in ((MATCHED, matched), (LITERAL, other))
    )
    return InterpretationsRecord(
        (PaperNumber("n", "law", "24/40"),), rows, "law: n with 4 trials, 1 left", complete=complete
    )


@pytest.mark.claim("readings")
@pytest.mark.parametrize(
    ("matched", "other", "complete", "verdict"),
    [
        (standing(0.0), standing(9.0, left="n, 4 trials"), True, "holds"),
        (standing(2.9, 2.9), standing(0.0), True, "holds"),
        (standing(3.1), standing(0.0), True, "refuted"),
        (standing(0.0, 3.1), standing(0.0), True, "refuted"),
        (standing(0.0, None), standing(0.0), True, "undecided"),
        (standing(0.0), standing(1.0), False, "undecided"),
        (standing(8.0, left="n, 4 trials"), standing(0.0), False, "refuted"),
    ],
)
def test_the_verdict_on_readings_comes_from_the_evidence(matched, other, complete, verdict, tmp_path):
    context = Context(options={"results": str(tmp_path)})
    assert checks.check_readings(context).verdict == "not run"
    record = readings_record(matched, other, complete=complete)
    write_results(tmp_path, "readings", record)
    assert checks.check_readings(context).verdict == verdict
    readings_chart(record).to_dict()


@pytest.mark.claim("readings-together")
@pytest.mark.parametrize(("behind", "verdict"), [(4.0, "holds"), (1.0, "undecided"), (-4.0, "refuted")])
def test_readings_are_taken_for_the_papers_by_the_evidence_of_all_races(behind, verdict, tmp_path):
    """`behind`: nats of the literal reading behind preset paper, over two races; a third race decides nothing."""
    context = Context(options={"results": str(tmp_path)})
    assert checks.check_readings_together(context).verdict == "not run"
    lead, lag = (
        max(behind, 0.0) / 4,
        max(-behind, 0.0) / 4,
    )  # a quarter from the first race, the rest from the second
    record = readings_record(standing(lag, 3 * lag), standing(lead, 3 * lead), complete=False)
    numbers = tuple(PaperNumber(race, race, "1") for race in ("law", "parity"))
    write_results(tmp_path, "readings", replace(record, numbers=numbers))
    finding = checks.check_readings_together(context)
    assert finding.verdict == verdict and "Stopped early" in finding.detail
    shares = [1 / (1 + math.exp(-part * behind)) for part in (0.75, 0.25)]
    left_out = "Left out one at a time: without law {:.0%}, without parity {:.0%}.".format(*shares)
    assert left_out in finding.detail
    more = (*numbers, PaperNumber("attention", "attention", "1"))  # which has compared nobody
    write_results(tmp_path, "readings", replace(record, numbers=more))
    assert checks.check_readings_together(context).verdict == "not run"


def test_preset_paper_is_the_reading_that_is_judged():
    assert preset("paper", **CASE) == preset("fast", **CASE, **MATCHED.settings)
    assert preset("literal", **CASE) == preset("fast", **CASE, **LITERAL.settings)
    assert (MATCHED.decay, MATCHED.clip, MATCHED.init, MATCHED.dropout) == checks.PRESET_PAPER


def fit(b, low, high, delta=0.0):
    return {"log": LawFit({"a": 0.0, "b": float(b)}, {"b": (float(low), float(high))}, 0.0, delta)}


def one_law(label, fits, *, m80=60.0, complete=True, group="g"):
    rows = {1000: Threshold(1000, m80, m80 - 5, m80 + 5, 30)}
    return LabelledLaw(
        label=label, group=group, settings={}, thresholds=rows, fits=fits, floor={}, complete=complete
    )


@pytest.mark.claim("law-slope")
def test_slopes_differ_when_their_intervals_exclude_each_other(tmp_path):
    context = Context(options={"results": str(tmp_path)})
    assert checks.check_slope(context).verdict == "not run"
    for high, complete, verdict in (
        (19.0, True, "holds"),
        (21.0, True, "refuted"),
        (21.0, False, "undecided"),
    ):
        laws = (one_law("steep", fit(25, 20.0, 30)), one_law("flat", fit(12, 8, high)))
        write_results(tmp_path, "slope", LawsRecord(laws, "2 of 2", complete=complete))
        assert checks.check_slope(context).verdict == verdict


def test_a_title_names_known_slopes_only_and_says_so():
    steep, flat, vague = fit(25, 20.0, 30), fit(12, 8, 19.0), fit(40, 2.0, 80)

    def heading(*fits):
        laws = tuple(one_law(f"law {i}", each) for i, each in enumerate(fits))
        title = laws_chart(LawsRecord(laws, "all", complete=True), title="laws").to_dict()["title"]
        return " ".join(title["text"]), " ".join(title["subtitle"])

    title, subtitle = heading(steep, flat, vague)
    assert title == "laws: 12 (law 1) to 25 (law 0) samples per ln T"
    assert "uncertain by a factor of ten" in subtitle
    title, subtitle = heading(steep, vague)
    assert "per ln T" not in title and "factor" not in subtitle


@pytest.mark.claim("slope-norms")
@pytest.mark.parametrize(("sign", "verdict"), [(1, "holds"), (-1, "refuted"), (0, "undecided")])
def test_samples_follow_the_norms_only_if_the_ranks_say_so(sign, verdict, tmp_path):
    context = Context(options={"results": str(tmp_path)})
    assert checks.check_slope_norms(context).verdict == "not run"
    order = [3, 1, 4, 2, 5, 0] if sign == 0 else range(6)
    laws = tuple(one_law(f"l{i}", {}, m80=50.0 + i) for i in range(6))
    rows = tuple(
        SettingCapacity(f"l{i}", 1000, 1.0, math.exp((sign or 1) * rank), 3) for i, rank in enumerate(order)
    )
    write_results(tmp_path, "slope", LawsRecord(laws, "6 of 6", complete=True))
    write_results(tmp_path, "slope-norms", SlopeNormsRecord(rows))
    assert checks.check_slope_norms(context).verdict == verdict


@pytest.mark.claim("law-functions")
@pytest.mark.parametrize(
    ("slopes", "complete", "verdict"),
    [((5, 10, 15, 20), True, "holds"), ((5, 10, 9, 20), True, "holds"), ((5, 15, 9, 20), True, "refuted"),
     ((5, 10, 15, 20), False, "undecided"), ((17, 18, 19, 20), True, "undecided")],
)  # fmt: skip
def test_slopes_rise_with_the_number_of_bits(slopes, complete, verdict, tmp_path):
    context = Context(options={"results": str(tmp_path)})
    assert checks.check_functions(context).verdict == "not run"
    laws = tuple(
        one_law(f"AND of {s}", fit(b, b - 2, b + 2), complete=complete) for s, b in zip((2, 3, 4, 5), slopes)
    )
    write_results(tmp_path, "functions", LawsRecord(laws, "4 of 13", complete=complete))
    assert checks.check_functions(context).verdict == verdict


def law_record(rows, *, complete=True, fits=None):
    found = {"thresholds": {row.T: row for row in rows}, "fits": fits or fit(20, 15, 25)}
    floor = {row.T: Floor(row.T, 36, 40) for row in rows}
    return LawResult(**found, best="log", note="", floor=floor, cells={}, seconds=1.0, complete=complete)


@pytest.mark.claim("law-best", "law-gated")
@pytest.mark.parametrize("name", ["law-best", "law-gated"])
@pytest.mark.parametrize(
    ("low", "high", "complete", "verdict"),
    [
        (40, 50, True, "holds"),
        (40, 50, False, "undecided"),
        (40, 51, True, "undecided"),
        (51, 60, False, "refuted"),
    ],
)
def test_near_the_floor_means_the_whole_interval(low, high, complete, verdict, name, tmp_path):
    """1.4 times a floor of 36 is 50.4."""
    context = Context(options={"results": str(tmp_path)})
    check = {"law-best": law_checks.check_law_best, "law-gated": law_checks.check_law_gated}[name]
    assert check(context).verdict == "not run"
    rows = [Threshold(T, (low + high) / 2, float(low), float(high), 30) for T in (100, 1000)]
    write_results(tmp_path, name, law_record(rows, complete=complete))
    assert check(context).verdict == verdict


@pytest.mark.claim("law-matched", "law-literal", "law-matched-decades")
def test_a_design_that_was_stopped_early_decides_nothing(tmp_path):
    context = Context(options={"results": str(tmp_path)})
    rows = [Threshold(T, m, m - 5, m + 5, 30) for T, m in ((100, 46.0), (1000, 111.0), (100_000, 180.0))]
    fits = fit(29, 24, 34)
    for name, check in (
        ("law-matched", law_checks.check_law_matched),
        ("law-literal", law_checks.check_law_literal),
        ("law-matched-decades", law_checks.check_law_matched_decades),
    ):
        assert check(context).verdict == "not run"
        both = {**fits, "power": replace(fits["log"], delta_aic=9.0)}
        write_results(tmp_path, name, law_record(rows, complete=False, fits=both))
        assert check(context).verdict == "undecided" and "stopped before its end" in check(context).detail
        write_results(tmp_path, name, law_record(rows, fits=both))
        assert check(context).verdict == "holds"


@pytest.mark.claim("law-matched", "law-matched-decades")
@pytest.mark.parametrize("check", ["law-matched", "law-matched-decades"])
@pytest.mark.parametrize("place", ["the law", "a threshold"])
def test_a_law_with_a_misfit_is_left_undecided(check, place, tmp_path):
    rows = [Threshold(T, m, m - 5, m + 5, 30) for T, m in ((100, 46.0), (1000, 111.0), (100_000, 180.0))]
    fits = {**fit(29, 24, 34), "power": replace(fit(29, 24, 34)["log"], delta_aic=9.0)}
    record = replace(law_record(rows, fits=fits), best=None)
    if place == "the law":
        record = replace(record, note="misfit: lapses")
    else:
        record = replace(
            record, thresholds={**record.thresholds, 100: replace(rows[0], note="misfit: lapses")}
        )
    write_results(tmp_path, check, record)
    context = Context(options={"results": str(tmp_path)})
    finding = getattr(law_checks, f"check_{check.replace('-', '_')}")(context)
    assert finding.verdict == "undecided"
    assert finding.detail.endswith("Undecided because of a misfit: lapses.")


def test_trials_behind_a_gap_are_not_counted(tmp_path):
    """Of five trials the third has not ended: the fourth and the fifth, which have, would favour what ends soon."""
    specs = quick(LITERAL, 5)
    with LocalSweep(tmp_path / "r.db", workers=1) as sweep:
        sweep.run([specs[0], specs[1], specs[3], specs[4]])
    with StoredSweep(tmp_path / "r.db") as sweep:
        assert list(sweep.run(specs).records) == [spec_id(spec) for spec in specs[:2]] and not sweep.complete


def test_the_axis_of_several_laws_reaches_down_to_the_floor():
    law = replace(one_law("a", {}), floor={1000: Floor(1000, 20, 22)})
    spec = laws_chart(LawsRecord((law,), "1 of 1", complete=True), title="one law").to_dict()
    domain = spec["vconcat"][0]["hconcat"][0]["layer"][0]["encoding"]["y"]["scale"]["domain"]
    assert domain[0] < 20 and domain[1] > 65


def stored_trials(db, s=2):
    with Store(db, readonly=True) as store:
        records = [r for r in store.records() if r.spec["s"] == s]
    return {(r.spec["T"], r.spec["m"], r.spec["seed"]): r.solved for r in records}


def assert_cells_are_those_of_both(cells, before, after):
    """Trials of the first store and of the second, none of them in both."""
    assert before and after and not before.keys() & after.keys()
    both, flat = {**before, **after}, [(T, cell) for T, group in cells.items() for cell in group]
    assert sum(cell.trials for _, cell in flat) == len(both)
    for length, cell in flat:
        own = [solved for (T, m, _), solved in both.items() if (T, m) == (length, cell.m)]
        assert (len(own), sum(own)) == (cell.trials, cell.solved)


def test_trials_of_a_results_file_count_and_are_not_run_again(tmp_path):
    """The store of the first trials is gone; what is added has other numbers, and the cells are those of both."""
    few = Law("law-best", (8, 12), 8, {"learner": "exhaustive", "method": "adaptive"}, s=2, start=10)
    few.run(Workplace(tmp_path / "gone.db", tmp_path, workers=1))
    replace(few, most_trials=24).run(Workplace(tmp_path / "new.db", tmp_path, workers=1, add=True))
    cells = read_results(tmp_path, "law-best", LawResult).cells
    assert_cells_are_those_of_both(
        cells, stored_trials(tmp_path / "gone.db"), stored_trials(tmp_path / "new.db")
    )


def test_laws_side_by_side_are_added_to_with_their_own_trials(tmp_path):
    """The same for each of several laws in one file."""
    few = Law("x", (8, 12), 8, {"learner": "exhaustive", "method": "adaptive"}, s=2, start=10)
    stage = Laws("functions", "two", {"2": few, "1": replace(few, s=1)}, {"2": "g", "1": "g"})
    more = {label: replace(plan, most_trials=24) for label, plan in stage.laws.items()}
    stage.run(Workplace(tmp_path / "gone.db", tmp_path, workers=1))
    replace(stage, laws=more).run(Workplace(tmp_path / "new.db", tmp_path, workers=1, add=True))
    for one in read_results(tmp_path, "functions", LawsRecord).laws:
        before, after = (stored_trials(tmp_path / db, s=int(one.label)) for db in ("gone.db", "new.db"))
        assert_cells_are_those_of_both(one.cells, before, after)


def test_laws_whose_file_lacks_their_trials_are_not_added_to(tmp_path):
    one = Law("x", (8,), 8, {"learner": "exhaustive", "method": "adaptive"}, s=2, start=10)
    stage = Laws("functions", "one", {"a": one}, {"a": "g"})
    stage.run(Workplace(tmp_path / "r.db", tmp_path, workers=1))
    record = read_results(tmp_path, "functions", LawsRecord)
    write_results(
        tmp_path, "functions", replace(record, laws=tuple(replace(law, cells={}) for law in record.laws))
    )
    with pytest.raises(DomainError, match="cannot be added to"):
        stage.run(Workplace(tmp_path / "new.db", tmp_path, workers=1, add=True))


def test_the_grid_and_experiments_without_their_trials_are_not_added_to(tmp_path):
    cells = {8: [Cell(10, 1, 2)]}
    with pytest.raises(DomainError, match="joint or adaptive"):
        law("and", s=2, T=8, db=tmp_path / "r.db", learner="exhaustive", method="grid", known=cells)
    with pytest.raises(DomainError, match="cannot be added to"):
        curves(replicates=1).run(Workplace(tmp_path / "r.db", tmp_path, add=True))


def test_a_race_takes_what_is_known_of_as_many_trials_as_the_round_has(raced, tmp_path):
    _, record = raced
    first = compare(
        Workplace(tmp_path / "a.db", tmp_path, workers=1), readings=TWO, numbers=FAKE[:1], rounds=(2,)
    )
    again = compare(
        Workplace(tmp_path / "b.db", tmp_path, workers=1),
        readings=TWO,
        numbers=FAKE,
        rounds=(2, 4),
        known=first,
    )
    assert again.readings == record.readings
    same = compare(
        Workplace(tmp_path / "c.db", tmp_path, workers=1),
        readings=TWO,
        numbers=FAKE[:1],
        rounds=(2,),
        known=first,
    )
    assert same.readings == first.readings
    with Store(tmp_path / "c.db", readonly=True) as store:
        assert not list(store.records())


def test_runs_on_parity_of_another_store_stand_beside_those_of_this_one(tmp_path):
    spec = parity_specs(MATCHED_READING, 10)[3]
    known = (ParitySettingRun(MATCHED_READING, 10, spec.seed, 231, 1000),)
    with Store(tmp_path / "r.db") as store:
        record = collect_settings(store, known=known)
    assert record.runs == known
    missing = parity_missing(known)
    assert spec not in missing and len(missing) + 1 == record.planned


@pytest.mark.claim("law-matched-beyond")
def test_trials_beyond_the_papers_range_tell_the_laws_apart(tmp_path):
    """Thresholds of 40 and 100 at T = 100 and 1000 fit any law; what succeeds at T = 3000 does not."""
    context = Context(options={"results": str(tmp_path)})
    assert law_checks.check_law_matched_beyond(context).verdict == "not run"

    def write(name, cells, *, complete=True):
        rows = [Threshold(T, 100.0, 90.0, 110.0, 40) for T in sorted(cells)]
        write_results(tmp_path, name, replace(law_record(rows, complete=complete), cells=cells))

    def around(m80, trials):
        return [
            Cell(round(m80 * x), round(trials * p), trials) for x, p in ((0.8, 0.55), (1, 0.8), (1.3, 0.95))
        ]

    write("law-matched", {100: around(40, 80), 400: around(76, 80), 1000: around(100, 80)})
    assert law_checks.check_law_matched_beyond(context).verdict == "not run"
    for m80, complete, verdict in ((128, True, "holds"), (280, True, "refuted"), (128, False, "undecided")):
        write("law-matched-beyond", {3000: around(m80, 40)}, complete=complete)
        assert law_checks.check_law_matched_beyond(context).verdict == verdict
    lapses = Cell(2000, 20, 40)  # half of the trials fail far above the threshold
    write("law-matched-beyond", {3000: [*around(128, 40), lapses]})
    finding = law_checks.check_law_matched_beyond(context)
    assert finding.verdict == "undecided" and "Undecided because of a misfit" in finding.detail
