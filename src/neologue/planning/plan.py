"""Planning a campaign before anyone is asked: parameters within limits on ε, and what they will find and cost."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from neologue.campaign.campaign import MOST_USERS, Campaign
from neologue.campaign.local_epsilon import LARGEST_CHOSEN_EPSILON, SMALLEST_CHOSEN_EPSILON
from neologue.campaign.promise import ROOM
from neologue.discovery.selection import RULES
from neologue.discovery.selection.selected import room
from neologue.errors import ParameterError
from neologue.layout.schedule import foreseen_collection
from neologue.masking.rules import GroupRules
from neologue.planning.expectation import Forecast
from neologue.planning.forecast import forecast
from neologue.populations.lexicon import Lexicon
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import candidates_matter, central_epsilon, density
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts, privacy_statement
from neologue.randomizers.registry import randomizer
from neologue.release.facts import facts_of

UNITS = ("item", "user")
STEP = 0.05
"""A planned local ε is a multiple of this."""
TRADEOFF = (-3.0, -2.0, -1.0, 0.0, 1.0)
"""Offsets from the planned local ε at which the trade-off is shown."""
FIRST_USERS = 1_000_000
"""The start of the search for the fewest users."""
CLOSE = 1.02
"""The ratio between the smallest population found and one that breaks the limits, at most."""

CLOSE_TO_PROMISE = 1.001
"""Planned layers are larger by this factor than need be, as what a promise needs is not found to the last report."""

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
class Plan:
    """A campaign within the limits, and its forecast."""

    campaign: Campaign
    limits: EpsilonLimits
    expected: Forecast
    tradeoff: tuple[Point, ...]
    batches: tuple[Batch, ...]
    """What its layers collect."""
    exposure: Exposure = field(default_factory=Exposure)
    """The smallest sums that observers will see."""

    def __repr__(self) -> str:
        return (
            f"<Plan for {self.campaign.users:,} users, local ε = {self.campaign.epsilon:g}: {self.expected.words:,.0f} "
            f"words, coverage {self.expected.coverage:.1%}>"
        )

    @property
    def masked(self) -> GroupRules | None:
        """How votes are to be masked, if they are."""
        return self.exposure.masked

    @property
    def facts(self) -> PrivacyFacts:
        """The facts of the run if it goes as foreseen."""
        shown = tuple(LayerShown(batch, 0, 0) for batch in self.batches)
        return facts_of(self.campaign.parameters, shown, exposure=self.exposure)

    @property
    def statement(self) -> dict[str, object]:
        """The privacy statement of the run if it goes as foreseen."""
        return privacy_statement(self.facts)

    @property
    def user_epsilon(self) -> float:
        """The central ε of a whole user if the run goes as foreseen."""
        facts = self.facts
        return central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, "user")

    @property
    def full_layer(self) -> float | None:
        """The item-level ε of a layer with the most candidates that the paper allows; None for other methods."""
        parameters = self.campaign.parameters
        if not RULES[parameters.rule].keeps_most_voted or not candidates_matter(parameters.randomizer):
            return None
        widest = room(self.campaign) * self.campaign.alphabet.size
        reports = min(batch.reports for batch in self.batches)
        return _spent(self.campaign, (Batch(reports, widest),), "item")


Campaigns = Callable[[int, float | None], Campaign]
"""Makes a campaign for a number of users with a local ε; None means the profile's."""


def plan(
    campaigns: Campaigns,
    lexicon: Lexicon,
    users: int | None,
    limits: EpsilonLimits,
    on_progress: OnProgress = lambda _: None,
    tradeoff: Sequence[float] = TRADEOFF,
) -> Plan:
    """The campaign with the largest local ε within the limits; without `users`, for the fewest that allow it."""
    foresight = _Foresight(lexicon)
    if users is None:
        users = _fewest_users(campaigns, foresight, limits, on_progress)
    on_progress(f"Foreseeing a campaign among {users:,} users …")
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
    return Plan(campaign, limits, foresight.expected(campaign), tuple(points), foresight.batches(campaign))


