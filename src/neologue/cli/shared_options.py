"""Options that several commands share, with the names that the shell completes."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

if TYPE_CHECKING:
    from neologue.language.alphabet import Alphabet

Command = TypeVar("Command", bound=Callable[..., object])


DATABASE = click.option(
    "--database",
    default="neologue.db",
    show_default=True,
    envvar="NEOLOGUE_DATABASE",
    show_envvar=True,
    help="A file; postgresql://… for several workers and machines; or @FILE, which has either of them in it.",
)


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


def randomizer_names() -> Sequence[str]:
    """The randomizers that devices can be asked to use."""
    from neologue.randomizers.registry import RANDOMIZERS

    return tuple(RANDOMIZERS)


def rule_names() -> Sequence[str]:
    """The rules by which prefixes are kept."""
    from neologue.campaign.parameters import RULE_NAMES

    return tuple(RULE_NAMES)


PROFILE = click.option(
    "--profile",
    default="neologue",
    show_default=True,
    shell_complete=complete_from(profile_names),
    help="Named parameters.",
)


class LanguageName(click.ParamType[str]):
    """The name of a language, in any case."""

    name = "text"

    def convert(self, value: str, parameter: click.Parameter | None, context: click.Context | None) -> str:
        """The name in lower case, as languages are called here; whether it is one is checked later."""
        return value.lower()


def language_option(default: str | None, about: str) -> Callable[[Command], Command]:
    """The option `--language` of a command, with what the language is for."""
    return click.option(
        "--language",
        type=LanguageName(),
        default=default,
        show_default=default is not None,
        shell_complete=complete_from(language_names),
        help=about,
    )


LANGUAGE = language_option("en", "Language of simulated users and of the built-in known words.")
EPSILON = click.option("--epsilon", type=float, help="The local ε of a word  [default: by the number of users]")
CANDIDATES = click.option("--candidates", type=int, help="The most candidates voted on in a layer.")
TARGETS = click.option(
    "--targets",
    type=click.Path(path_type=Path),
    help="Contribute only words of this file, to try parameters without learning unknown words.",
)
ALPHABET = click.option(
    "--alphabet",
    shell_complete=complete_from(alphabet_names),
    help="Name of an alphabet, with +emoji behind it if emoji are words, or a text file to take the characters from  "
    "[default: by profile and language]",
)
KNOWN = click.option(
    "--known",
    type=click.Path(path_type=Path),
    help="Known words: a text file with one word per line, or a Hunspell .dic  [default: built in]",
)
CASE = click.option(
    "--case",
    type=click.Choice(["fold", "keep"]),
    help="Count Yeet and YEET as yeet, or words as they are typed  [default: the profile's]",
)
PUNCTUATION = click.option(
    "--punctuation",
    type=click.Choice(["strip", "keep"]),
    help="Take off signs around a word and read ’ as ', or count words as they are typed  [default: the profile's]",
)
WORDS_PER_USER = click.option("--words-per-user", type=int, help="The most words in one report (B).")
DEPTH = click.option("--depth", type=int, help="The longest word that counts (D).")
PASSES = click.option("--passes", type=int, help="How many tries are grown.")
LAYERS = click.option(
    "--layers",
    type=int,
    help="Ask about the likeliest strings in so many layers of equal size: 4 by default. More layers reach longer "
    "words that are spelled like no other, and find somewhat fewer of the rest.",
)
ALLOCATION = click.option(
    "--allocation",
    type=click.Choice(["drawn", "filled"]),
    help="How users come into layers: by slots that no reader learns, which hides more, or until a layer has enough.",
)
RANDOMIZER = click.option(
    "--randomizer",
    shell_complete=complete_from(randomizer_names),
    help="What a device does to its words: unary or subset-selection.",
)
RULE = click.option(
    "--rule", shell_complete=complete_from(rule_names), help="Which prefixes are kept: top or significant."
)
K_ANONYMITY = click.option(
    "--k-anonymity",
    type=int,
    help="Publish a word that fewer than k users of a layer report with probability at most 1-α, in all.",
)
ALPHA = click.option("--alpha", type=float, help="The probability with which k-anonymity holds (α).")
UNIQUE_CHANCE = click.option(
    "--unique-chance",
    type=float,
    help="Show a word that one user alone reports with at most this probability; 0 promises nothing.",
)
HOSTILE_DEVICES = click.option(
    "--hostile-devices", type=int, help="How many hostile devices in any one layer --unique-chance allows for."
)
DELTA = click.option("--delta", type=float, help="The δ of the central privacy statement.")
CENTRAL_EPSILON = click.option(
    "--central-epsilon",
    "promised_epsilon",
    type=float,
    help="Promise this central ε of the release: a layer with too few reports for it is not decided.",
)
CENTRAL_UNIT = click.option(
    "--unit",
    "promised_unit",
    type=click.Choice(["item", "user"]),
    help="What --central-epsilon protects: one word, or a whole user  [default: item]",
)
COLLUDERS = click.option("--colluders", type=float, help="Assumed share of reports that add no privacy.")


def choose_alphabet(wanted: str | None, of_profile: str, language: str) -> "Alphabet":
    """The alphabet of that name or from that text file; by default the one that suits the profile and the language."""
    from neologue.language import builtin
    from neologue.language.alphabet import NAMED, Alphabet

    if wanted is None:
        return builtin.alphabet_of(of_profile, language)
    if wanted in NAMED or not Path(wanted).exists():
        return Alphabet.named(wanted)
    return Alphabet.from_file(Path(wanted))
