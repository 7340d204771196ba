"""The README: every figure agrees with results/, every line of its shell blocks does something, and it stays short.

Its python and console blocks run in test_documents.py. Where results change, a failure here lists what the README
should say.
"""

import csv
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from statistics import median
from typing import Any

import typer.main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FORMULAS = {"log": "{a:.1f} + {b:.2f} ln T", "power": "{a:.1f} T^{b:.3f}", "linear": "{a:.1f} + {b:.4f} T"}


def result(name):
    return json.loads((ROOT / "results" / f"{name}.json").read_text())


def missing(*sentences):
    """Those that the README lacks; line breaks count as spaces."""
    text = " ".join(README.split())
    return [f"the README should say: {s}" for s in sentences if " ".join(s.split()) not in text]


def test_it_is_short():
    assert len(README.splitlines()) <= 100


def test_the_table_of_the_law_is_the_committed_result():
    rows, gated = (
        measured_rows("law-best"),
        {row["T"]: row for row in measured_rows("law-gated") if row["m80"] or row["high"]},
    )
    assert len(rows) >= 5 and len(gated) >= 5

    def line(row):
        m80, low, high = (f"{float(row[name]):.1f}" if row[name] else "?" for name in ("m80", "low", "high"))
        times = f"{float(row['m80']) / float(row['floor']):.2f}"
        beside = with_interval(gated[row["T"]]) if row["T"] in gated else ""
        start = (
            f"| {int(row['T']):,} | {m80} | {low} to {high} | {row['trials']} | {row['floor']} | {times} |"
        )
        return f"{start} {beside} |".replace("  ", " ")

    assert missing(*map(line, rows)) == []
    assert len(re.findall(r"^\| [\d,]+ \| [\d.?]+ \|", README, flags=re.M)) == len(rows)


def measured_rows(name):
    """The T of a law that have trials; others are foreseen, not measured."""
    with (ROOT / "results" / f"{name}.csv").open() as file:
        return [row for row in csv.DictReader(file) if int(row["trials"])]


def with_interval(row):
    """m_80 with its interval, or with the one end that is known."""
    m80, low, high = (f"{float(row[name]):.1f}" if row[name] else "" for name in ("m80", "low", "high"))
    if not m80:
        return f"at most {high}"
    if low and high:
        return f"{m80} [{low}, {high}]"
    return f"{m80}, at most {high}" if high else f"{m80}, at least {low}" if low else f"{m80}, open"


def test_the_best_law_is_the_committed_fit():
    found = result("law-best")
    fit = found["fits"][found["best"]]
    what = "exponent" if found["best"] == "power" else "slope"
    low, high = fit["intervals"]["b"]
    formula = FORMULAS[found["best"]].format(**fit["params"])
    assert missing(f"of `best` the best is m_80 = {formula} ({what} {low:.3f} to {high:.3f})") == []


def test_the_figures_of_the_paper_are_the_committed_results():
    def slope(name):
        log = result(name)["fits"]["log"]
        return "{:.1f} [{:.1f}, {:.1f}]".format(log["params"]["b"], *log["intervals"]["b"])

    def solved(name):
        trials = result(name)["trials"]
        cells = {m: [t["solved"] for t in trials if t["m"] == m] for m in (200, 50)}
        return " and ".join(f"{sum(of_m)}/{len(of_m)}" for of_m in cells.values())

    def total(name):
        return f"{median(run['total'] for run in result(name)['runs']):.3f}".removeprefix("0")

    names = {
        slope: ("law-matched", "law-literal", "law-mingpt", "law"),
        solved: ("curves-paper", "curves-literal", "curves-mingpt", "curves"),
        total: ("attention-paper", "attention-literal", "attention-mingpt", "attention"),
    }
    rows = [f"| {' | '.join(map(of, by_preset))} |" for of, by_preset in names.items()]
    text = (ROOT / "results" / "README.md").read_text()
    assert [row for row in rows if row not in text] == []


def test_every_results_file_has_a_row_in_the_table_of_files():
    _, table = (ROOT / "results" / "README.md").read_text().split("## The files")
    first = re.findall(r"^\| (`[^|]*) \|", table, flags=re.M)
    named = {name for cell in first for name in re.findall(r"`([\w-]+)(?:\.json)?`", cell)}
    there = {path.stem for path in (ROOT / "results").glob("*.json")}
    assert there - named == {"measured"} and named <= there


