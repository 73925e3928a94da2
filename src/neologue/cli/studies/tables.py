"""The results of studies as tables on a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from neologue.cli.terminal import print_line, show_table
from neologue.privacy.digits import shown

Row = Mapping[str, Any]


def show_paper(document: Mapping[str, Any]) -> None:
    """Print the figure, the table and the production run beside the paper's figures."""
    table = [
        (
            row["setting"],
            f"{row['coverage']:.1%}",
            interval_text(row),
            f"{row['published']:.1%}",
            f"{row['words']:,.0f}",
            f"{row['epsilon']:g}",
            shown(row["central_epsilon"]),
        )
        for row in document["table"]
    ]
    columns = ("setting", "coverage", "95 % interval", "published", "words", "local ε", "central ε, word")
    show_table(f"The table, {document['users']:,} users", columns, table, numbers=range(1, 7))
    free = document["without_privacy"]
    points = [(f"{row['epsilon']:g}", row) for row in document["figure"]] + [("none", free)]
    show_table(
        "The figure: greedy, one pass",
        ("local ε", "coverage", "95 % interval", "words", "central ε, word"),
        [
            (
                name,
                f"{row['coverage']:.1%}",
                interval_text(row),
                epsilon_text(row["central_epsilon"]),
            )
            for name, row in points
        ],
        numbers=range(5),
    )
    production = document["production"]
    tested = production["held_out"]
    published = production["published"]
    show_table(
        "The production run: greedy, two passes",
        ("", "measured", "published"),
        [
            ("coverage among the users asked", f"{production['coverage']:.1%}", ""),
            ("coverage among test users", f"{tested['of_pairs']['mean']:.1%}", f"{published['held_out_coverage']:.1%}"),
            ("… of all times they type one", f"{tested['of_typings']['mean']:.1%}", ""),
            ("… of all different ones", f"{tested['of_words']['mean']:.1%}", ""),
            (
                "central ε of a word",
                epsilon_text(production["central_epsilon"]),
                f"{published['item_central_epsilon']:g}",
            ),
            ("k", str(production["privacy"]["k_anonymity"]["k"] or "none"), f"{published['k']:g}"),
        ],
        numbers=(1, 2),
    )
    for ordering in document["orderings"]:
        found = "as in the paper" if ordering["as_published"] else "NOT as in the paper"
        found += "" if ordering["decided"] else ", but not decided by these seeds"
        print_line(
            f"{found}: {ordering['statement']}; here by {100 * ordering['gain']:.2f} points{_interval_text(ordering)}."
        )
    for row in document["table"]:
        print_line(f"{row['setting']}: {row['difference']}")
    for line in production["differences"]:
        print_line(line)
    _print_quick_note(document)


def show_comparison(document: Mapping[str, Any]) -> None:
    """Print every method, one line for each ε and number of users."""
    asked = document["asked"]
    unit = {"item": "word", "user": "user"}[asked["unit"]]
    columns = (
        *("method", "users", "ε", "coverage", "missing", "precision", "F1@K", "bytes", "rounds"),
        *("local ε", "central ε"),
    )
    rows = []
    for row in document["table"]:
        begin = (row["method"], f"{row['users']:,}", f"{row['epsilon']:g}")
        if "refusal" in row:
            rows.append((*begin, "not possible", *[""] * 7))
            continue
        rows.append(
            (
                *begin,
                f"{row['coverage']:.1%}",
                f"{row['missing_mass']:.1%}",
                f"{row['precision']:.1%}",
                f"{row['f1']:.3f}",
                "all" if row["bytes_per_device"] is None else f"{row['bytes_per_device']:,}",
                str(row["rounds"]),
                epsilon_text(row["local_item"]),
                epsilon_text(row[f"central_{asked['unit']}"]),
            )
        )
    show_table("Methods side by side", columns, rows, numbers=range(1, 11))
    print_line(
        f"ε is {asked['model']}, for one {unit}; the last two columns are of a word, and of a {unit} at δ = "
        f"{asked['delta']:g}. Methods without a local ε trust a server with words as they are, and got the same number "
        "as a central ε. Missing: of all times that a user typed a new word, the share whose word was not found."
    )
    needed = [
        (row["method"], f"{row['epsilon']:g}", f"{row['coverage']:.0%}", f"{row['users']:,}")
        for row in document["users_needed"]
        if row["users"]
    ]
    show_table("Users needed, of the numbers tried", ("method", "ε", "to cover", "users"), needed, numbers=(1, 2, 3))
    _print_quick_note(document)


def show_ablation(document: Mapping[str, Any]) -> None:
    """Print every factor, one line for each variation."""
    columns = (
        "factor",
        "variation",
        "coverage",
        "gain, points",
        "95 % interval",
        "words",
        "local ε",
        "ε word",
        "ε user",
    )
    rows: list[Sequence[str]] = []
    for factor in document["factors"]:
        for row in factor["variations"]:
            name = factor["factor"] if row["reference"] else ""
            if "refusal" in row:
                rows.append((name, row["variation"], "not possible", *[""] * 6))
                continue
            rows.append(
                (
                    name,
                    row["variation"],
                    f"{row['coverage']:.1%}",
                    "" if row["reference"] else f"{100 * row['gain']:+.2f}",
                    "" if row["reference"] else _points_text(row["gain_low"], row["gain_high"]),
                    f"{row['words']:,.0f}",
                    f"{row['local_epsilon']:g}",
                    shown(row["item_epsilon"]),
                    shown(row["user_epsilon"]),
                )
            )
    show_table(f"What each choice is worth, {document['users']:,} users", columns, rows, numbers=range(2, 9))
    _print_quick_note(document)


def interval_text(row: Row) -> str:
    """The interval of a coverage, or "one seed"."""
    return "one seed" if row["low"] is None else f"{row['low']:.1%} – {row['high']:.1%}"


def epsilon_text(value: float | None) -> str:
    """An ε, or "none"."""
    return "none" if value is None else shown(value)


def _interval_text(row: Row) -> str:
    return "" if row["low"] is None else f" ({_points_text(row['low'], row['high'])})"


def _points_text(low: float | None, high: float | None) -> str:
    return "one seed" if low is None or high is None else f"{100 * low:+.2f} to {100 * high:+.2f}"


def _print_quick_note(document: Mapping[str, Any]) -> None:
    if document["quick"]:
        print_line(document["quick"])
