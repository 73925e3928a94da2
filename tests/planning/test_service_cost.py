"""The cost of a service follows its laws, and its constants are those that docs/scale.md shows."""

import math
import re
from pathlib import Path
from typing import Any

import pytest

from neologue import Alphabet, Campaign
from neologue.errors import ParameterError
from neologue.masking.rules import GroupRules
from neologue.planning.expectation import Forecast, LayerForecast
from neologue.planning.masking_cost import MaskingCost
from neologue.planning.plan import EpsilonLimits, Plan
from neologue.planning.service_cost import Hosting, ServiceCost, service_cost
from neologue.planning.unit_costs import UNIT_COSTS, unit_cost
from neologue.privacy.statement import Exposure
from neologue.release.foreseen import foreseen_facts

ROOT = Path(__file__).parents[2]
LAYERS = 4
MASKS = MaskingCost(1_000_000, 40, 30, 200_000, 45_000, 5.0)


def plan_of(users: int, words: float = 1000.0, masked: GroupRules | None = None, allocation: str = "filled") -> Plan:
    """A plan of four layers of equal size."""
    campaign = Campaign.from_profile(
        users=users, alphabet=Alphabet.named("en"), epsilon=7.0, layers=LAYERS, allocation=allocation
    )
    layers = tuple(
        LayerForecast(1, index + 1, 0, 0, 1_000_000, users // LAYERS, 1000, 10, 50, 50, 40) for index in range(LAYERS)
    )
    expected = Forecast(layers, 0.5, words, 0.0, None, (), 2000)
    return Plan(campaign, EpsilonLimits(), expected, (), foreseen_facts(campaign, None, Exposure(masked=masked)))


def cost_of(users: int = 100_000_000, **run: Any) -> ServiceCost:  # noqa: ANN401 - fields of Hosting
    return service_cost(plan_of(users), Hosting(**run))


def test_a_device_checks_in_once_in_each_interval_until_its_layer_opens() -> None:
    """Layers of a quarter of the devices each: three quarters wait for the first, then two, then one."""
    assert cost_of(check_in_hours=1, layer_hours=168).check_ins == pytest.approx(1 + 168 * (0.75 + 0.5 + 0.25))
    assert cost_of(check_in_hours=24, layer_hours=168).check_ins == pytest.approx(1 + 7 * 1.5)
    assert cost_of(check_in_hours=1000, layer_hours=168).check_ins == pytest.approx(1 + 1.5), "at least once in a layer"


def test_the_busiest_interval_is_the_one_in_which_the_first_layer_opens() -> None:
    workers = next(part for part in cost_of(check_in_hours=1).parts if part.name == "workers")
    each = unit_cost("invited") + unit_cost("document") + unit_cost("report")
    seconds = 25_000_000 * each + 75_000_000 * unit_cost("waiting")
    assert workers.cores == pytest.approx(seconds / 3600 * unit_cost("peak") / unit_cost("busy"))
    assert workers.rented == math.ceil(workers.cores)


def test_many_devices_cost_in_proportion_and_few_pay_for_idle_cores() -> None:
    many, more, few = cost_of(200_000_000), cost_of(800_000_000), cost_of(1000)
    assert more.per_million_devices == pytest.approx(many.per_million_devices, rel=0.02)
    assert [part.rented for part in few.parts] == [1, 1, 1]
    assert few.per_million_devices > 100 * many.per_million_devices


def test_prices_are_what_is_paid() -> None:
    free = cost_of(core_price=0, traffic_price=0, storage_price=0)
    assert free.money.total == free.per_word == 0
    one, two = cost_of(), cost_of(core_price=0.1)
    assert two.money.cores == pytest.approx(2 * one.money.cores)
    assert (two.money.traffic, two.money.storage) == (one.money.traffic, one.money.storage)
    assert one.money.cores == pytest.approx(0.05 * one.hours * sum(part.rented for part in one.parts))
    assert one.per_word == pytest.approx(one.money.total / 1000)


def test_where_no_word_is_expected_none_has_a_cost() -> None:
    assert service_cost(plan_of(1_000_000, words=0.2), Hosting()).per_word is None


def test_devices_that_check_in_less_often_cost_less() -> None:
    hourly, daily = cost_of(check_in_hours=1), cost_of(check_in_hours=24)
    assert daily.money.traffic < hourly.money.traffic / 3
    assert daily.money.cores < hourly.money.cores / 15


def test_regions_pay_for_what_workers_tell_the_one_database() -> None:
    one, three = cost_of(), cost_of(regions=3)
    assert one.between_regions == 0
    assert three.between_regions == pytest.approx(100_000_000 * unit_cost("written") * 2 / 3)
    assert three.money.traffic > one.money.traffic


def test_reports_that_are_sent_again_are_paid_for() -> None:
    once, again = plan_of(1_000_000), plan_of(1_000_000, allocation="drawn")
    more = service_cost(again, Hosting()).sent_bytes - service_cost(once, Hosting()).sent_bytes
    assert more == pytest.approx(2 * (unit_cost("answer") + unit_cost("handshake")))


def test_a_part_that_runs_on_one_machine_breaks_first() -> None:
    rules = GroupRules(groups=10_000_000)
    few, many = (
        service_cost(plan_of(users, masked=rules), Hosting(check_in_hours=24), MASKS)
        for users in (100_000, 200_000_000)
    )
    assert few.breaks_first is None
    assert many.breaks_first
    assert many.breaks_first.name == "masking groups"
    assert cost_of(1_000_000).breaks_first is None
    hourly = cost_of(1_000_000_000, check_in_hours=0.1).breaks_first
    assert hourly
    assert hourly.name == "database"


@pytest.mark.parametrize(
    "run",
    [{"check_in_hours": 0}, {"layer_hours": math.nan}, {"regions": 0}, {"core_price": -1}, {"traffic_price": math.inf}],
)
def test_what_no_deployment_can_have_is_refused(run: dict[str, Any]) -> None:
    name, value = next(iter(run.items()))
    with pytest.raises(ParameterError, match=f"{name.replace('_', ' ')} must be .* not {value:g}"):
        Hosting(**run)


def test_the_constants_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "scale.md").read_text("utf-8")
    rows = re.findall(r"^\| ([^|]+) \| ([\d.,]+) ?([^|]*) \| ([^|]+) \|$", page.split("### Constants")[1], re.MULTILINE)
    shown = {
        what: (float(value.replace(",", "")), unit.strip(), source.strip("`")) for what, value, unit, source in rows
    }
    assert shown == {cost.what: (cost.value, cost.unit, cost.source) for cost in UNIT_COSTS.values()}


def test_what_measures_a_constant_is_there() -> None:
    for cost in UNIT_COSTS.values():
        assert cost.source == "assumed" or (ROOT / cost.source).is_file()
