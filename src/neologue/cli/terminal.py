"""Output on a terminal: tables, and progress on the standard error."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars
from rich.table import Table
from rich.text import Text

from neologue.privacy.scale import SCALE
from neologue.simulation.progress import Progress

if TYPE_CHECKING:
    from neologue.discovery.result import LayerFacts
    from neologue.protocol.closed_layer import ClosedLayer
    from neologue.protocol.layer import Layer

PLAIN_WIDTH = 110


def console(file: TextIO | None = None) -> Console:
    """The terminal, or plain text of a fixed width if there is none."""
    screen = Console(file=file, highlight=False)
    if not screen.is_terminal:
        screen.width = PLAIN_WIDTH
    return screen


def show_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> None:
    """Print a table; the columns at `numbers` are aligned to the right."""
    table = Table(title=title, title_justify="left")
    colours = {each.words: each.colour for each in SCALE}
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index in numbers else "left", overflow="fold")
    for row in rows:
        # As Text, so that a word such as [bold] is shown and not taken for markup.
        table.add_row(*(Text(cell, style=colours.get(cell, "")) for cell in row))
    console().print(table)


def show_facts(title: str, facts: Iterable[tuple[str, str]]) -> None:
    """Print facts below a title, each with its name before it."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True, style="dim")
    grid.add_column(overflow="fold")
    for name, text in facts:
        grid.add_row(Text(f"  {name}"), _judgements_coloured(text))
    screen = console()
    screen.print()
    screen.print(Text(title, style="bold"))
    screen.print(grid)


def print_line(line: str) -> None:
    """Print one line without markup; a judgement of an ε has its colour."""
    console().print(_judgements_coloured(line))


def _judgements_coloured(line: str) -> Text:
    text = Text(line)
    for each in SCALE:
        text.highlight_words([each.words], style=each.colour)
    return text


class LineProgress(Progress):
    """Progress as plain lines, for files and logs."""

    def __init__(self, screen: Console) -> None:
        self.screen = screen

    def print_line(self, line: str) -> None:
        """Print one line."""
        self.screen.print(Text(line), soft_wrap=True)

    def start(self, what: str, total: int) -> None:
        """Start a step of `total` parts, which `on_users` counts."""
        self.print_line(f"{what} …")

    def on_layer_end(self, facts: "LayerFacts", words: int) -> None:
        """Print one line for each layer."""
        symbols = f" of {facts.length + facts.extension} symbols" if facts.extension else ""
        self.print_line(
            f"pass {facts.pass_number} layer {facts.layer}: {facts.asked:,} users asked about {facts.candidates:,} "
            f"candidates{symbols}, {facts.kept:,} prefixes kept, "
            f"{words:,} words so far"
        )

    def on_measuring(self, layer: "ClosedLayer") -> None:
        """Announce the measurement."""
        self.start(f"{layer.layer_size:,} other users count the {len(layer.words):,} words", layer.layer_size)

    def on_scoring(self) -> None:
        """Announce the comparison with the truth."""
        self.print_line("Comparing with what users really hold …")


class BarProgress(LineProgress):
    """Progress as a bar over the users of the current layer, below the lines of earlier layers."""

    def __init__(self, screen: Console, bars: Bars) -> None:
        super().__init__(screen)
        self.bars = bars
        self.bar = bars.add_task("Setting up", total=None)

    def start(self, what: str, total: int) -> None:
        """Start a new bar."""
        self.bars.reset(self.bar, description=what, total=total)

    def on_layer_start(self, layer: "Layer") -> None:
        """Start a bar over the users of the layer."""
        self.start(
            f"pass {layer.pass_number} layer {layer.number}: {layer.candidates.size:,} candidates",
            total=layer.layer_size,
        )

    def on_users(self, users: int) -> None:
        """Advance the bar."""
        self.bars.advance(self.bar, users)

    def on_scoring(self) -> None:
        """Start a bar of unknown length."""
        self.bars.reset(self.bar, description="Comparing with what users really hold", total=None)


@contextmanager
def show_progress(file: TextIO) -> Iterator[LineProgress]:
    """Show progress: a live bar on a terminal, lines elsewhere."""
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
