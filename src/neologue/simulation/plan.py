"""Planning a campaign before anyone is asked: from limits on ε to parameters, and what they will find and cost."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from neologue.errors import ParameterError
from neologue.privacy.collection import Cohort, Collection
from neologue.privacy.cost import cost
from neologue.privacy.planning import LARGEST_CHOSEN_EPSILON, SMALLEST_CHOSEN_EPSILON
from neologue.privacy.statement import Facts, LayerShown, privacy_statement
from neologue.protocol.campaign import MOST_USERS, Campaign
from neologue.simulation.forecast import Forecast, LayerForecast, forecast
from neologue.simulation.lexicon import Lexicon

UNITS = ("item", "user")
STEP = 0.05
"""A planned local ε is a multiple of this."""
TRADEOFF = (-3.0, -2.0, -1.0, 0.0, 1.0)
"""Where the trade-off is shown, around the planned local ε."""
ATTEMPTS = 12

Says = Callable[[str], None]


@dataclass(frozen=True)
class Limits:
    """What a plan has to keep to; None is no limit."""

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
    """One local ε, what it costs and what it finds."""

    local_epsilon: float
    item_epsilon: float
    user_epsilon: float
    coverage: float
    words: float
    rarest_share: float


@dataclass(frozen=True)
class Plan:
    """A campaign that keeps to the limits, and what is to be expected of it."""

    campaign: Campaign
    limits: Limits
    expected: Forecast
    tradeoff: tuple[Point, ...]

    @property
    def facts(self) -> Facts:
        """The facts of the run, if it goes as foreseen."""
        parameters = self.campaign.parameters
        return Facts(
            mechanism=parameters.randomizer,
            epsilon=self.campaign.epsilon,
            words_per_user=parameters.words_per_user,
            delta=parameters.delta,
            colluders=parameters.colluders,
            layers=tuple(LayerShown(cohort, 0, 0) for cohort in _cohorts(self.expected.layers)),
            frontier=parameters.frontier if parameters.rule == "top" else None,
            k=parameters.k_anonymity,
            alpha=parameters.alpha,
        )

    @property
    def statement(self) -> dict[str, object]:
        """The privacy statement of the run, if it goes as foreseen."""
        return privacy_statement(self.facts)

    @property
    def full_layer(self) -> float | None:
        """The item-level ε of a layer with as many candidates as the paper's rule ever asks about."""
        parameters = self.campaign.parameters
        if parameters.rule != "top" or not self.expected.layers:
            return None
        widest = parameters.frontier * self.campaign.alphabet.size
        reports = min(layer.cohort for layer in self.expected.layers)
        full = replace(self.facts.collection, cohorts=(Cohort(reports, widest),))
        return cost(full.in_sums_of(None, parameters.colluders), parameters.delta).best("item")


Campaigns = Callable[[int, float | None], Campaign]
"""A campaign for so many users with this local ε, or the profile's if None."""


def plan(
    campaigns: Campaigns, lexicon: Lexicon, users: int | None, limits: Limits, says: Says = lambda _: None
) -> Plan:
    """The campaign with the largest local ε that keeps to the limits; without users, for the fewest that can."""
    if users is None:
        users = _fewest_users(campaigns, lexicon, limits, says)
    says(f"Foreseeing a campaign among {users:,} users …")
    campaign, expected = _largest_epsilon(campaigns, lexicon, users, limits)
    points = []
    for epsilon in _around(campaign.epsilon):
        says(f"Foreseeing it with a local ε of {epsilon:g} …")
        other = campaigns(users, epsilon)
        points.append(_point(other, expected if epsilon == campaign.epsilon else forecast(other, lexicon)))
    return Plan(campaign, limits, expected, tuple(points))


def _largest_epsilon(campaigns: Campaigns, lexicon: Lexicon, users: int, limits: Limits) -> tuple[Campaign, Forecast]:
    """The campaign with the largest local ε within the limits, and its forecast.

    The layers hardly depend on ε. So the largest ε that fits the layers in hand is tried with layers of its own, until
    it comes back to where it was.
    """
    if limits.central_epsilon is None:
        campaign = campaigns(users, limits.local_epsilon)
        return campaign, forecast(campaign, lexicon)
    most = LARGEST_CHOSEN_EPSILON if limits.local_epsilon is None else limits.local_epsilon
    fitting: dict[float, tuple[Campaign, Forecast]] = {}
    tried: set[float] = set()
    epsilon = most
    while epsilon not in tried and len(tried) < ATTEMPTS:
        tried.add(epsilon)
        campaign = campaigns(users, epsilon)
        expected = forecast(campaign, lexicon)
        if _central(campaign, expected, limits.unit) <= limits.central_epsilon:
            fitting[epsilon] = campaign, expected
        epsilon = _fitting(campaign, expected, limits, most)
    if not fitting:
        raise ParameterError(_nothing_fits(users, limits))
    return fitting[max(fitting)]


