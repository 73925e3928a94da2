"""A campaign: parameters, a population, and the words that need not be found."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Unpack

from neologue.campaign.allocation import check_planned_promise
from neologue.campaign.changes import Changes
from neologue.campaign.keeping_level import keep_level, user_cost
from neologue.campaign.parameters import Parameters
from neologue.campaign.privacy_level import LEVELS, PrivacyLevel, check_undecided, default_level
from neologue.campaign.profiles import profile as profile_named
from neologue.campaign.promise import fewest_reports
from neologue.campaign.rule_names import judges_layers
from neologue.errors import LanguageError, ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.likely_roots import MOST_OPENINGS
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import WordForm, without_capitals
from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.levels import LEAST_ALPHA
from neologue.protocol.limits import check_whole
from neologue.protocol.report import HEADER_BYTES
from neologue.randomizers.registry import randomizer

MOST_USERS = 1_000_000_000
MOST_SYMBOLS = 4096
"""For more symbols the tables of a device have room for hardly any context."""
CANDIDATES_PER_USER = 160
"""With so many likely strings for each user of a campaign nothing is missed that they could show."""


@dataclass(frozen=True)
class Campaign:
    """What an operator asks of a population of `users` devices."""

    users: int
    parameters: Parameters
    alphabet: Alphabet
    """Without capitals where case is folded."""
    known: Vocabulary = field(default_factory=Vocabulary.empty)
    """In the form that words are counted in."""
    targets: frozenset[str] | None = None
    """If given, devices contribute these words alone, known or not."""
    profile: str = "own"
    groups: GroupRules | None = None
    """How votes are masked, if they are: one hostile device of a group can then do more."""

    def __post_init__(self) -> None:
        check_whole("users", self.users, 1, MOST_USERS, parameter="users")
        if self.parameters.epsilon is None:
            raise ParameterError(
                "a campaign needs a local epsilon: give one, or make it with Campaign.from_profile, which finds the "
                "largest one that keeps a level of privacy",
                parameter="epsilon",
            )
        if self.parameters.case == "fold":
            object.__setattr__(self, "alphabet", without_capitals(self.alphabet))
        object.__setattr__(self, "known", self.known.in_form(self.form))
        if self.targets is not None:
            object.__setattr__(self, "targets", self._usable(self.targets))
        self._check_levels()
        check_planned_promise(self.parameters, self.users)
        asked, what = (self.alphabet.size - 1) * self.alphabet.size, "pairs"
        if self.parameters.layers is not None:
            asked, what = self.alphabet.size, "beginnings of words"
            if self.alphabet.size > MOST_SYMBOLS:
                raise ParameterError(
                    f"an alphabet of {self.alphabet.size:,} symbols is larger than the {MOST_SYMBOLS:,} whose spelling "
                    "a device can keep: give a smaller alphabet",
                    parameter="alphabet",
                )
        if asked > self.largest_layer:
            raise ParameterError(
                f"an alphabet of {self.alphabet.size} symbols has {asked:,} {what}, more than the "
                f"{self.largest_layer:,} candidates that fit into a report of {self.parameters.report_bytes:,} bytes "
                f"at ε = {self.epsilon:g} and {self.parameters.words_per_user:,} words per user: give a smaller "
                "alphabet, a larger ε or fewer words per user",
                parameter="alphabet",
            )
        widest = self.parameters.frontier * self.alphabet.size
        keeps_most_voted = self.parameters.layers is None and not judges_layers(self.parameters.rule)
        if keeps_most_voted and widest > self.largest_layer:
            raise ParameterError(
                f"a frontier of {self.parameters.frontier:,} prefixes and {self.alphabet.size} symbols make {widest:,} "
                f"candidates, more than the {self.largest_layer:,} allowed: allow more, or keep fewer prefixes",
                parameter="frontier",
            )
        layers = self.parameters.passes * (self.parameters.layers or self.parameters.depth)
        needed = self.parameters.smallest_layer * layers
        if self.users < needed:
            fewer = "a smaller depth" if self.parameters.layers is None else "fewer layers"
            raise ParameterError(
                f"{self.users} users are too few: {layers} layers of {self.parameters.smallest_layer} need {needed:,}; "
                f"take more users, fewer passes or {fewer}",
                parameter="users",
            )

    @classmethod
    def from_profile(
        cls,
        name: str = "neologue",
        *,
        users: int,
        alphabet: Alphabet | None = None,
        known: Vocabulary | None = None,
        targets: Iterable[str] | None = None,
        privacy: str | None = None,
        **changes: Unpack[Changes],
    ) -> "Campaign":
        """A campaign with the parameters of a profile, some of them changed.

        `privacy` is the level of privacy, which decides the local ε if none is given. Without either, a profile that
        has no ε keeps the level `standard`.

        >>> campaign = Campaign.from_profile(users=200_000, epsilon=6.0, k_anonymity=20)
        >>> campaign.epsilon, campaign.parameters.k_anonymity, campaign.parameters.delta
        (6.0, 20, 1e-10)
        """
        base = profile_named(name)
        if "rule" in changes and "layers" not in changes and not judges_layers(changes["rule"]):
            changes["layers"] = None
        asked = replace(base.parameters, **changes)
        level = _level_of(privacy, asked, changes)
        if level and asked.epsilon is None:
            asked = replace(asked, epsilon=level.local_epsilon, promised_epsilon=None)
        campaign = cls(
            users=users,
            parameters=asked,
            alphabet=alphabet or Alphabet.named(base.alphabet),
            known=Vocabulary.empty() if known is None else known,
            targets=None if targets is None else frozenset(targets),
            profile=name,
        )
        return campaign if level is None else keep_level(campaign, level, user_cost, changes.get("epsilon"))

    def __repr__(self) -> str:
        return f"<Campaign of {self.users:,} users, local ε = {self.epsilon:g}, profile {self.profile}>"

    @cached_property
    def form(self) -> WordForm:
        """What counts as one word."""
        return WordForm.chosen(self.parameters.case, self.parameters.punctuation, self.alphabet)

    @cached_property
    def largest_layer(self) -> int:
        """The most candidates that a layer can have; few users can't tell many likely strings apart."""
        most = largest_layer(self.parameters)
        return most if self.parameters.layers is None else min(most, CANDIDATES_PER_USER * self.users)

    @property
    def widest_frontier(self) -> int:
        """The most prefixes that a layer of a trie keeps: the next one has room for all extensions by one symbol."""
        return min(self.parameters.frontier, self.largest_layer // self.alphabet.size)

    @property
    def most_roots(self) -> int:
        """The most prefixes that a layer of likely strings keeps: a document has room for those of all rounds."""
        rounds = max(1, (self.parameters.layers or 1) - 1)
        return min(self.parameters.frontier, (MOST_OPENINGS // self.alphabet.size - 1) // rounds)

    @property
    def epsilon(self) -> float:
        """The local ε of one word."""
        assert self.parameters.epsilon is not None
        return self.parameters.epsilon

    @cached_property
    def anonymity(self) -> AnonymityPromise:
        """What is promised of strings that few report."""
        return replace(self.parameters.anonymity, groups=self.groups)

    def fewest_reports(self, candidates: int) -> int:
        """The fewest reports from which a layer on so many candidates is decided."""
        return fewest_reports(self.parameters, candidates)

    def _check_levels(self) -> None:
        """Refuse levels at which the privacy statement would promise nothing."""
        parameters = self.parameters
        if parameters.delta * self.users > 1:
            raise ParameterError(
                f"a delta of {parameters.delta:g} is above 1 in {self.users:,} users, so that everything about some of "
                "them could be published: 1e-10 is the paper's",
                parameter="delta",
            )
        if parameters.k_anonymity and parameters.alpha < LEAST_ALPHA:
            raise ParameterError(
                f"an alpha of {parameters.alpha:g} is below {LEAST_ALPHA}, so that what fewer than "
                f"{parameters.k_anonymity:,} hold would more likely be published than not: 0.95 is the paper's",
                parameter="alpha",
            )

    def _usable(self, words: Iterable[str]) -> frozenset[str]:
        """The words that devices could contribute at all."""
        depth = self.parameters.depth
        usable = frozenset(word for word in map(self.form.of, words) if self.alphabet.spells(word, depth))
        if not usable:
            raise LanguageError(
                f"no target word has 1 to {depth} characters of the alphabet {self.alphabet.name}; "
                "give one word a line, or another alphabet",
                parameter="targets",
            )
        return usable


def _level_of(privacy: str | None, parameters: Parameters, changes: Changes) -> PrivacyLevel | None:
    """The level of privacy that a campaign is held to: the one that is asked for, or the default if no ε is known."""
    delta, promised = changes.get("delta"), changes.get("promised_epsilon")
    if privacy is None:
        return default_level(parameters.epsilon, delta=delta, promised_epsilon=promised)
    check_undecided(LEVELS[privacy], delta=delta, promised_epsilon=promised)
    return LEVELS[privacy]


def largest_layer(parameters: Parameters) -> int:
    """The most candidates that a layer can have, by the limits on candidates and on the length of a report."""
    epsilon = parameters.epsilon
    assert epsilon is not None

    def fits(candidates: int) -> bool:
        asked = randomizer(parameters.randomizer, candidates, epsilon, parameters.words_per_user)
        return HEADER_BYTES + asked.payload_bytes <= parameters.report_bytes

    sizes = range(1, parameters.candidates + 1)
    return bisect_left(sizes, True, key=lambda size: not fits(size))
