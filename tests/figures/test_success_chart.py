"""The heat map shows solved / trials in every cell that has room, and says what it shows."""

import pytest

from sparsehead._base.errors import DomainError
from sparsehead.laws.curves import Cell
from sparsehead.laws.thresholds import Threshold
from sparsehead_paper.figures.success import ROWS, gather, success_heat_map

CELLS = {100: [Cell(50, 30, 40), Cell(60, 39, 40)], 300: [Cell(50, 24, 40)]}


def test_cells_carry_share_and_interval(shown):
    chart = shown(success_heat_map(CELLS))
    cell = chart.data["cells"][0]
    assert (cell["label"], cell["share"]) == ("30/40", 0.75)
    assert cell["low"] < 0.75 < cell["high"]
    assert chart.view("cells", "rect")["encoding"]["color"]["scale"] == {
        "scheme": "cividis",
        "domain": [0, 1],
    }
    assert chart.title == "AND of 3 bits: 93 of 120 trials solved at 2 context lengths, m from 50 to 60"


def test_counts_are_printed_where_they_fit_and_the_subtitle_says_which(shown):
    every = shown(success_heat_map(CELLS))
    assert all(cell["label"] for cell in every.data["cells"])
    said = "Colour: the share solved. Numbers: solved / trials, where a cell has room."
    assert every.subtitle == said
    # a page that squeezes the columns leaves the counts out
    assert "bandwidth('x') >= 34" in every.view("cells", "text")["mark"]["opacity"]["expr"]
    close = {100: [Cell(m, 1, 2) for m in (50, 51, 52, 100)]}
    some = shown(success_heat_map(close))
    # the cells of m = 50 and 51 are 5 pixels high
    assert [cell["label"] for cell in some.data["cells"]] == ["", "", "1/2", "1/2"]
    assert some.subtitle == said
    narrow = {T: [Cell(50, 1, 2)] for T in range(100, 130)}
    none = shown(success_heat_map(narrow))
    assert not any(cell["label"] for cell in none.data["cells"])
    assert none.subtitle == "Colour: the share solved."
    assert all(view["mark"]["type"] != "text" for view in none.views)


def test_the_papers_grid_has_a_number_in_every_cell(shown):
    grid = {100 + 50 * i: [Cell(m, 39, 40) for m in range(50, 201, 10)] for i in range(18)}
    assert all(cell["label"] for cell in shown(success_heat_map(grid)).data["cells"])


def test_records_of_one_cell_are_added_up():
    halves = {100: [Cell(50, 1, 1), Cell(50, 0, 1)]}
    assert [(c["solved"], c["trials"]) for c in gather(halves)] == [(1, 2)]


def test_many_sample_sizes_are_gathered_into_bands_and_no_trial_is_lost():
    single = {100: [Cell(m, m % 2, 1) for m in range(40, 400)]}
    bands = gather(single)
    assert len(bands) <= ROWS
    assert sum(c["trials"] for c in bands) == 360
    assert sum(c["solved"] for c in bands) == 180


def test_m80_is_marked_where_it_is_known(shown):
    known = [Threshold(T, m80, None, None) for T, m80 in ((100, 52.0), (300, None), (999, 70.0))]
    assert shown(success_heat_map(CELLS, thresholds=known)).data["thresholds"] == [{"T": 100, "m80": 52.0}]


def test_all_failed_is_drawn(shown):
    none = {100: [Cell(50, 0, 40)]}
    assert "0 of 40 trials solved at 1 context length" in shown(success_heat_map(none)).title


def test_no_cells_are_refused():
    with pytest.raises(DomainError, match="0 records"):
        success_heat_map({})
