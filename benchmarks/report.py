"""The measurements as tables and as JSON."""

import io
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Curve, Measured, Part, Ratio
from benchmarks.peers import Peer
from benchmarks.setting import Setting

WIDTH = 140
LIBRARIES = ("neologue", "numpy", "numba", "scipy", "dp-accounting", "uvicorn", "uvloop")


def document(parts: Mapping[str, Part], peers: Mapping[str, Peer], setting: Setting) -> dict[str, Any]:
    """All results as JSON values."""
    return {
        "setting": asdict(setting),
        "machine": {
            "processor": platform.machine(),
            "cores": os.cpu_count(),
            "load": os.getloadavg(),
            "python": platform.python_version(),
            "libraries": {name: version(name) for name in LIBRARIES},
        },
        "peers": {
            peer.name: {"version": peer.version, "measured": peer.version is not None, "state": peer.state}
            for peer in peers.values()
        },
        "goals": [_ratio_json(ratio) for part in parts.values() for ratio in part.ratios if ratio.goal is not None],
        "parts": {
            name: {
                "title": part.title,
                "measured": [_measured_json(measured) for measured in part.measured],
                "ratios": [_ratio_json(ratio) for ratio in part.ratios],
                "curves": [asdict(curve) | {"exponent": curve.exponent} for curve in part.curves],
                "notes": list(part.notes),
            }
            for name, part in parts.items()
        },
    }


def _measured_json(measured: Measured) -> dict[str, Any]:
    return asdict(measured) | {"shortest": measured.shortest, "median": measured.median, "rate": measured.rate}


def _ratio_json(ratio: Ratio) -> dict[str, Any]:
    return asdict(ratio) | {"met": ratio.met}


def tables(part: Part) -> str:
    """The tables of a part as text."""
    shown = io.StringIO()
    console = Console(width=WIDTH, file=shown)
    if part.measured:
        console.print(_measured_table(part))
    if part.ratios:
        console.print(_ratio_table(part.ratios))
    if part.curves:
        console.print(_curve_table(part))
    for note in part.notes:
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    console.print()
    return shown.getvalue()


def _table(title: str, *headings: str) -> Table:
    table = Table(title=title, title_justify="left")
    for index, heading in enumerate(headings):
        table.add_column(heading, justify="left" if index == 0 or heading == "note" else "right")
    return table


def _measured_table(part: Part) -> Table:
    table = _table(part.title, "what", "amount", "CPU time", "in the middle", "each", "per second", "note")
    for each in part.measured:
        table.add_row(
            each.what,
            f"{each.amount:,.0f} {each.unit}",
            duration(each.shortest),
            duration(each.median),
            duration(each.shortest / each.amount),
            f"{each.rate:,.0f}" if each.rate >= 10 else f"{each.rate:.2g}",
            each.note,
        )
    return table


def _ratio_table(ratios: Sequence[Ratio]) -> Table:
    table = _table("How many times as fast", "what / than what", "times", "in the middle", "rounds", "goal", "")
    for each in ratios:
        table.add_row(
            each.name,
            number(each.times),
            number(each.middle),
            f"{number(each.lowest)} – {number(each.highest)}",
            "" if each.goal is None else number(each.goal),
            {None: "", True: "met", False: "not met"}[each.met],
        )
    return table


def _curve_table(part: Part) -> Table:
    table = _table(part.title, "what", "against", "from", "to", "costs", "grows like")
    for curve in part.curves:
        table.add_row(
            curve.what,
            curve.against,
            f"{curve.sizes[0]:,}",
            f"{curve.sizes[-1]:,}",
            " ".join(amount(cost, curve.unit) for cost in curve.costs),
            law(curve),
        )
    return table


def law(curve: Curve) -> str:
    """The power law of a curve, as text."""
    if curve.exponent is None:
        return ""
    # A flat curve may have a tiny negative power: adding 0 removes the sign of a rounded zero.
    return f"{curve.against.partition(',')[0]}^{round(curve.exponent, 2) + 0.0:.2f}"


def amount(cost: float, unit: str) -> str:
    """A cost in its unit."""
    return f"{cost / 1e6:,.0f} MB" if unit == "bytes" else duration(cost)


def number(value: float) -> str:
    """A ratio, with a sensible number of digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """A time in the unit that suits it."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
