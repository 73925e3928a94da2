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
    help="A SQLite file, postgresql://… for several workers and machines, or @FILE: a file that contains one of these.",
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
    from neologue.campaign.rule_names import JUDGES_LAYERS

    return tuple(JUDGES_LAYERS)


PROFILE = click.option(
    "--profile",
    default="neologue",
    show_default=True,
    shell_complete=complete_from(profile_names),
    help="A named set of parameters: neologue profiles lists them.",
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
CANDIDATES = click.option(
    "--candidates", type=int, help="The most candidates voted on in a layer  [default: the profile's, 16777216]"
)
TARGETS = click.option(
    "--targets",
    type=click.Path(path_type=Path),
    help="Report only words of this file, to try parameters without learning unknown words.",
)
ALPHABET = click.option(
    "--alphabet",
    shell_complete=complete_from(alphabet_names),
    help="A built-in alphabet, with +emoji after its name to include emoji, or a text file with the characters  "
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
    help="Count Yeet and YEET as yeet, or words as they are typed  [default: the profile's, fold]",
)
PUNCTUATION = click.option(
    "--punctuation",
    type=click.Choice(["strip", "keep"]),
    help="Remove signs around a word and read ’ as ', or count words as they are typed  "
    "[default: the profile's, strip]",
)
WORDS_PER_USER = click.option(
    "--words-per-user", type=int, help="The most words in one report (B)  [default: the profile's, 60]"
)
DEPTH = click.option("--depth", type=int, help="The longest word that counts (D)  [default: the profile's, 15]")
PASSES = click.option(
    "--passes", type=int, help="The number of passes, each over all lengths of words  [default: the profile's, 1]"
)
LAYERS = click.option(
    "--layers",
    type=int,
    help="The number of layers, of equal size, that ask about the likeliest strings. More layers find longer words "
    "of unusual spelling, and somewhat fewer other words  [default: the profile's, 4]",
)
ALLOCATION = click.option(
    "--allocation",
    type=click.Choice(["drawn", "filled"]),
    help="How users are assigned to layers: by random slots that no reader learns, which is more private, or in the "
    "order in which they come, until a layer has enough.",
)
RANDOMIZER = click.option(
    "--randomizer",
    shell_complete=complete_from(randomizer_names),
    help="How a device randomizes its words: unary or subset-selection  [default: the profile's, unary]",
)
RULE = click.option(
    "--rule",
    shell_complete=complete_from(rule_names),
    help="Which prefixes are kept: top or significant  [default: the profile's, significant]",
)
K_ANONYMITY = click.option(
    "--k-anonymity",
    type=int,
    help="k: a word that fewer than k users report to the layers that judge it is published with a probability of at "
    "most 1-α, over the whole release  [default: the profile's, 10]",
)
ALPHA = click.option(
    "--alpha", type=float, help="The probability with which k-anonymity holds (α)  [default: the profile's, 0.95]"
)
UNIQUE_CHANCE = click.option(
    "--unique-chance",
    type=float,
    help="The largest probability with which a word that only one user reports is shown; 0 promises nothing  "
    "[default: the profile's, 1e-06]",
)
HOSTILE_DEVICES = click.option(
    "--hostile-devices",
    type=int,
    help="The most hostile devices in a layer with which --unique-chance holds  [default: the profile's, 1]",
)
DELTA = click.option(
    "--delta", type=float, help="The δ of the central privacy statement  [default: by the level of privacy]"
)
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
COLLUDERS = click.option(
    "--colluders",
    type=float,
    help="The assumed share of reports that add no privacy  [default: the profile's, 0]",
)


def choose_alphabet(wanted: str | None, of_profile: str, language: str) -> "Alphabet":
    """The alphabet of that name or from that text file; by default the one that suits the profile and the language."""
    from neologue.language import builtin
    from neologue.language.alphabet import NAMED, Alphabet

    if wanted is None:
        return builtin.alphabet_of(of_profile, language)
    if wanted in NAMED or not Path(wanted).exists():
        return Alphabet.named(wanted)
    return Alphabet.from_file(Path(wanted))
