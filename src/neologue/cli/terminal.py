"""What people see: tables on the output, progress beside it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from neologue.discovery.result import LayerFacts, Release
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.reporting.sentences import privacy_lines, summary
from neologue.simulation.discovery_run import Discovery, Progress

SHOWN_WORDS = 20
PLAIN_WIDTH = 110


def console(file: TextIO | None = None) -> Console:
    """The terminal, or plain text of a fixed width where there is none."""
    screen = Console(file=file, highlight=False)
    if not screen.is_terminal:
        screen.width = PLAIN_WIDTH
    return screen


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
    """Print a table; the columns at `numbers` are aligned to the right."""
    table = Table(title=title, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(column, justify="right" if place in numbers else "left", overflow="fold")
    for row in rows:
        # As Text, so that a word such as [bold] is shown and not obeyed.
        table.add_row(*map(Text, row))
    console().print(table)


def say(line: str) -> None:
    """Print a sentence."""
    console().print(Text(line))


def show_discovery(discovery: Discovery, document: Mapping[str, Any]) -> None:
    """The top words, and what it took to find them."""
    words = discovery.release.words
    measured = measured_cells(discovery.release)
    rows = [
        (
            word.word,
            f"{word.estimate:,.0f}",
            f"{word.low:,.0f} – {word.high:,.0f}",
            *measured.get(word.word, ()),
            str(len(word.word)),
            str(word.layer),
        )
        for word in words[:SHOWN_WORDS]
    ]
    rest = f", the first {len(rows)} of {len(words):,}" if len(words) > len(rows) else ""
    more = ("measured", "95 % interval") if measured else ()
    columns = ("word", "users reporting it", "95 % interval", *more, "length", "found in layer")
    show_table(f"New words{rest}", columns, rows, numbers=range(1, len(columns)))
    for line in [*summary(discovery), *privacy_lines(document["privacy"])]:
        say(line)


def measured_cells(release: Release) -> dict[str, tuple[str, str]]:
    """What a measurement says of each word, as it stands in a table."""
    words = release.measurement.words if release.measurement else ()
    return {word.word: (f"{word.estimate:,.0f}", f"{word.low:,.0f} – {word.high:,.0f}") for word in words}


class LineProgress(Progress):
    """Progress as plain lines, for files and logs."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen

    def say(self, line: str) -> None:
        """A line of news."""
        self.screen.print(Text(line), soft_wrap=True)

    def start(self, what: str, total: int) -> None:
        """Work of so many parts, told of by `on_users`."""
        self.say(f"{what} …")

    def on_layer_end(self, facts: LayerFacts, words: int) -> None:
        """One line a layer."""
        self.say(
            f"pass {facts.pass_number} layer {facts.layer}: {facts.asked:,} users asked about {facts.candidates:,} "
            f"candidates of {facts.length + facts.extension} symbols, {facts.kept:,} prefixes kept, "
            f"{words:,} words so far"
        )

    def on_measuring(self, layer: ClosedLayer) -> None:
        """Users count what was found."""
        self.start(f"{layer.layer_size:,} other users count the {len(layer.words):,} words", layer.layer_size)

    def on_scoring(self) -> None:
        """The last step."""
        self.say("Comparing with what users really hold …")


class BarProgress(LineProgress):
    """Progress as a bar over the users of the layer, under the lines of the layers before."""

    def __init__(self, screen: Console, bars: Bars) -> None:
        super().__init__(screen)
        self.bars = bars
        self.bar = bars.add_task("Setting up", total=None)

    def start(self, what: str, total: int) -> None:
        """A new bar."""
        self.bars.reset(self.bar, description=what, total=total)

    def on_layer_start(self, layer: Layer) -> None:
        """A bar over the cohort."""
        self.start(
            f"pass {layer.pass_number} layer {layer.number}: {layer.candidates.size:,} candidates",
            total=layer.layer_size,
        )

    def on_users(self, users: int) -> None:
        """Some more of it."""
        self.bars.advance(self.bar, users)

    def on_scoring(self) -> None:
        """A bar without an end."""
        self.bars.reset(self.bar, description="Comparing with what users really hold", total=None)


@contextmanager
def show_progress(file: TextIO) -> Iterator[LineProgress]:
    """Somebody who tells how far a discovery has come: live on a terminal, line by line elsewhere."""
    screen = console(file)
    if not screen.is_terminal:
        yield LineProgress(screen)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f}%"),
        TimeElapsedColumn(),
    )
    with Bars(*columns, console=screen, transient=True) as bars:
        yield BarProgress(screen, bars)
