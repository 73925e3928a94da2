"""Planning a campaign before anyone is asked: parameters within limits on ε, and what they will find and cost."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from neologue.campaign.campaign import MOST_USERS, Campaign
from neologue.campaign.keeping_level import keep_level
from neologue.campaign.largest_epsilon import largest_epsilon
from neologue.campaign.parameters import Parameters
from neologue.campaign.privacy_level import LEVELS, PrivacyLevel
from neologue.discovery.selection import RULES
from neologue.errors import ParameterError
from neologue.masking.rules import GroupRules
from neologue.planning.expectation import Forecast
from neologue.planning.forecast import forecast
from neologue.planning.suitable_words import suitable_words
from neologue.populations.lexicon import Lexicon
from neologue.privacy.collection import Batch
from neologue.privacy.cost import candidates_matter, density
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts, privacy_statement
from neologue.randomizers.registry import randomizer
from neologue.release.facts import facts_of
from neologue.release.foreseen import foreseen_allocation, foreseen_facts
from neologue.release.foreseen_cost import holding_at_most, reader_epsilon, with_dropouts

UNITS = ("item", "user")
LARGEST_CHOSEN_EPSILON = 10.0
SMALLEST_CHOSEN_EPSILON = 1.0
TRADEOFF = (-3.0, -2.0, -1.0, 0.0, 1.0)
"""Offsets from the planned local ε at which the trade-off is shown."""
FIRST_USERS = 1_000_000
"""The start of the search for the fewest users."""
GROWTH = 1.4
"""The ratio between populations that are tried, where so few users find nothing."""
CLOSE = 1.02
"""The ratio between the smallest population found and one that breaks the limits, at most."""

OnProgress = Callable[[str], None]


@dataclass(frozen=True)
class EpsilonLimits:
    """The limits of a plan; None is no limit. The planned campaign promises the central one."""

    local_epsilon: float | None = None
    central_epsilon: float | None = None
    unit: str = "item"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ParameterError(f"the unit must be one of {', '.join(UNITS)}, not {self.unit!r}")
        if self.central_epsilon is not None and not 0 < self.central_epsilon <= 1000:
            raise ParameterError(f"the central epsilon must be above 0 and at most 1000, not {self.central_epsilon}")


@dataclass(frozen=True)
class Point:
    """One local ε, its cost and what it finds."""

    local_epsilon: float
    item_epsilon: float
    user_epsilon: float
    coverage: float
    words: float
    rarest_share: float | None


@dataclass(frozen=True)
class LevelOutlook:
    """What a level of privacy would find."""

    level: PrivacyLevel
    point: Point | None
    """None if no local ε keeps it among so few users."""


@dataclass(frozen=True)
class Plan:
    """A campaign within the limits, and its forecast."""

    campaign: Campaign
    limits: EpsilonLimits
    expected: Forecast
    tradeoff: tuple[Point, ...]
    facts: PrivacyFacts
    """The facts of the run if it goes as foreseen, and collects all that it may."""
    level: PrivacyLevel | None = None
    """The level that it keeps, if one was asked for …"""
    levels: tuple[LevelOutlook, ...] = ()
    """… and all levels beside it."""
    fewest_users: int | None = None
    """About how many users it takes to find anything at that level, if these are too few."""

    def __repr__(self) -> str:
        return (
            f"<Plan for {self.campaign.users:,} users, local ε = {self.campaign.epsilon:g}: {self.expected.words:,.0f} "
            f"words, coverage {self.expected.coverage:.1%}>"
        )

    @property
    def masked(self) -> GroupRules | None:
        """How votes are to be masked, if they are."""
        return self.facts.exposure.masked

    @property
    def statement(self) -> dict[str, object]:
        """The privacy statement of the run if it goes as foreseen."""
        return privacy_statement(self.facts)

    @property
    def user_epsilon(self) -> float:
        """The central ε of a whole user if the run goes as foreseen."""
        return reader_epsilon(self.facts, "user")

    def user_epsilon_of(self, words: int) -> float | None:
        """The central ε of a user who holds at most so many words; None where that changes more than what is held."""
        if candidates_matter(self.facts.mechanism):
            return None
        return reader_epsilon(holding_at_most(self.facts, words), "user")

    @property
    def full_layer(self) -> float | None:
        """The item-level ε of a layer with the most candidates that the paper allows; None for other methods."""
        parameters = self.campaign.parameters
        if not RULES[parameters.rule].keeps_most_voted or not candidates_matter(parameters.randomizer):
            return None
        widest = self.campaign.widest_frontier * self.campaign.alphabet.size
        reports = min(layer.batch.reports for layer in self.facts.layers)
        return reader_epsilon(replace(self.facts, layers=(LayerShown(Batch(reports, widest), 0, 0),)), "item")


Campaigns = Callable[[int, float | None], Campaign]
"""Makes a campaign for a number of users with a local ε; None means the profile's."""


