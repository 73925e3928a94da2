"""`report.html` of the paper repeated, from its `study.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from neologue.reporting.html_page import render
from neologue.reporting.svg import DIED, LIVED, MUTED, WORD, Picture, plot


def paper_report(document: Mapping[str, Any], command: str) -> str:
    """The page; `command` is how to run the study again."""
    return render(
        "study_paper.html",
        version=document["version"],
        document=document,
        command=command,
        pictures={
            "table": _table(document["table"]),
            "figure": _figure(document["figure"], document["without_privacy"]),
        },
    )


def _table(rows: Sequence[Mapping[str, Any]]) -> Picture:
    """Measured beside published."""
    bars = range(len(rows))
    with plot("table", "Bars: coverage of each setting, measured and published") as drawn:
        axes = drawn.axes
        measured, published = [100 * row["coverage"] for row in rows], [100 * row["published"] for row in rows]
        axes.bar([bar - 0.2 for bar in bars], measured, width=0.38, color=WORD, label="measured here")
        axes.bar([bar + 0.2 for bar in bars], published, width=0.38, color=MUTED, alpha=0.5, label="published")
        axes.errorbar([bar - 0.2 for bar in bars], measured, yerr=spread(rows), fmt="none", ecolor=DIED, capsize=3)
        for bar, here, there in zip(bars, measured, published, strict=True):
            for left, value in ((-0.2, here), (0.2, there)):
                axes.text(bar + left, value + 2, f"{value:.1f}", ha="center", va="bottom", fontsize=9)
        axes.set_xticks(
            list(bars), [f"{row['sampler']},\n{row['passes']} pass{'es' * (row['passes'] > 1)}" for row in rows]
        )
        axes.set(ylabel="coverage, %", ylim=(0, 119), yticks=range(0, 101, 25))
        axes.grid(axis="x", visible=False)
        axes.legend(loc="upper left", ncols=2)
        svg = drawn.svg()
    return Picture(
        "Which sampler, how many passes?",
        svg,
        "Green is this study, grey the paper; the small line is the 95 % interval over seeds, where there are several.",
    )


def _figure(rows: Sequence[Mapping[str, Any]], free: Mapping[str, Any]) -> Picture:
    """Coverage over ε, and the line without privacy."""
    with plot("epsilon", "Line: coverage over local epsilon, and a dashed line without privacy") as drawn:
        axes = drawn.axes
        ordered = sorted(rows, key=lambda row: float(row["epsilon"]))
        axes.errorbar(
            [row["epsilon"] for row in ordered],
            [100 * row["coverage"] for row in ordered],
            yerr=spread(ordered),
            color=WORD,
            marker="o",
            capsize=3,
            label="with local privacy",
        )
        axes.axhline(100 * free["coverage"], color=LIVED, ls="--", label="without privacy")
        axes.set_xticks([row["epsilon"] for row in ordered], [f"{row['epsilon']:g}" for row in ordered])
        axes.set(xlabel="local ε of a word", ylabel="coverage, %", ylim=(0, 105))
        axes.legend(loc="best")
        svg = drawn.svg()
    return Picture(
        "What does privacy cost?",
        svg,
        "Each point is the paper’s method with another local ε: to the left more private, to the right less. The "
        "dashed line is what the same method finds if reports hide nothing.",
    )


def spread(rows: Sequence[Mapping[str, Any]]) -> list[list[float]]:
    """How far intervals reach below and above their coverages, in points; not at all where there is none."""
    below = [100 * (row["coverage"] - row["low"]) if row["low"] is not None else 0.0 for row in rows]
    above = [100 * (row["high"] - row["coverage"]) if row["high"] is not None else 0.0 for row in rows]
    return [below, above]
