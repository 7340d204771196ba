"""`sparsehead probe PATH`: measure the heads of a pretrained model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from .._base.arguments import whole
from .._base.errors import DomainError
from .._base.files import shown_path
from ..capacity.families import find_architecture
from ..probing.page import check_page, parse_heads
from ..probing.screen import is_state_dict, read_texts, screen
from ..probing.settings import ProbeSettings
from .options import whole_numbers
from .output import (
    AsJson,
    Force,
    check_chart_file,
    emit,
    emit_on_failure,
    literal,
    status_console,
    write_chart,
)

if TYPE_CHECKING:
    from ..probing.result import Probe


def probe(
    path: Annotated[Path, typer.Argument(help="A folder with config.json and weights, or a weights file.")],
    asked: ProbeSettings,
    queries: Annotated[
        str | None, typer.Option(help="Query positions to measure, e.g. 0,-1 for the first and last token.")
    ] = None,
    text: Annotated[
        Path | None, typer.Option(help="A text file, one sequence per line; default: random tokens.")
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="How to read a type of model that is not built in: package.module:name, or a built-in name."
        ),
    ] = None,
    top: Annotated[int, typer.Option(help="Heads shown in the table; all of them are in --json.")] = 20,
    chart: Annotated[
        Path | None, typer.Option(help="Draw a map of layers and heads: .svg, .png, .pdf or .html.")
    ] = None,
    page: Annotated[
        Path | None, typer.Option(help="Write an interactive page of attention maps, .html, of one sequence.")
    ] = None,
    sequence: Annotated[int, typer.Option(help="The sequence of --page, counted from 0.")] = 0,
    page_heads: Annotated[
        str | None, typer.Option(help="Heads of --page, e.g. 0.3,5.11; default: the first by score.")
    ] = None,
    atlas: Annotated[
        bool, typer.Option("--atlas", help="Compare every form of the bound, for each layer and head.")
    ] = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Measure every attention head of a pretrained model, with baselines for comparison."""
    if chart is not None:
        check_chart(chart, path, force=force)
    chosen = check_maps(page, path, sequence, page_heads, force=force)
    found_architecture = find_architecture(architecture)
    if atlas and not asked.bounds:
        raise DomainError("--atlas compares bounds; leave --no-bounds out.")
    screen(path, heads=asked.heads, pickle=asked.pickle, architecture=found_architecture)
    texts = None if text is None else read_texts(text)
    rows = None if queries is None else whole_numbers(queries, "--queries", "0,-1")

    from ..probing.probe import probe as probe_model  # torch, only for what can be read

    with status_console().status("loading") as line:
        found = probe_model(
            path, text=texts, queries=rows, architecture=found_architecture,
            progress=lambda stage, done, of: line.update(f"{stage}: {done} of {of}"), **vars(asked),
        )  # fmt: skip
    result = found.to_dict()
    every = atlas_of(found) if atlas else {}
    result |= every
    if chart is not None:
        from ..figures.heads import head_map

        with emit_on_failure(result, as_json, lambda console: show(console, found, top, None)):
            write_chart(chart, head_map(found.rows(), name=found.name, s=asked.s), force=force)
    if page is not None:
        with emit_on_failure(result, as_json, lambda console: show(console, found, top, chart)):
            found.write_page(page, sequence=sequence, heads=chosen, force=force)

    def print_all(console: Console) -> None:
        show(console, found, top, chart, page)
        if every:
            show_atlas(console, every, top)

    emit(result, as_json, print_all)


def atlas_of(found: "Probe") -> dict[str, Any]:
    """Return the atlas of each layer (head None) and each head as JSON values, and the proxies of the network."""
    every = []
    for layer in range(len(found.layer_bounds)):
        heads = sorted(one.head for one in found.heads if one.layer == layer)
        for head in (None, *heads):
            every.append({"layer": layer, "head": head, **found.atlas(layer, head).to_dict()})
    try:
        return {"atlas": every, "proxies": found.proxies(), "proxies_note": ""}
    except DomainError as missing:
        return {"atlas": every, "proxies": None, "proxies_note": str(missing)}