class _Foresight:
    """Forecasts of campaigns, each made once, and what their layers collect."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._made: dict[tuple[int, float], Forecast] = {}

    def expected(self, campaign: Campaign) -> Forecast:
        """What a campaign finds."""
        which = campaign.users, campaign.epsilon
        if which not in self._made:
            self._made[which] = forecast(campaign, self._lexicon)
        return self._made[which]

    def batches(self, campaign: Campaign) -> tuple[Batch, ...]:
        """What its layers collect: the most that they can where that is known beforehand, as no votes cut them."""
        if campaign.parameters.layers is not None:
            return foreseen_collection(campaign).batches
        return tuple(Batch(layer.layer_size, layer.candidates) for layer in self.expected(campaign).layers)


def _largest_epsilon(campaigns: Campaigns, foresight: _Foresight, users: int, limits: EpsilonLimits) -> Campaign:
    """The campaign with the largest local ε within the limits."""
    if limits.central_epsilon is None:
        return campaigns(users, limits.local_epsilon)
    most = LARGEST_CHOSEN_EPSILON if limits.local_epsilon is None else limits.local_epsilon
    best: Campaign | None = None
    keeps, step = 0, math.ceil(most / STEP)
    breaks = step + 1
    while breaks - keeps > 1:
        campaign = campaigns(users, min(most, round(step * STEP, 2)))
        excess = math.log(
            _spent(campaign, _with_dropouts(foresight.batches(campaign)), limits.unit) / limits.central_epsilon
        )
        if excess <= 0:
            keeps, best = step, _promising(campaign, limits)
        else:
            breaks = step
        # Increasing the local ε by 1 multiplies the central ε by about √e.
        step = min(max(step - math.ceil(2 * excess / STEP), keeps + 1), breaks - 1)
    if best is None:
        raise ParameterError(
            f"no local epsilon keeps a central epsilon of {limits.central_epsilon:g} for one {limits.unit} among "
            f"{users:,} users; take more users, fewer words per user or a larger central epsilon"
        )
    return best


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
        excess = _spent(campaign, _with_dropouts(foresight.batches(campaign)), limits.unit) / limits.central_epsilon
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


def _spent(campaign: Campaign, batches: tuple[Batch, ...], unit: str) -> float:
    """The central ε of some batches of a campaign."""
    parameters = campaign.parameters
    collected = Collection(parameters.randomizer, campaign.epsilon, parameters.words_per_user, batches)
    return central_epsilon(collected.in_sums_of(None, parameters.colluders), parameters.delta, unit)


def _with_dropouts(batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
    """The batches if as many users stay away as a promise has room for."""
    share = (1 - ROOM) / CLOSE_TO_PROMISE
    return tuple(replace(batch, reports=max(1, int(batch.reports * share))) for batch in batches)


def _promising(campaign: Campaign, limits: EpsilonLimits) -> Campaign:
    """The campaign with the promise to keep the central limit; its layers are large enough not to change by that."""
    promised = replace(campaign.parameters, promised_epsilon=limits.central_epsilon, promised_unit=limits.unit)
    return replace(campaign, parameters=promised)


def _costliest(campaign: Campaign, batches: tuple[Batch, ...]) -> tuple[Batch, ...]:
    """The batches among which the costliest one is, up to rounding.

    Fewer reports cost more. Subset Selection also costs more if its subsets are a larger share of all candidates; up to
    rounding, its blanket depends on nothing else.
    """
    parameters = campaign.parameters

    def density_of(batch: Batch) -> float:
        asked = randomizer(parameters.randomizer, batch.candidates, campaign.epsilon, parameters.words_per_user)
        return density(asked)

    chosen: list[Batch] = []
    densest = 0.0
    for batch in sorted(set(batches), key=lambda batch: (batch.reports, -density_of(batch))):
        if density_of(batch) > densest:
            chosen.append(batch)
            densest = density_of(batch)
    return tuple(chosen)


def _point(campaign: Campaign, foresight: _Foresight) -> Point:
    costliest, expected = _costliest(campaign, foresight.batches(campaign)), foresight.expected(campaign)
    item, user = (_spent(campaign, costliest, unit) for unit in UNITS)
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
