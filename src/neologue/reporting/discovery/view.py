"""What the page of a discovery shows of how it asked: this depends on how it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from neologue.reporting.discovery.fates import Fate
from neologue.reporting.svg import Picture


@dataclass(frozen=True)
class View:
    """A template that extends `discovery.html`, and what it needs beside what every discovery has."""

    template: str
    scripts: tuple[str, ...]
    fates: Sequence[Fate]
    """The most widely held words that were missed, each with its end."""
    layers: Picture
    """What every layer kept."""
    values: Mapping[str, object]