def plan(
    campaigns: Campaigns,
    lexicon: Lexicon,
    users: int | None,
    limits: EpsilonLimits,
    exposure: Exposure | None = None,
    *,
    level: PrivacyLevel | None = None,
    chooses_words: bool = False,
    on_progress: OnProgress = lambda _: None,
    tradeoff: Sequence[float] = TRADEOFF,
) -> Plan:
    """The campaign with the largest local ε within the limits; without `users`, for the fewest that allow it.

    A level gives the limits, and other levels are then shown beside it in the place of a trade-off. A plan that
    `chooses_words` asks for as many words of a user as suits a level, and not always for the profile's.
    """
    if level:
        limits, tradeoff = limits_of(level), ()
    foresight = _Foresight(lexicon, exposure or Exposure())
    if users is None:
        users = _fewest_users(campaigns, foresight, limits, on_progress)
    on_progress(f"Foreseeing a campaign among {users:,} users …")
    if level:
        campaign = _at_level(campaigns, foresight, users, level)
        suitable = suitable_words(lexicon, campaign.parameters.words_per_user) if chooses_words else None
        if suitable and _may_ask_for(suitable, campaign, level):
            others = _with_words(campaigns, suitable)
            other = _at_level(others, foresight, users, level)
            if foresight.expected(other).coverage >= foresight.expected(campaign).coverage:
                campaigns, campaign = others, other
    else:
        campaign = _largest_epsilon(campaigns, foresight, users, limits)
    points = []
    for epsilon in _around(campaign.epsilon, tradeoff):
        on_progress(f"Foreseeing it with a local ε of {epsilon:g} …")
        # With a smaller ε reports are longer, and a large alphabet may not fit any more.
        try:
            other = campaigns(users, epsilon)
        except ParameterError:
            continue
        points.append(_point(other, foresight))
    found = Plan(campaign, limits, foresight.expected(campaign), tuple(points), foresight.facts(campaign))
    if level is None:
        return found
    on_progress("Foreseeing it at all levels of privacy …")
    outlooks = tuple(
        LevelOutlook(level, _point(campaign, foresight))
        if each == level
        else _outlook(campaigns, foresight, users, each)
        for each in LEVELS.values()
    )
    fewest = None if found.expected.words >= 1 else _fewest_that_find(campaigns, foresight, users, level)
    return replace(found, level=level, levels=outlooks, fewest_users=fewest)


