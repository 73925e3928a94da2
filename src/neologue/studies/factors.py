"""The parameters of the profile `neologue`, each with its alternatives."""

from collections.abc import Iterable
from dataclasses import dataclass

from neologue.errors import ParameterError
from neologue.language import builtin

BASE_LANGUAGE = "en"
LANGUAGES = ("de", "es", "fr", "id", "hi", "ru", "sv")
SIZES = (10_000, 100_000, 300_000, 3_000_000, 15_000_000)

Change = tuple[str, int | float | str | bool | None]


@dataclass(frozen=True)
class Variation:
    """One variation: the changes to the profile, and the users if they are not those of the study."""

    name: str
    changes: tuple[Change, ...] = ()
    users: int | None = None
    language: str = BASE_LANGUAGE
    alphabet: str | None = None
    """The name of an alphabet; None means the one that suits the language."""


AS_IT_IS = "as it is"


@dataclass(frozen=True)
class Factor:
    """A parameter, its reference variation, and the others."""

    name: str
    about: str
    reference: Variation
    others: tuple[Variation, ...]

    @property
    def key(self) -> str:
        """The name on the command line."""
        return self.name.partition(" (")[0].replace("ε", "epsilon").replace(" ", "-")

    @property
    def variations(self) -> tuple[Variation, ...]:
        """All variations, the reference first."""
        return (self.reference, *self.others)


def factors(languages: Iterable[str] = LANGUAGES, sizes: Iterable[int] = SIZES) -> tuple[Factor, ...]:
    """All factors, with these languages and numbers of users to try."""
    as_it_is = Variation(AS_IT_IS)
    return (
        Factor(
            "sampler",
            "which words go into a report if a user has too many: any of them, or those typed most (greedy)",
            as_it_is,
            (_variation("greedy", sampler="greedy"),),
        ),
        Factor(
            "passes",
            "how often a campaign begins anew, each time with a part of the users",
            as_it_is,
            tuple(_variation(f"{passes} passes", passes=passes) for passes in (2, 3)),
        ),
        Factor(
            "layers",
            "how many layers ask about likely strings, or a trie that grows by one symbol a layer",
            as_it_is,
            (
                _variation("a trie", layers=None),
                *(_variation(f"{layers} layers", layers=layers) for layers in (2, 3, 6)),
            ),
        ),
        Factor(
            "words per user (B)",
            "the most words that one report speaks of; ε of a word stays the same, that of a user grows with B",
            as_it_is,
            tuple(_variation(f"B = {words}", words_per_user=words) for words in (20, 5, 120)),
        ),
        Factor(
            "local ε",
            "how much a report may tell about one word",
            as_it_is,
            tuple(_variation(f"ε = {epsilon:g}", epsilon=epsilon) for epsilon in (8.0, 6.0, 4.0)),
        ),
        Factor(
            "frontier",
            "the most prefixes that go on to the next layer (η_max)",
            as_it_is,
            tuple(_variation(f"{kept:,} prefixes", frontier=kept) for kept in (1_000, 10_000)),
        ),
        Factor(
            "alphabet",
            "the characters that words may have: fewer make smaller layers, and words they can't spell do not count",
            as_it_is,
            tuple(Variation(name, alphabet=name) for name in ("en", "paper")),
        ),
        Factor(
            "threshold",
            "how many votes keep a prefix or a word",
            as_it_is,
            (
                _variation("no promise of unique words", unique_chance=0.0),
                _variation("no promise of what few report", k_anonymity=0, unique_chance=0.0),
                _variation(
                    "a trie of the most voted, no promise of what few report",
                    rule="top",
                    k_anonymity=0,
                    unique_chance=0.0,
                    frontier=10_000,
                ),
                _variation("k = 50", k_anonymity=50),
                _variation("5 % false words allowed", false_words=0.05),
                _variation("5 % false prefixes allowed", false_prefixes=0.05),
            ),
        ),
        Factor(
            "population",
            "how many users are asked; local ε is the planner's for each number",
            as_it_is,
            tuple(Variation(f"{users:,} users", users=users) for users in sizes),
        ),
        Factor(
            "language",
            "whose words are found; known are those of a dictionary, or the most frequent ones",
            Variation(BASE_LANGUAGE),
            tuple(Variation(builtin.check_language(language), language=language) for language in languages),
        ),
    )


def select_factors(names: Iterable[str], among: Iterable[Factor]) -> tuple[Factor, ...]:
    """The factors with these names on the command line; all if none is named."""
    by_key = {factor.key: factor for factor in among}
    wanted = list(names)
    for name in wanted:
        if name not in by_key:
            raise ParameterError(f"no factor is called {name!r}; choose one of {', '.join(by_key)}")
    return tuple(by_key[name] for name in wanted) or tuple(by_key.values())


def _variation(name: str, **changes: int | float | str | bool | None) -> Variation:
    return Variation(name, tuple(changes.items()))
