"""The numbers and choices of a campaign, each checked once, here."""

import math
from collections.abc import Collection
from dataclasses import dataclass, fields

from neologue.campaign.rule_names import JUDGES_LAYERS, judges_layers
from neologue.errors import ParameterError
from neologue.language.word_form import CASES, PUNCTUATIONS
from neologue.privacy.allocation.planned_layers import planned_reports
from neologue.privacy.anonymity.repeated_looks import share_chance
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.cost import hides_layers
from neologue.privacy.levels import MOST_IN_A_PROMISE, check_alpha, check_delta, check_unique_chance
from neologue.protocol.limits import DEEPEST, LARGEST_LAYER, SAMPLERS, check_whole
from neologue.randomizers.registry import RANDOMIZERS
from neologue.randomizers.thresholds import check_epsilon

MOST_LAYERS = 30
ALLOCATIONS = ("filled", "drawn")
MOST_PROMISED = 1000.0
"""The largest central ε that can be promised."""


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """What an operator may choose; symbols of the paper in brackets."""

    randomizer: str
    epsilon: float | None
    """Local ε of one word; None lets the planner choose it for the population."""
    words_per_user: int
    """The most words that one report speaks of (B)."""
    days: int
    """How long a device remembers what was typed (T)."""
    depth: int
    """The longest word that counts, in characters (D)."""
    passes: int
    """How many tries are grown, each with users of its own."""
    sampler: str
    """Which words go into a report when there are too many: the most typed (greedy) or any (random)."""
    rule: str
    """Which prefixes are kept: the η_max with the most votes (top), or those that no noise explains (significant)."""
    frontier: int
    """The most prefixes kept in a layer (η_max)."""
    candidates: int
    """The most candidates voted on in a layer; bounds the work and the size of a report."""
    report_bytes: int
    """The longest report that a device may be asked for."""
    smallest_layer: int
    """The fewest reports from which a layer is decided; with fewer, nothing of it is released."""
    false_prefixes: float
    """The expected share of noise among kept prefixes, for the rule `significant`."""
    false_words: float
    """The expected share of noise among released words, for the rule `significant`."""

    k_anonymity: int
    """Prefixes and words that fewer than k users report to the layers that judge them are kept with a chance of at most
    1-α, over the whole release (k)."""
    alpha: float
    """How certain that is (α)."""
    unique_chance: float
    """A word, or a beginning of it, that one user alone reports is shown with at most this chance, over the whole
    release; 0 promises nothing."""
    hostile_devices: int
    """How many devices of any one layer may vote as they like, and it still holds."""
    delta: float
    """The δ of the central privacy statement."""
    colluders: float
    """The assumed share of reports that hide nobody, because whoever looks at the sums made them up or knows them."""
    promised_epsilon: float | None = None
    """The central ε that no release costs more than: a layer with too few reports for it is not decided. None promises
    nothing."""
    later_words: tuple[int, ...] = ()
    """The most words that a report to the second layer of a pass speaks of, to the third, and so on; the last number
    holds for all that follow. Without any, all layers ask for as many. The strictest level of privacy sets them, as
    fewer words leave room for a larger ε: most words of a user are found, or not asked about, by then."""
    layers: int | None = None
    """How many layers a pass has, which ask about all strings that are likely enough and judge words by all their
    votes; None grows a trie by one symbol a layer."""
    allocation: str = "filled"
    """How users come into the layers of a pass: until one has enough (filled), or each by a slot that no reader learns,
    where layers count planned numbers of reports, some of them made up (drawn, if there are `layers` and something is
    proved of that for the randomizer)."""
    promised_unit: str = "item"
    """What that ε protects: one word (item), or all words of a user (user)."""
    case: str = "keep"
    """Whether Yeet and YEET are counted as yeet (fold), or words differ by case (keep)."""
    punctuation: str = "keep"
    """Whether signs before and behind a word are taken off and ’ is ' (strip), or words are as typed (keep)."""

    def __post_init__(self) -> None:
        _choice("randomizer", self.randomizer, RANDOMIZERS)
        _choice("sampler", self.sampler, SAMPLERS)
        _choice("rule", self.rule, JUDGES_LAYERS)
        _choice("allocation", self.allocation, ALLOCATIONS)
        _choice("case", self.case, CASES)
        _choice("punctuation", self.punctuation, PUNCTUATIONS)
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        check_whole("words per user", self.words_per_user, 1, 10_000, parameter="words_per_user")
        check_whole("days", self.days, 1, 3650, parameter="days")
        check_whole("depth", self.depth, 2, DEEPEST, parameter="depth")
        check_whole("passes", self.passes, 1, 100, parameter="passes")
        check_whole("frontier", self.frontier, 1, LARGEST_LAYER, parameter="frontier")
        check_whole("candidates", self.candidates, 1, LARGEST_LAYER, parameter="candidates")
        check_whole("report bytes", self.report_bytes, 100, 1 << 30, parameter="report_bytes")
        check_whole("smallest layer", self.smallest_layer, 1, 1 << 30, parameter="smallest_layer")
        _share("false prefixes", self.false_prefixes, parameter="false_prefixes")
        _share("false words", self.false_words, parameter="false_words")
        if self.layers is not None:
            check_whole("layers", self.layers, 1, MOST_LAYERS, parameter="layers")
            if not judges_layers(self.rule):
                able = " and ".join(filter(judges_layers, JUDGES_LAYERS))
                raise ParameterError(
                    f"only the rule {able} judges words by the votes of several layers, not {self.rule!r}: leave out "
                    "layers, or choose that rule",
                    parameter="layers",
                )
        check_whole("k", self.k_anonymity, 0, MOST_IN_A_PROMISE, parameter="k_anonymity")
        check_alpha(self.alpha)
        check_unique_chance(self.unique_chance)
        check_whole("hostile devices", self.hostile_devices, 0, MOST_IN_A_PROMISE, parameter="hostile_devices")
        check_delta(self.delta)
        if not 0 <= self.colluders < 1:
            raise ParameterError(
                f"colluders must be a share from 0 to below 1, not {self.colluders}", parameter="colluders"
            )
        self._check_later_words()
        _choice("promised_unit", self.promised_unit, ("item", "user"))
        promised = self.promised_epsilon
        if promised is not None and not 0 < promised <= MOST_PROMISED:
            raise ParameterError(
                f"the promised central epsilon must be above 0 and at most {MOST_PROMISED:g}, not {promised}",
                parameter="promised_epsilon",
            )

    @property
    def drawn(self) -> bool:
        """Whether users come into layers by slots.

        A trie has as many layers as votes make it. Nor are slots drawn where nothing is proved of them: made-up reports
        would cost precision for nothing.
        """
        return self.allocation == "drawn" and self.layers is not None and hides_layers(self.randomizer)

    def words_in(self, layer: int) -> int:
        """The most words that a report to a layer of a pass speaks of."""
        return (self.words_per_user, *self.later_words)[min(layer - 1, len(self.later_words))]

    def counted_reports(self, asked: int) -> int:
        """How many reports a layer counts that asks so many users, if all come: more than those if slots are drawn."""
        return planned_reports(asked, self.delta) if self.drawn else asked

    def false_words_in(self, layer: int) -> float:
        """The expected share of noise among the words that one layer releases, so that it holds for all together."""
        return share_chance(self.false_words, self.layers)[layer - 1] if self.layers else self.false_words

    @property
    def anonymity(self) -> AnonymityPromise:
        """What is promised of strings that few report."""
        return AnonymityPromise(
            self.k_anonymity, self.alpha, self.unique_chance, self.hostile_devices, passes=self.passes
        )

    def _check_later_words(self) -> None:
        for words in self.later_words:
            check_whole("later words", words, 1, self.words_per_user, parameter="later_words")
        if self.later_words and not self.drawn:
            raise ParameterError(
                "later layers ask for fewer words only where slots are drawn, because elsewhere the first layer alone "
                "decides what a campaign costs: leave out later_words, or draw slots",
                parameter="later_words",
            )

    def as_dict(self) -> dict[str, object]:
        """The parameters as they stand in a release."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "later_words": list(self.later_words)
        }


def _choice(what: str, value: str, allowed: Collection[str]) -> None:
    if value not in allowed:
        raise ParameterError(f"{what} must be one of {', '.join(allowed)}, not {value!r}", parameter=what)


def _share(what: str, value: float, *, parameter: str) -> None:
    if not (math.isfinite(value) and 0 < value < 1):
        raise ParameterError(f"{what} must be a share between 0 and 1, not {value}", parameter=parameter)
