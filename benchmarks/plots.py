"""Plots of the measurements."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, NullFormatter

from benchmarks.measure import Curve, Part
from benchmarks.report import law, number

COLOURS = ("#1b6ca8", "#c4501b", "#7a2e8e")
MARKS = ("o-", "s--", "^:")
WIDE, MOST_TICKS = 1000, 8
"""With a wider range or more values than these, the ticks are powers of ten."""


def draw(parts: Mapping[str, Part], folder: Path) -> list[Path]:
    """Draw the rates of each part as bars, and its curves against the parameter that they vary."""
    drawn = []
    # Text stays text, which keeps files small, and ids are the same in every run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "neologue"}):
        for name, part in parts.items():
            if part.measured:
                drawn.append(_write_figure(_bars(part), folder / f"{name}.svg"))
            if part.curves:
                drawn.append(_write_figure(_curves(part), folder / f"{name}.svg"))
    return drawn


def _write_figure(figure: Figure, path: Path) -> Path:
    FigureCanvasSVG(figure)
    figure.savefig(path, format="svg", metadata={"Date": None})
    return path


def _bars(part: Part) -> Figure:
    figure = Figure(figsize=(9, 1.2 + 0.3 * len(part.measured)), layout="constrained")
    axes = figure.add_subplot()
    bars = axes.barh([each.what for each in part.measured], [each.rate for each in part.measured], color=COLOURS[0])
    axes.bar_label(bars, [number(each.rate) for each in part.measured], padding=3)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel=f"{part.measured[0].unit} per CPU-second")
    axes.margins(x=0.15)
    figure.suptitle(part.title)
    return figure


def _curves(part: Part) -> Figure:
    panels = [(against, list(group)) for against, group in groupby(part.curves, key=lambda curve: curve.against)]
    figure = Figure(figsize=(max(6.0, 3.4 * len(panels)), 3.4), layout="constrained")
    for axes, (against, curves) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _panel(axes, against, curves)
    figure.suptitle(part.title)
    return figure


def _panel(axes: Axes, against: str, curves: Sequence[Curve]) -> None:
    for curve, colour, mark in zip(curves, COLOURS, MARKS, strict=False):
        axes.plot(curve.sizes, curve.costs, mark, color=colour, label=f"{curve.what}: {law(curve)}")
    axes.set(xscale="log", yscale="log", xlabel=against, ylabel=curves[0].unit)
    sizes = sorted({size for curve in curves for size in curve.sizes})
    if sizes[-1] < WIDE * sizes[0] and len(sizes) <= MOST_TICKS:
        axes.set_xticks(sizes)
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.xaxis.set_minor_formatter(NullFormatter())
    costs = [cost for curve in curves for cost in curve.costs]
    # Whole powers of ten above and below, so that a flat curve looks flat.
    axes.set_ylim(10 ** math.floor(math.log10(min(costs))), 10 ** math.ceil(math.log10(1.5 * max(costs))))
    axes.legend(frameon=False, fontsize=8)
