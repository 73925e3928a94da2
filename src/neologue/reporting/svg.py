"""Figures of matplotlib as SVG that stands inside a page: its colours are the page's, in light and in dark."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import StringIO
from typing import Any
from xml.etree import ElementTree

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

INK, MUTED, GRID, LIVED, WORD, DIED = "#010101", "#020202", "#030303", "#040404", "#050505", "#060606"
"""The colours that figures may use; each stands for one of the page."""

PAGE_COLOURS = {
    INK: "currentColor",
    MUTED: "var(--muted)",
    GRID: "var(--line)",
    LIVED: "var(--lived)",
    WORD: "var(--word)",
    DIED: "var(--died)",
}
WIDTH = 5.2
STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.size": 11,
    "text.color": INK,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.facecolor": "none",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": GRID,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "legend.frameon": False,
    "legend.fontsize": 10,
}
PRESENTATION = {
    "clip-rule",
    "fill",
    "fill-opacity",
    "font-size",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
}
NAMESPACE = re.compile(r"\{[^}]*\}")
DECIMALS = re.compile(r"(\d+\.\d\d)\d+")


class Plot:
    """A figure with one pair of axes, and what it says for those who don't see it."""

    def __init__(self, name: str, label: str, height: float) -> None:
        self.name = name
        self.label = label
        self.figure = Figure(figsize=(WIDTH, height), layout="constrained")
        self.figure.patch.set_visible(False)
        FigureCanvasSVG(self.figure)
        self.axes: Axes = self.figure.add_subplot()

    def svg(self) -> str:
        """The figure as an element of a page, the same for the same figure."""
        drawn = StringIO()
        with matplotlib.rc_context(STYLE | {"svg.hashsalt": self.name}):
            self.figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
        return _inline(drawn.getvalue(), self.name, self.label)


@dataclass(frozen=True)
class Picture:
    """A plot as it stands on a page."""

    title: str
    svg: str
    caption: str


@contextmanager
def plot(name: str, label: str, height: float = 3.2) -> Iterator[Plot]:
    """A plot to draw on, in the style of all; its name has to be the only one of the page."""
    with matplotlib.rc_context(STYLE):
        yield Plot(name, label, height)


def short_numbers() -> FuncFormatter:
    """Ticks such as 500, 20k and 3M."""

    def text(value: float, _: object) -> str:
        for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
            if abs(value) >= size:
                return f"{value / size:g}{letter}"
        return f"{value:g}"

    return FuncFormatter(text)


def _inline(text: str, name: str, label: str) -> str:
    """SVG without style attributes, which a strict page refuses, and with names that no other figure has."""
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if NAMESPACE.sub("", str(child.tag)) in {"metadata", "style"}:
                parent.remove(child)
    referred = set(re.findall(r'(?:href="|url\()#([^")]+)', text))
    for element in root.iter():
        element.tag = NAMESPACE.sub("", str(element.tag))
        attributes = {NAMESPACE.sub("", key): value for key, value in element.attrib.items()}
        element.attrib.clear()
        for key, value in {**attributes, **_parse_style(attributes.pop("style", ""))}.items():
            if key == "style" or (key == "id" and value not in referred):
                continue
            element.set(key, _value(key, value, name))
    size = root.attrib["viewBox"]
    root.attrib.clear()
    for key, value in {"class": "plot", "viewBox": size, "role": "img", "aria-label": label}.items():
        root.set(key, value)
    return ElementTree.tostring(root, encoding="unicode")


def _parse_style(style: str) -> dict[str, str]:
    """The declarations of a style attribute as attributes."""
    pairs = (part.split(":", 1) for part in style.split(";") if ":" in part)
    declared = {key.strip(): value.strip() for key, value in pairs}
    # Before matplotlib 3.11 the size stands in the shorthand, which is no attribute.
    size = re.match(r"[\d.]+px", declared.get("font", ""))
    return ({"font-size": size[0]} if size else {}) | {
        key: value for key, value in declared.items() if key in PRESENTATION
    }


def _value(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return f"#{name}-{value[1:]}"
    if value.startswith("url(#"):
        return f"url(#{name}-{value[5:]}"
    return PAGE_COLOURS.get(value, DECIMALS.sub(r"\1", value))
