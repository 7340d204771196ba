"""report.html: claims, figures, errata and what was run, in one file that needs no network."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..claims.tally import tally
from ..figures.render import chart_script, embedded, policy, specification
from ..files import make_folder, write_whole
from .catalogue import Drawn
from .parts import claims_table, errata_section, escape, figure_block, run_list, tally_list

SECTIONS = (("claims", "Claims"), ("figures", "Figures"), ("errata", "Errata"), ("run", "What was run"))
TITLE = "sparsehead: the paper, checked"


def report_html(
    *,
    findings: Sequence[Any],
    claims: Iterable[Any],
    figures: Sequence[Drawn],
    run: Mapping[str, Any],
    problems: Sequence[str] = (),
) -> str:
    """The whole page.

    Args:
        findings: what checking gave (label, verdict, paper, ours, detail); may be empty or incomplete.
        claims: every claim (label, kind, statement, where, code, tests); those of kind "erratum" get their own
            section, the rest the table. A claim without a finding is shown as not run.
        figures: drawn, or with the sentence that says why not.
        run: what was run, on what, how long: text by name, in the order to show it.
        problems: sentences that belong on top, such as that a sweep is half finished.
    """
    found = {finding.label: finding for finding in findings}
    everything = list(claims)
    statements = [c for c in everything if c.kind != "erratum"]
    errata = [c for c in everything if c.kind == "erratum"]
    specs = {f.name: specification(f.chart) for f in figures if f.chart is not None}
    notes = list(problems)
    if not findings:
        notes.append("No claim has been checked yet; run `sparsehead reproduce`.")
    missing = [f.name for f in figures if f.chart is None]
    if missing:
        notes.append(
            f"{len(missing)} of {len(figures)} figures could not be drawn yet: {', '.join(missing)}."
        )
    links = "".join(f'<a href="#{target}">{name}</a>' for target, name in SECTIONS)
    blocks = "".join(figure_block(f, specs.get(f.name)) for f in figures)
    body = f"""
<a class="skip" href="#claims">Skip to the claims</a>
<header>
<h1>{escape(TITLE)}</h1>
<p class="soft">Inductive Biases and Variable Creation in Self-Attention Mechanisms (Edelman, Goel, Kakade, Zhang;
ICML 2022): every statement, recomputed.</p>
<nav>{links}</nav>
{tally_list(tally(everything, findings))}
{"".join(f'<p class="problem">{escape(note)}</p>' for note in notes)}
</header>
<main>
<section id="claims"><h2>Claims</h2>{claims_table(statements, found)}</section>
<section id="figures"><h2>Figures</h2>{blocks or "<p>None.</p>"}</section>
<section id="errata"><h2>Errata of the paper and of the lecture notes</h2>{errata_section(errata, found)}</section>
<section id="run"><h2>What was run</h2>{run_list(run)}</section>
</main>
<footer>One file, no network: code and data of the charts are inside. Written by <code>sparsehead reproduce</code>.
</footer>
"""
    return _document(body, specs)


def _document(body: str, specs: Mapping[str, Any]) -> str:
    here = files(__package__)
    css, script = ((here / name).read_text(encoding="utf-8") for name in ("page.css", "page.js"))
    own = f"\n{script}"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy(chart_script(), own)}">
<link rel="icon" href="data:,">
<title>{escape(TITLE)}</title>
<style>
{css}</style>
</head>
<body>{body}<script type="application/json" id="specs">{embedded(specs)}</script>
<script>{chart_script()}</script>
<script>{own}</script>
</body>
</html>
"""


def write_report(
    path: Path,
    *,
    findings: Sequence[Any],
    claims: Iterable[Any],
    figures: Sequence[Drawn],
    run: Mapping[str, Any],
    problems: Sequence[str] = (),
) -> Path:
    """Write the page to `path`; see `report_html`. An older page stays whole until the new one is complete.

    Raises:
        FileError: the file cannot be written.
    """
    text = report_html(findings=findings, claims=claims, figures=figures, run=run, problems=problems)
    make_folder(path.parent)
    return write_whole(path, text.encode(), force=True)