class _Foresight:
    """Forecasts of campaigns, each made once, and the facts that their cost follows from."""

    def __init__(self, lexicon: Lexicon, exposure: Exposure) -> None:
        self._lexicon, self._exposure = lexicon, exposure
        self._made: dict[tuple[int, Parameters], Forecast] = {}

    def expected(self, campaign: Campaign) -> Forecast:
        """What a campaign finds, whatever it promises."""
        which = campaign.users, replace(campaign.parameters, promised_epsilon=None, promised_unit="item")
        if which not in self._made:
            self._made[which] = forecast(campaign, self._lexicon)
        return self._made[which]

    def facts(self, campaign: Campaign) -> PrivacyFacts:
        """What its layers collect: all that they may where that is known beforehand, as no votes change its cost."""
        parameters = campaign.parameters
        if parameters.layers is not None and not candidates_matter(parameters.randomizer):
            return foreseen_facts(campaign, None, self._exposure)
        shown = tuple(
            LayerShown(Batch(parameters.counted_reports(layer.layer_size), layer.candidates), 0, 0)
            for layer in self.expected(campaign).layers
        )
        allocation = foreseen_allocation(campaign, None, self._exposure)
        return facts_of(parameters, shown, exposure=self._exposure, allocation=allocation)


def _largest_epsilon(campaigns: Campaigns, foresight: _Foresight, users: int, limits: EpsilonLimits) -> Campaign:
    """The campaign with the largest local ε within the limits."""
    if limits.central_epsilon is None:
        return campaigns(users, limits.local_epsilon)
    best = largest_epsilon(
        lambda epsilon: campaigns(users, epsilon),
        lambda campaign: reader_epsilon(with_dropouts(foresight.facts(campaign)), limits.unit),
        limits.central_epsilon,
        LARGEST_CHOSEN_EPSILON if limits.local_epsilon is None else limits.local_epsilon,
    )
    if best is None:
        raise ParameterError(
            f"no local epsilon keeps a central epsilon of {limits.central_epsilon:g} for one {limits.unit} among "
            f"{users:,} users; take more users, fewer words per user or a larger central epsilon"
        )
    return _promising(best, limits)


def _fewest_users(campaigns: Campaigns, foresight: _Foresight, limits: EpsilonLimits, on_progress: OnProgress) -> int:
    """The smallest population, up to 2 %, for which the local ε is within the central limit."""
    if limits.central_epsilon is None or limits.local_epsilon is None:
        raise ParameterError("without users a plan needs a local and a central epsilon; give two of the three")
    parameters = campaigns(FIRST_USERS, limits.local_epsilon).parameters
    fewest = parameters.smallest_layer * parameters.passes * (parameters.layers or parameters.depth)
    breaks, keeps, users = fewest - 1, MOST_USERS + 1, FIRST_USERS
    while breaks < users < keeps and keeps > CLOSE * breaks:
        on_progress(f"Foreseeing a campaign among {users:,} users …")
        campaign = campaigns(users, limits.local_epsilon)
        excess = reader_epsilon(with_dropouts(foresight.facts(campaign)), limits.unit) / limits.central_epsilon
        breaks, keeps = (breaks, users) if excess <= 1 else (users, keeps)
        # Four times as many users halve the central ε; go a little beyond, to bracket the limit.
        users = _round_up(users * excess**2 * CLOSE ** (-0.25 if excess <= 1 else 0.25))
        users = min(max(users, fewest), MOST_USERS)
        if not breaks < users < keeps:
            users = _round_up(math.sqrt(breaks * keeps))
    if keeps > MOST_USERS:
        raise ParameterError(
            f"not even {MOST_USERS:,} users keep a central epsilon of {limits.central_epsilon:g} for one "
            f"{limits.unit} with a local epsilon of {limits.local_epsilon:g}; take a smaller local epsilon, fewer "
            "words per user or a larger central epsilon"
        )
    return keeps


def _promising(campaign: Campaign, limits: EpsilonLimits) -> Campaign:
    """The campaign with the promise to keep the central limit; its layers are large enough not to change by that."""
    promised = replace(campaign.parameters, promised_epsilon=limits.central_epsilon, promised_unit=limits.unit)
    return replace(campaign, parameters=promised)


