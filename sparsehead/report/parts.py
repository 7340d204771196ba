"""The pieces of the page as HTML text. Everything that comes from outside goes through `escape`."""

from collections.abc import Mapping, Sequence
from html import escape as _escape
from typing import Any

from ..claims.claim import VERDICTS
from ..claims.tally import NO_CHECK, Tally, verdict_of
from ..figures.data import count
from .catalogue import Drawn

MARKS = {
    "holds": "✓ holds",
    "differs": "≈ differs",
    "refuted": "✗ refuted",
    "undecided": "? undecided",
    "fails": "✗ fails",
    "not run": "○ not run",
    "no check": "– no check",
}


def escape(text: Any) -> str:
    """`text` for the inside of an element or of a quoted attribute."""
    return _escape(str(text), quote=True)


def tally_list(counts: Tally) -> str:
    """How many statements have each verdict that occurs, and below it the errata, which are not among them."""
    items = [
        f'<li title="{escape(VERDICTS.get(v, "there is nothing to compute"))}">'
        f'<strong class="{_class(v)}">{n}</strong>{escape(v)}</li>'
        for v, n in counts.statements.items()
        if n
    ]
    told = f"<p class=soft>{escape(counts.sentence())}.</p>"
    return f'<ul class="tally">{"".join(items)}</ul>{told}'


def _class(verdict: str) -> str:
    return verdict.replace(" ", "-")


def claims_table(claims: Sequence[Any], found: Mapping[str, Any]) -> str:
    """One row per claim: statement, the paper's number, ours, verdict, the code and test behind it; with a filter."""
    if not claims:
        return "<p>The registry holds no claims.</p>"
    kinds = sorted({c.kind for c in claims})
    verdicts = _options((*VERDICTS, NO_CHECK))
    head = "".join(f"<th>{name}</th>" for name in ("Claim", "Printed", "Ours", "Verdict", "Behind it"))
    rows = "".join(_row(c, found.get(c.label)) for c in claims)
    return f"""
<div class="filter" role="search">
<input id="words" type="search" placeholder="words to look for" aria-label="Words to look for">
<select id="verdict" aria-label="Verdict"><option value="">every verdict</option>{verdicts}</select>
<select id="kind" aria-label="Kind"><option value="">every kind</option>{_options(kinds)}</select>
<span id="shown" class="soft" aria-live="polite"></span>
</div>
<table id="claims-table"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"""


def _options(values: Sequence[str]) -> str:
    return "".join(f'<option value="{escape(v)}">{escape(v)}</option>' for v in values)


def _row(claim: Any, finding: Any) -> str:
    verdict = verdict_of(claim, finding)
    detail = finding.detail if finding else ""
    behind = [*(f"code {c}" for c in claim.code), *(f"test {t}" for t in claim.tests)]
    listed = "".join(f"<div><code>{escape(item)}</code></div>" for item in behind)
    fold = f"<details class=behind><summary>{count(claim.tests, 'test')}, code</summary>{listed}</details>"
    return (
        f'<tr data-verdict="{escape(verdict)}" data-kind="{escape(claim.kind)}" id="claim-{escape(claim.label)}">'
        f'<td class="claim"><span class="label">{escape(claim.label)}</span>{escape(claim.statement)}'
        f'<span class="where">{escape(claim.kind)}; {escape(claim.where)}</span></td>'
        f'<td data-head="Printed">{escape(finding.paper) if finding else ""}</td>'
        f'<td data-head="Ours">{escape(finding.ours) if finding else ""}'
        f"{f'<span class=where>{escape(detail)}</span>' if detail else ''}</td>"
        f'<td data-head="Verdict"><span class="verdict {_class(verdict)}">{MARKS[verdict]}</span></td>'
        f'<td data-head="Behind it">{fold if behind else "nothing yet"}</td></tr>'
    )


def figure_block(figure: Drawn, spec: Mapping[str, Any] | None) -> str:
    """A figure with its title as text, its chart, what it shows, and its data to download."""
    name = escape(figure.name)
    if spec is None:
        return (
            f'<figure id="figure-{name}"><h3>{name}</h3><p class="problem">Not drawn: {escape(figure.problem)}</p>'
            f"<figcaption>{escape(figure.line)}</figcaption></figure>"
        )
    title = spec.get("title", {})
    subtitle = "<br>".join(escape(line) for line in _sentences(title.get("subtitle", ())))
    sets = [key for key, rows in spec.get("datasets", {}).items() if rows]
    buttons = "".join(
        f'<button type="button" data-save="csv" data-of="{name}" data-set="{escape(key)}">{escape(key)}.csv</button>'
        for key in sets
    )
    fixed = " fixed" if spec.get("usermeta", {}).get("fixed") else ""
    return (
        f'<figure id="figure-{name}"><h3>{escape(" ".join(title.get("text", [name])))}</h3>'
        f'<p class="soft">{subtitle}</p><div class="chart{fixed}" data-chart="{name}"><div></div></div>'
        f'<figcaption>{escape(figure.line)} <span class="downloads">{buttons}'
        f'<button type="button" data-save="svg" data-of="{name}">{name}.svg</button></span></figcaption></figure>'
    )


def _sentences(lines: Sequence[str]) -> list[str]:
    """Lines that were broken to fit a picture, joined again: a sentence ends with a full stop."""
    joined: list[str] = []
    for line in lines:
        if joined and not joined[-1].endswith("."):
            joined[-1] += " " + line
        else:
            joined.append(line)
    return joined


def errata_section(errata: Sequence[Any], found: Mapping[str, Any]) -> str:
    """Each erratum with what was printed and the computation that shows it."""
    if not errata:
        return "<p>The registry holds no errata.</p>"
    blocks = []
    for claim in errata:
        finding = found.get(claim.label)
        shown = (
            f"<p><b>Printed:</b> {escape(finding.paper)}</p><p><b>Found:</b> {escape(finding.ours)} "
            f'<span class="soft">{escape(finding.detail)}</span></p>'
            if finding
            else '<p class="soft">Not demonstrated in this run.</p>'
        )
        tests = " ".join(f"<code>{escape(t)}</code>" for t in claim.tests)
        blocks.append(
            f'<div class="erratum" id="claim-{escape(claim.label)}"><h3>{escape(claim.label)}</h3>'
            f'<p>{escape(claim.statement)} <span class="soft">({escape(claim.where)})</span></p>{shown}'
            f"<p>{tests}</p></div>"
        )
    return "".join(blocks)


def run_list(run: Mapping[str, Any]) -> str:
    """What was run, on what, how long."""
    if not run:
        return "<p>Nothing is recorded about this run.</p>"
    rows = "".join(f"<dt>{escape(key)}</dt><dd>{escape(value)}</dd>" for key, value in run.items())
    return f'<dl class="run">{rows}</dl>'
