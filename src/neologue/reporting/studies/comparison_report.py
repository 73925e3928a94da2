"""`report.html` of methods side by side, from its `study.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.ticker import NullLocator

from neologue.reporting.html_page import render
from neologue.reporting.svg import DIED, LIVED, MUTED, WORD, Picture, plot, short_numbers

OURS = {"neologue": WORD, "gboard-2024": LIVED}
MARKS = ("o", "s", "^", "v", "D", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")


def comparison_report(document: Mapping[str, Any], command: str) -> str:
    """The page; `command` is how to run the study again."""
    rows = [row for row in document["table"] if "refusal" not in row]
    asked = document["asked"]
    most, largest = max(asked["users"]), max(asked["epsilons"])
    at_most = [row for row in rows if row["users"] == most]
    pictures = [
        _lines(
            "coverage",
            "How much is found?",
            at_most,
            ("epsilon", "ε"),
            ("coverage", 100, "coverage, %"),
            f"Coverage with {most:,} users. Green and blue are neologue and the paper’s method; orange ones hide words "
            "on the device as well, grey ones trust a server with them.",
        ),
        _lines(
            "precision",
            "How much of what is found is real?",
            at_most,
            ("epsilon", "ε"),
            ("precision", 100, "precision, %"),
            "The share of words found that somebody holds. A method that finds next to nothing is easily right.",
        ),
        _lines(
            "f1",
            "Are the most widely held words found?",
            at_most,
            ("epsilon", "ε"),
            ("f1", 1, f"F1@{asked['top']}"),
            f"1 means that the first {asked['top']:,} words found are those that most users hold.",
        ),
    ]
    if len(asked["users"]) > 1:
        pictures.append(
            _lines(
                "users",
                "How many users does it take?",
                [row for row in rows if row["epsilon"] == largest],
                ("users", "users"),
                ("coverage", 100, "coverage, %"),
                f"Coverage at ε = {largest:g} with more and more users.",
            )
        )
    return render(
        "study_compare.html", version=document["version"], document=document, command=command, pictures=pictures
    )


def _lines(
    name: str,
    title: str,
    rows: Sequence[Mapping[str, Any]],
    across: tuple[str, str],
    up: tuple[str, int, str],
    caption: str,
) -> Picture:
    """A line for every method."""
    x, x_label = across
    y, scale, y_label = up
    methods = list(dict.fromkeys(row["method"] for row in rows))
    with plot(name, f"Lines: {y_label} over {x_label} for every method", 3.9) as drawn:
        axes = drawn.axes
        for index, method in enumerate(methods):
            mine = sorted((row for row in rows if row["method"] == method), key=lambda row: float(row[x]))
            axes.plot(
                [row[x] for row in mine],
                [scale * row[y] for row in mine],
                color=OURS.get(method, MUTED if mine[0]["trust"] == "central" else DIED),
                marker=MARKS[index % len(MARKS)],
                ls=DASHES[index % len(DASHES)] if method not in OURS else "-",
                lw=2 if method in OURS else 1.2,
                label=method,
            )
        axes.set(xlabel=x_label, ylabel=y_label, ylim=(-0.03 * scale, 1.05 * scale))
        if x == "users":
            axes.set_xscale("log")
            axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticks(sorted({row[x] for row in rows}))
        axes.xaxis.set_major_formatter(short_numbers())
        drawn.figure.legend(loc="outside lower center", ncols=3)
        svg = drawn.svg()
    return Picture(title, svg, caption)
