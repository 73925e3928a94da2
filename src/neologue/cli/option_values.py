"""Values of options that several commands share: names for shell completion, and the alphabet."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from neologue.language.alphabet import Alphabet


def complete_from(names: Callable[[], Sequence[str]]) -> Any:  # noqa: ANN401 - what click's option takes
    """Shell completion from names that are looked up when needed."""

    def complete(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        return [CompletionItem(name) for name in names() if name.startswith(begun)]

    return complete


def profile_names() -> Sequence[str]:
    """The names of profiles."""
    from neologue.campaign.profiles import PROFILES

    return tuple(PROFILES)


def alphabet_names() -> Sequence[str]:
    """The names of alphabets."""
    from neologue.language.alphabet import NAMED

    return tuple(NAMED)


def language_names() -> Sequence[str]:
    """The languages that are built in."""
    from neologue.language.builtin import languages

    return languages()


def choose_alphabet(wanted: str | None, of_profile: str, language: str) -> "Alphabet":
    """The alphabet of that name or from that text file; by default the one that suits the profile and the language."""
    from neologue.language import builtin
    from neologue.language.alphabet import NAMED, Alphabet

    if wanted is None:
        return Alphabet.named(of_profile) if language == "en" else builtin.alphabet(language)
    if wanted in NAMED or not Path(wanted).exists():
        return Alphabet.named(wanted)
    return Alphabet.from_file(Path(wanted))
