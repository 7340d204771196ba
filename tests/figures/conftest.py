"""What tests ask of a chart: its specification, checked against the schema, and the marks and channels in it."""

from typing import Any

import pytest


def _views(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Every single view of a specification, however it is nested."""
    for key in ("layer", "vconcat", "hconcat", "concat"):
        if key in spec:
            shared = {"data": spec["data"]} if "data" in spec else {}
            return [view for part in spec[key] for view in _views({**shared, **part})]
    return [spec]


class Shown:
    """A chart as its specification says it."""

    def __init__(self, chart: Any) -> None:
        self.spec = chart.to_dict()  # validates against Vega-Lite's schema
        self.data = self.spec["datasets"]
        self.title = " ".join(self.spec["title"]["text"])
        self.subtitle = " ".join(self.spec["title"].get("subtitle", []))
        self.views = _views(self.spec)

    def marks(self, dataset: str) -> list[str]:
        return [v["mark"]["type"] for v in self.views if v.get("data", {}).get("name") == dataset]

    def view(self, dataset: str, mark: str) -> dict[str, Any]:
        found = [
            v for v in self.views if v.get("data", {}).get("name") == dataset and v["mark"]["type"] == mark
        ]
        assert found, f"no {mark} of {dataset}"
        return found[0]

    def axis_titles(self) -> set[str]:
        channels = [v["encoding"][c] for v in self.views for c in ("x", "y") if c in v.get("encoding", {})]
        return {(c.get("axis") or {}).get("title") for c in channels} - {None}


@pytest.fixture
def shown():
    return Shown
