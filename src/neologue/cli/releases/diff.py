"""`neologue diff`: what changed between two releases."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neologue.cli.help_sections import CommandWithExamples
from neologue.cli.service_client import AS_JSON

if TYPE_CHECKING:
    from neologue.release.comparison import WordChange

RELEASE = click.Path(path_type=Path)


@click.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue diff spring/release.json autumn/release.json", "what is new since spring"),
        ("neologue diff spring/release.json autumn/release.json --top 100 --json", "as JSON"),
    ),
)
@click.argument("before", type=RELEASE)
@click.argument("after", type=RELEASE)
@click.option("--top", type=click.IntRange(1), default=20, show_default=True, help="The most words of a table.")
@AS_JSON
def diff(before: Path, after: Path, top: int, as_json: bool) -> None:
    """Compare two releases: which words are new, which rose or fell beyond chance, and which are gone.

    BEFORE and AFTER are the release.json files of two releases. Shares are of the users of each release who would
    report a word. An interval of 95 % is wrong for one word in twenty: of many words that stay as they are, some seem
    to rise or fall.
    """
    from neologue.release.codec import read_release_file
    from neologue.release.comparison import compare_releases

    changes = compare_releases(read_release_file(before), read_release_file(after))
    if as_json:
        click.echo(json.dumps([asdict(change) for change in changes], ensure_ascii=False, indent=1).encode())
        return
    _show(changes, top)


def _show(changes: "list[WordChange]", top: int) -> None:
    from neologue.cli.terminal import print_line, show_table
    from neologue.release.comparison import ChangeKind

    titles = {
        ChangeKind.NEW: "New words",
        ChangeKind.RISEN: "Risen",
        ChangeKind.FALLEN: "Fallen",
        ChangeKind.GONE: "Not released any more",
    }
    counts = {kind: sum(change.kind is kind for change in changes) for kind in ChangeKind}
    columns = ("word", "before", "after", "difference", "95 % interval")
    for kind, title in titles.items():
        rows = [_row(change) for change in changes if change.kind is kind][:top]
        rest = f", the first {len(rows)} of {counts[kind]:,}" if counts[kind] > len(rows) else ""
        if rows:
            show_table(f"{title}{rest}", columns, rows, numbers=range(1, len(columns)))
    print_line(", ".join(f"{counts[kind]:,} {kind.value}" for kind in ChangeKind) + ". Shares of users, in per cent.")


def _row(change: "WordChange") -> tuple[str, ...]:
    interval = (
        "" if change.low is None or change.high is None else f"{100 * change.low:+.3f} – {100 * change.high:+.3f}"
    )
    return (
        change.word,
        _percent(change.before),
        _percent(change.after),
        "" if change.difference is None else f"{100 * change.difference:+.3f}",
        interval,
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.3f}"
