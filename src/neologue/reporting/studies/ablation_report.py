"""`report.html` of what each choice is worth, from its `study.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.ticker import NullLocator

from neologue.reporting.html_page import render
from neologue.reporting.svg import DIED, INK, LIVED, WORD, Picture, plot, short_numbers

APART = ("population", "language")
"""Factors that are no choice, and have pictures of their own."""


def ablation_report(document: Mapping[str, Any], command: str) -> str:
    """The page; `command` is how to run the study again."""
    by_name = {factor["factor"]: _possible(factor) for factor in document["factors"]}
    choices = {name: rows for name, rows in by_name.items() if name not in APART}
    pictures = [
        *([_gains(choices)] if any(len(rows) > 1 for rows in choices.values()) else []),
        *([_sizes(by_name["population"])] if "population" in by_name else []),
        *([_languages(by_name["language"])] if "language" in by_name else []),
    ]
    return render(
        "study_ablation.html", version=document["version"], document=document, command=command, pictures=pictures
    )


def _possible(factor: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [row for row in factor["variations"] if "refusal" not in row]


def _gains(factors: Mapping[str, Sequence[Mapping[str, Any]]]) -> Picture:
    """What every other way gains or loses."""
    rows = [
        (f"{name}: {row['variation']}", row) for name, each in factors.items() for row in each if not row["reference"]
    ]
    positions = range(len(rows))
    with plot("gains", "Bars: points of coverage gained or lost by each change", 1 + 0.27 * len(rows)) as drawn:
        axes = drawn.axes
        gains = [100 * row["gain"] for _, row in rows]
        axes.barh(positions, gains, color=[LIVED if gain >= 0 else DIED for gain in gains], height=0.7)
        spread = [
            [100 * (row["gain"] - row["gain_low"]) if row["gain_low"] is not None else 0.0 for _, row in rows],
            [100 * (row["gain_high"] - row["gain"]) if row["gain_high"] is not None else 0.0 for _, row in rows],
        ]
        axes.errorbar(gains, positions, xerr=spread, fmt="none", ecolor=INK, lw=1)
        axes.axvline(0, color=INK, lw=1)
        axes.set_yticks(list(positions), [name for name, _ in rows], fontsize=8)
        axes.invert_yaxis()
        axes.set_xlabel("points of coverage")
        axes.grid(axis="y", visible=False)
        svg = drawn.svg()
    return Picture(
        "What is lost or gained by choosing otherwise?",
        svg,
        "Each bar is one change to the profile: to the left it finds less (orange), to the right more (blue). More is "
        "not always better: the tables below say at which ε and precision it was bought.",
    )


def _sizes(rows: Sequence[Mapping[str, Any]]) -> Picture:
    """Coverage over the number of users."""
    ordered = sorted(rows, key=lambda row: int(row["users"]))
    with plot("sizes", "Line: coverage over the number of users") as drawn:
        axes = drawn.axes
        axes.plot([row["users"] for row in ordered], [100 * row["coverage"] for row in ordered], "o-", color=WORD)
        for row in ordered:
            axes.annotate(
                f"ε {row['local_epsilon']:g}",
                (row["users"], 100 * row["coverage"]),
                textcoords="offset points",
                xytext=(0, 7),
                ha="center",
                fontsize=8,
            )
        axes.set(xscale="log", xlabel="users", ylabel="coverage, %", ylim=(0, 105))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks([row["users"] for row in ordered])
        axes.xaxis.set_major_formatter(short_numbers())
        svg = drawn.svg()
    return Picture(
        "How many users does it take?",
        svg,
        "Each point is a whole population, with the local ε that is planned for it.",
    )


def _languages(rows: Sequence[Mapping[str, Any]]) -> Picture:
    """Coverage in every language."""
    with plot("languages", "Bars: coverage in each language") as drawn:
        axes = drawn.axes
        axes.bar(range(len(rows)), [100 * row["coverage"] for row in rows], color=WORD, width=0.7)
        axes.set_xticks(range(len(rows)), [row["variation"] for row in rows])
        axes.set(ylabel="coverage, %", ylim=(0, 105))
        axes.grid(axis="x", visible=False)
        svg = drawn.svg()
    return Picture(
        "In other languages?",
        svg,
        "Lists of words are of different lengths: where a short one ends early, little is left that could be missed.",
    )
