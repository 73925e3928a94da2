"""What options of several commands can be: names for completion, and the alphabet that is meant."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from neologue.language.alphabet import Alphabet


def completes(names: Callable[[], Sequence[str]]) -> Any:  # noqa: ANN401 - what click's option takes
    """Completion by names that are looked up when needed."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def profiles() -> Sequence[str]:
    """The names of profiles."""
    from neologue.campaign.profiles import PROFILES

    return tuple(PROFILES)


def alphabets() -> Sequence[str]:
    """The names of alphabets."""
    from neologue.language.alphabet import NAMED

    return tuple(NAMED)


def languages() -> Sequence[str]:
    """The languages that are built in."""
    from neologue.language.builtin import languages

    return languages()


def alphabet_of(wanted: str | None, of_profile: str, language: str) -> "Alphabet":
    """The alphabet of a name or of a text file; without either, the one that suits profile and language."""
    from neologue.language import builtin
    from neologue.language.alphabet import NAMED, Alphabet

    if wanted is None:
        return Alphabet.named(of_profile) if language == "en" else builtin.alphabet(language)
    if wanted in NAMED or not Path(wanted).exists():
        return Alphabet.named(wanted)
    return Alphabet.from_file(Path(wanted))
