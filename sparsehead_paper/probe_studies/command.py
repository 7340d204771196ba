"""`python -m sparsehead_paper.probe_studies.command [NAME ..] [--out results/probe] [--draw]`: probe and draw.

Each study writes NAME.json and its chart as SVG and PNG; --draw only draws again from the JSON files.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparsehead._base.files import make_folder, read_json, write_whole
from sparsehead.figures.heads import head_map, head_strips, maps
from sparsehead.figures.render import render
from sparsehead.figures.theme import Chart

from .studies import STUDIES, study


def draw_rxn(data: dict[str, Any]) -> Chart:
    """Mapping accuracy of every head beside the statistics that know nothing about atoms."""
    layer, head = data["published"]
    own = next(row for row in data["rows"] if (row["layer"], row["head"]) == (layer, head))
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
        title=f"RXNMapper: the published head maps {100 * own['accuracy']:.0f} % of product atoms, "
        f"place {places['accuracy']} of {heads}",
        subtitle=f"Framed: the published head (layer {layer}, head {head}), place {places['same_token']} by the weight "
        f"on equal tokens; {data['reactions']} reactions with known maps; chance {100 * data['chance']:.0f} %",
        marked=(layer, head),
    )


def draw_sceptr(data: dict[str, Any]) -> Chart:
    """Scores of all heads of all variants."""
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
    return head_map(data["rows"], name=data["name"], s=data["s"])


DRAW: dict[str, Callable[[dict[str, Any]], Chart]] = {
    "rxn": draw_rxn,
    "sceptr": draw_sceptr,
    "minilm": draw_minilm,
}


def main(arguments: list[str] | None = None) -> None:
    """Run the studies named, or all of them."""
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
        chart = DRAW[name](read_json(path, wanted="a file that this command wrote"))
        for form in ("svg", "png"):
            write_whole(path.with_suffix(f".{form}"), render(chart, form), force=True)
        print(f"wrote {path}, .svg and .png")


if __name__ == "__main__":
    main()