def _costliest(campaign: Campaign, facts: PrivacyFacts) -> PrivacyFacts:
    """The facts with the layers alone among which the costliest one is, up to rounding.

    Fewer reports cost more. Subset Selection also costs more if its subsets are a larger share of all candidates; up to
    rounding, its blanket depends on nothing else.
    """
    parameters = campaign.parameters

    def density_of(batch: Batch) -> float:
        asked = randomizer(parameters.randomizer, batch.candidates, campaign.epsilon, parameters.words_per_user)
        return density(asked)

    chosen: list[LayerShown] = []
    densest = 0.0
    for batch in sorted({layer.batch for layer in facts.layers}, key=lambda batch: (batch.reports, -density_of(batch))):
        if density_of(batch) > densest:
            chosen.append(LayerShown(batch, 0, 0))
            densest = density_of(batch)
    return replace(facts, layers=tuple(chosen))


def limits_of(level: PrivacyLevel) -> EpsilonLimits:
    """A level as limits of a plan."""
    return EpsilonLimits(level.local_epsilon, level.user_epsilon, "user")


def _at_level(campaigns: Campaigns, foresight: _Foresight, users: int, level: PrivacyLevel) -> Campaign:
    """The campaign that keeps a level of privacy, as a discovery and a live campaign choose it."""

    def cost(campaign: Campaign) -> float:
        return reader_epsilon(with_dropouts(foresight.facts(campaign)), "user")

    return keep_level(campaigns(users, level.local_epsilon), level, cost)


def _may_ask_for(words: int, campaign: Campaign, level: PrivacyLevel) -> bool:
    """Whether another B than a campaign's lets more be found at a level.

    With the largest local ε of the level, more words cost nothing that was not to be had anyhow.
    """
    parameters = campaign.parameters
    return (
        words != parameters.words_per_user
        and level.user_epsilon is not None
        and not candidates_matter(parameters.randomizer)
        and not (words < parameters.words_per_user and campaign.epsilon == level.local_epsilon)
    )


def _with_words(campaigns: Campaigns, words: int) -> Campaigns:
    """The same campaigns with another B."""

    def campaign(users: int, epsilon: float | None) -> Campaign:
        made = campaigns(users, epsilon)
        return replace(made, parameters=replace(made.parameters, words_per_user=words))

    return campaign


def _outlook(campaigns: Campaigns, foresight: _Foresight, users: int, level: PrivacyLevel) -> LevelOutlook:
    """What so many users would find at a level."""
    try:
        campaign = _at_level(campaigns, foresight, users, level)
    except ParameterError:
        return LevelOutlook(level, None)
    return LevelOutlook(level, _point(campaign, foresight))


def _fewest_that_find(campaigns: Campaigns, foresight: _Foresight, users: int, level: PrivacyLevel) -> int | None:
    """About how many users it takes to find a word at a level."""
    more = float(users)
    while more * GROWTH <= MOST_USERS:
        more *= GROWTH
        point = _outlook(campaigns, foresight, _round_up(more), level).point
        if point and point.words >= 1:
            return _round_up(more)
    return None


def _point(campaign: Campaign, foresight: _Foresight) -> Point:
    costliest, expected = _costliest(campaign, foresight.facts(campaign)), foresight.expected(campaign)
    item, user = (reader_epsilon(costliest, unit) for unit in UNITS)
    return Point(campaign.epsilon, item, user, expected.coverage, expected.words, expected.rarest_share)


def _around(epsilon: float, tradeoff: Sequence[float]) -> Iterator[float]:
    """The local ε's of the trade-off: the planned one and its neighbours."""
    for step in tradeoff:
        if step == 0:
            yield epsilon
        elif SMALLEST_CHOSEN_EPSILON <= epsilon + step <= max(epsilon, LARGEST_CHOSEN_EPSILON):
            yield round(epsilon + step, 3)


def _round_up(users: float) -> int:
    """Round up to three significant digits."""
    unit: int = 10 ** max(0, len(str(int(users))) - 3)
    return math.ceil(users / unit) * unit