def _fitting(campaign: Campaign, expected: Forecast, limits: Limits, most: float) -> float:
    """The largest local ε that fits the campaign's layers."""
    assert limits.central_epsilon is not None
    if _central(campaign, expected, limits.unit, most) <= limits.central_epsilon:
        return most
    low, high = 1, math.ceil(most / STEP)
    while high - low > 1:
        halfway = (low + high) // 2
        fits = _central(campaign, expected, limits.unit, halfway * STEP) <= limits.central_epsilon
        low, high = (halfway, high) if fits else (low, halfway)
    return round(low * STEP, 2)


def _fewest_users(campaigns: Campaigns, lexicon: Lexicon, limits: Limits, says: Says) -> int:
    """The smallest population for which the local ε keeps to the central one."""
    if limits.central_epsilon is None or limits.local_epsilon is None:
        raise ParameterError("without users a plan needs a local and a central epsilon; give two of the three")
    users = 1_000_000
    for _ in range(ATTEMPTS):
        says(f"Foreseeing a campaign among {users:,} users …")
        campaign = campaigns(users, limits.local_epsilon)
        expected = forecast(campaign, lexicon)
        share = min(layer.cohort for layer in expected.layers) / users
        reports = _fewest_reports(campaign, expected, limits)
        wanted = _round_up(reports / share)
        if wanted > MOST_USERS:
            raise ParameterError(_nothing_fits(MOST_USERS, limits))
        if users == wanted or (users > wanted and users <= 1.02 * wanted):
            return users
        users = wanted
    return users


def _fewest_reports(campaign: Campaign, expected: Forecast, limits: Limits) -> int:
    """The smallest cohort that costs no more than the limit."""
    assert limits.central_epsilon is not None
    candidates = min(layer.candidates for layer in expected.layers)
    low, high = 1, 2 * MOST_USERS
    while high - low > max(1, low // 200):
        halfway = (low + high) // 2
        spent = _cost(campaign, (Cohort(halfway, candidates),), limits.unit, campaign.epsilon)
        low, high = (low, halfway) if spent <= limits.central_epsilon else (halfway, high)
    return high


def _central(campaign: Campaign, expected: Forecast, unit: str, epsilon: float | None = None) -> float:
    """The central ε of the campaign's layers, with its own local ε or another."""
    return _cost(campaign, _cohorts(expected.layers), unit, campaign.epsilon if epsilon is None else epsilon)


def _cost(campaign: Campaign, cohorts: tuple[Cohort, ...], unit: str, epsilon: float) -> float:
    parameters = campaign.parameters
    collected = Collection(parameters.randomizer, epsilon, parameters.words_per_user, cohorts)
    return cost(collected.in_sums_of(None, parameters.colluders), parameters.delta).best(unit)


def _cohorts(layers: tuple[LayerForecast, ...]) -> tuple[Cohort, ...]:
    return tuple(Cohort(layer.cohort, layer.candidates) for layer in layers)


def _point(campaign: Campaign, expected: Forecast) -> Point:
    item, user = (_central(campaign, expected, unit) for unit in UNITS)
    return Point(campaign.epsilon, item, user, expected.coverage, expected.words, expected.rarest_share)


def _around(epsilon: float) -> Iterator[float]:
    """The local ε's of the trade-off: the planned one and its neighbours."""
    for step in TRADEOFF:
        if SMALLEST_CHOSEN_EPSILON <= epsilon + step <= LARGEST_CHOSEN_EPSILON or step == 0:
            yield epsilon if step == 0 else round(epsilon + step, 2)


def _round_up(users: float) -> int:
    """A whole number of users with two digits, never fewer."""
    unit: int = 10 ** max(0, len(str(int(users))) - 2)
    return math.ceil(users / unit) * unit


def _nothing_fits(users: int, limits: Limits) -> str:
    return (
        f"no local epsilon keeps a central epsilon of {limits.central_epsilon:g} for one {limits.unit} among "
        f"{users:,} users; take more users, fewer words per user or a larger central epsilon"
    )
