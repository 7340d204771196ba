"""Every figure has a name, a line, and a way to its data; what is missing says so."""

import json
from dataclasses import replace

import pytest

from sparsehead._base.errors import DomainError, FileError
from sparsehead.figures.theme import CONFIG
from sparsehead.laws.law import LawResult
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.report.catalogue import FIGURES, draw, draw_all
from sparsehead_paper.studies.folder import read_results, write_results


def law_of(*rows):
    thresholds = {row.T: row for row in rows}
    return LawResult(thresholds=thresholds, fits={}, best=None, note="", floor={}, cells={}, seconds=0.0)


def test_every_figure_of_paper_and_notes_is_named():
    lines = " ".join(entry.line for entry in FIGURES.values())
    for number in range(1, 8):
        assert f"otes {number}" in lines
    for number in (2, 3, 4):
        assert f"Paper {number}" in lines


@pytest.mark.parametrize("name", list(FIGURES))
def test_figure_is_drawn_with_a_title_and_the_common_look(name, drawn):
    (figure,) = (figure for figure in drawn if figure.name == name)
    assert figure.chart is not None, figure.problem
    spec = figure.chart.to_dict()
    assert len(" ".join(spec["title"]["text"])) > 20
    assert spec["config"] == CONFIG
    assert any(rows for rows in spec["datasets"].values())


def test_covering_example_figures_say_what_is_true():
    spec = draw("cover-large").to_dict()
    assert "3 balls or 1, depending on the set" in " ".join(spec["title"]["text"])
    chosen = {(r["panel"], r["ball"]) for r in spec["datasets"]["balls"] if r["chosen"]}
    assert sorted(panel for panel, _ in chosen) == [0, 0, 0, 1]
    small = " ".join(draw("cover-small").to_dict()["title"]["text"])
    assert small == "At eps = 0.05 the three points need 3 balls"


def test_built_head_figure_is_certified_and_its_decoder_is_flat_on_every_band():
    spec = draw("built-head").to_dict()
    assert "exactly" in " ".join(spec["title"]["text"])
    for band in spec["datasets"]["intervals"]:
        inside = [r["value"] for r in spec["datasets"]["decoder"] if band["low"] <= r["o"] <= band["high"]]
        assert inside == pytest.approx([band["value"]] * len(inside), abs=1e-6)  # rounding of chart data


def test_missing_results_say_how_to_get_them(tmp_path):
    for name, command in (("law", "reproduce --only law"), ("success", "reproduce --only law-grid")):
        with pytest.raises(FileError) as refused:
            draw(name, tmp_path)
        how = f"{name}.json is not there yet; `sparsehead {command} --out {tmp_path}` measures it."
        assert str(refused.value).endswith(how)


def test_an_empty_folder_still_draws_what_needs_no_experiment(tmp_path):
    drawn = draw_all(tmp_path, ["law", "cover-small", "parity"])
    assert [d.chart is None for d in drawn] == [True, False, True]
    assert all("is not there yet;" in d.problem for d in drawn if d.chart is None)


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"cells": [{"T": 1}]}', "{}", '{"cells": []}', "\x00"])
def test_damaged_results_are_a_sentence_and_not_a_crash(tmp_path, text):
    (tmp_path / "success.json").write_text(text)
    (drawn,) = draw_all(tmp_path, ["success"])
    assert drawn.chart is None
    assert len(drawn.problem) > 20
    assert "\n" not in drawn.problem


@pytest.mark.parametrize("text", ["{}", '{"cells": 3}', '{"cells": [4]}'])
def test_results_of_another_shape_name_the_file(tmp_path, text):
    (tmp_path / "success.json").write_text(text)
    with pytest.raises(FileError, match=r"success\.json does not hold a SuccessRecord: the object"):
        draw("success", tmp_path)


def test_half_finished_law_is_drawn_with_what_is_there(tmp_path):
    write_results(tmp_path, "law", law_of(Threshold(100, None, low=50.0, high=None, trials=3)))
    title = " ".join(draw("law", tmp_path).to_dict()["title"]["text"])
    assert "no sample size tried reaches 80 % success" in title


def test_no_solved_run_means_no_attention_yet(tmp_path):
    (tmp_path / "attention.json").write_text('{"weights": [], "support": [5, 20, 30], "runs": []}')
    with pytest.raises(DomainError, match="no run was solved"):
        draw("attention", tmp_path)


def test_the_law_over_decades_shows_the_capacity_bound(tmp_path):
    write_results(tmp_path, "law-decades", law_of(Threshold(100, 50.0, 45.0, 55.0, trials=40)))
    (point,) = draw("law-decades", tmp_path).to_dict()["datasets"]["bound"]
    assert point["T"] == 100 and point["m"] > 1e6  # far above what is needed: see the bound's own tests


def test_thresholds_with_dropout_join_the_law_when_they_are_there(tmp_path):
    row = Threshold(300, 60.0, 55.0, 65.0, trials=40)
    write_results(tmp_path, "law", law_of(row))
    alone = draw("law", tmp_path).to_dict()
    assert alone["datasets"]["dropout"] == [] and "with dropout" not in json.dumps(alone)
    write_results(tmp_path, "law-mingpt", law_of(replace(row, m80=70.0, high=None)))
    spec = draw("law", tmp_path).to_dict()
    (point,) = spec["datasets"]["dropout"]
    assert (point["T"], point["m"], point["series"]) == (300, 70.0, "measured here, with dropout")
    assert [p["m"] for p in spec["datasets"]["thresholds"]] == [60.0]


def test_a_law_of_another_function_hides_the_papers_points(tmp_path):
    law = law_of(Threshold(10, 20.0, 15.0, 25.0, trials=40))
    write_results(tmp_path, "law", replace(law, in_paper=False, target="parity"))
    spec = draw("law", tmp_path).to_dict()
    assert spec["datasets"]["paper"] == []
    assert spec["title"]["text"][0].startswith("parity: m_80 = 20")


def test_unknown_names_are_refused_with_the_list():
    with pytest.raises(
        DomainError, match=r"no figure 'lwa'; the figures are story, law.*Did you mean 'law'\?"
    ):
        draw("lwa")


def test_results_must_be_an_object(tmp_path):
    (tmp_path / "law.json").write_text("3")
    with pytest.raises(FileError, match="holds no JSON object"):
        read_results(tmp_path, "law", LawResult)