def test_the_ratios_are_those_measured():
    """Tracr (benchmarks/build.py), a PyTorch loop (make bench), WeightWatcher (benchmarks/norms.py)."""
    rows = {r["tool"]: r for r in result("build_vs_tracr")["rows"] if (r["function"], r["T"]) == ("and", 256)}
    tracr, one_hot, short = (
        rows[tool]["parameters"] for tool in ("tracr", "sparsehead positional", "sparsehead trainable")
    )
    heads, engine = result("norms_vs_weightwatcher"), result("engine")
    loops = engine["ratios"]
    least = min(loops[f"{other}_over_compiled"] for other in ("b_cls_only", "c_vmap_of_b", "d_jax_scan_of_b"))
    assert least == loops["d_jax_scan_of_b_over_compiled"]  # the strongest alternative is named first
    layers = engine["deep"]["plain_fused_attention_ms"] / engine["deep"]["ours_ms"]
    said = [
        f"Tracr compiles {rows['tracr']['layers']} layers with {tracr:,} parameters",
        f"one head here has {one_hot:,} with the same one-hot positions ({tracr / one_hot:.0f} times fewer)",
        f"or {short:,} with short ones ({tracr / short:,.0f} times)",
        f"a training step takes {least:.0f} times less than in the strongest other loop that we tried, which computes "
        f"only what is read ([CLS]) and is compiled by JAX; {loops['b_cls_only_over_compiled']:.0f} times less than "
        f"that loop in PyTorch, {loops['a_encoder_layer_over_compiled']:,.0f} times less than "
        "`nn.TransformerEncoderLayer`.",
        f"it is {loops['a_encoder_layer_dropout_over_compiled']:.0f} times less than that layer, and with two layers "
        f"{layers:.1f} times less than PyTorch's fused attention.",
        f"is {loops['e_torch_over_compiled']:.0f} times slower, with dropout "
        f"{loops['e_torch_dropout_over_compiled']:.0f} times",
        f"the largest of {heads['H']} heads {heads['overestimate']:.1f} times",
    ]
    assert all(rows[tool]["certified"] for tool in rows if tool != "tracr")
    assert missing(*said) == []


def shell_lines():
    blocks = re.findall(r"^```sh\n(.*?)^```", README, flags=re.M | re.S)
    return [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]


def test_every_shell_line_is_known_and_works(tmp_path):
    """Cloned from this checkout; make's targets exist; what installs names extras and a command that exist."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = shell_lines()
    assert lines[:2] == ["git clone URL sparsehead", "cd sparsehead"]
    clone = ["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(tmp_path / "sparsehead")]
    subprocess.run(clone, check=True)
    assert (tmp_path / "sparsehead" / "Makefile").exists()
    for line in lines[2:]:
        program, *rest = line.split()
        if program == "make":
            subprocess.run(["make", "-n", *rest], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        elif program == "source":
            assert "VENV   := .venv\n" in (ROOT / "Makefile").read_text()
            assert rest == [".venv/bin/activate"]
        elif program == "sparsehead":
            assert program in project["scripts"]
            done = subprocess.run(
                [sys.executable, "-m", *shlex.split(line)],
                cwd=tmp_path,
                check=True,
                capture_output=True,
                text=True,
            )
            assert "exact on all 2^50 inputs" in done.stdout
        else:  # `make bare` runs the same two
            assert line in ("python3 -m venv .venv", ".venv/bin/pip install ."), line
    for line in re.findall(r"`((?:uv tool|pipx) install [^`]*)`", README):
        extras = set(re.findall(r"\w+", "".join(re.findall(r"\[(.*?)\]", line))))
        assert extras <= set(project["optional-dependencies"])


def test_every_command_that_it_names_exists():
    from sparsehead.cli.app import app

    commands: Any = typer.main.get_command(app)
    prose = re.sub(r"^```.*?^```", "", README, flags=re.M | re.S)
    named = set(re.findall(r"`sparsehead (\w+)", prose))
    assert {"law", "reproduce"} <= named <= set(commands.commands)