def show_atlas(console: Console, found: dict[str, Any], top: int) -> None:
    """Print ln N of each form for the layers and for as many heads as the table above has, and the proxies."""
    forms = list(dict.fromkeys(row["form"] for one in found["atlas"] for row in one["atlas"]))
    table = Table("layer.head", *forms, "smallest proved, as m and T grow", box=None)
    heads = [one for one in found["atlas"] if one["head"] is not None][: max(top, 0)]
    for one in [one for one in found["atlas"] if one["head"] is None] + heads:
        values = {row["form"]: row["log_covering"] for row in one["atlas"]}
        shown = ["-" if values.get(name) is None else f"{values[name]:.2g}" for name in forms]
        smallest = dict.fromkeys(point["smallest"] for point in one["growth"])
        name = f"{one['layer']}.{'all' if one['head'] is None else one['head']}"
        table.add_row(name, *shown, ", ".join(smallest))
    console.print(table)
    statuses = {row["form"]: row["status"] for one in found["atlas"] for row in one["atlas"]}
    console.print(
        "ln N by form: " + "; ".join(f"{name}: {status}" for name, status in statuses.items()) + "."
    )
    if found["proxies"] is None:
        console.print(literal(f"no proxies of the network: {found['proxies_note']}"))
    else:
        listed = ", ".join(f"{name} {value:.4g}" for name, value in found["proxies"].items())
        console.print(f"proxies of the network, which bound nothing: {listed}")


def check_chart(chart: Path, model: Path, *, force: bool) -> None:
    """Refuse, before any work, a chart that cannot be drawn or written."""
    from .._base.lazy import require_module

    require_module("altair")
    check_chart_file(chart, "--chart", force=force)
    if is_state_dict(model):
        raise DomainError(
            f"--chart draws scores, which take running a model; {shown_path(model)} is a state dict, with weights "
            "alone: leave --chart out."
        )


def check_maps(
    page: Path | None, model: Path, sequence: int, heads: str | None, *, force: bool
) -> list[tuple[int, int]] | None:
    """Refuse, before any work, a page that cannot be written; return its heads, None for the first heads by score."""
    if page is None:
        if sequence or heads is not None:
            raise DomainError("--sequence and --page-heads belong to --page, which writes attention maps.")
        return None
    check_page(page, force=force)
    if is_state_dict(model):
        raise DomainError(
            f"--page shows attention, which takes running a model; {shown_path(model)} is a state dict, with weights "
            "alone: leave --page out."
        )
    whole("sequence", sequence, least=0)
    return None if heads is None else parse_heads(heads)


def show(console: Console, found: "Probe", top: int, chart: Path | None, page: Path | None = None) -> None:
    """Print the heads sorted by score, with baselines, then an explanation of the columns and the notes."""
    console.print(literal(found.summary))
    # twelve columns fit a terminal of 80 letters
    table = Table(box=None, header_style="", pad_edge=False, padding=(0, 1, 0, 0))
    names = "head score random shuffled uniform support sink prev next same induct vacuous"
    for name in names.split():
        table.add_column(name, justify="right", no_wrap=True)
    for row in found.rows()[: max(top, 0)]:
        table.add_row(*cells(row))
    console.print(table)
    for note in found.notes:
        console.print(literal(f"note: {note}"))
    console.print(
        f"head: layer.head; score: share of the head's output variance that its {found.s} largest weights reproduce; "
        "random, shuffled, uniform: the same with random weights, shuffled input, uniform attention; support: "
        "1/sum a^2; sink: weight on the first token; prev, next, same: on neighbours and on the same token elsewhere; "
        "induct: on what followed a token before, in random tokens that come twice; vacuous: the bound needs this many "
        "times m samples, no: m are enough, in brackets: not proven; -: cannot be measured"
    )
    if found.recomputed_error is not None:
        console.print(f"heads recomputed from the extracted weights agree to {found.recomputed_error:.1g}")
    for written in (chart, page):
        if written is not None:
            console.print(f"wrote {written}")


def cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of one head's row in the table."""
    names = ("score", "score_random_weights", "score_shuffled_input", "score_uniform_attention")
    more = ("effective_support", "sink_first", "previous", "next", "same_token", "induction_repeated")
    shown = [brief(row.get(name)) for name in (*names, *more)]
    return [f"{row['layer']}.{row['head']}", *shown, vacuous(row)]


def vacuous(row: dict[str, Any]) -> str:
    """Return how many times m samples the bound needs, or "no" if m suffice; in brackets if it is not proven."""
    if row.get("vacuous") is None:
        return "-"
    factor = row["vacuous_by"]
    found = "no" if not row["vacuous"] else ">1e300" if factor is None else f"{factor:.0e}"
    return found if row["proven"] else f"({found})"


def brief(x: float | None) -> str:
    """Format a number in about four characters; a dash for None."""
    return "-" if x is None else f"{x:.2f}" if abs(x) < 10 else f"{x:.0f}"
