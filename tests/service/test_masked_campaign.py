"""A secure campaign as an operator sees it: what can be asked for, and what is said of it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from layers import small_layer
from neologue.aggregation.masked_aggregator import MaskedAggregator
from neologue.cli.main import main
from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.errors import ParameterError
from neologue.masking.rules import GroupRules, groups_of
from neologue.privacy.collection import Batch
from neologue.privacy.cost import cost
from neologue.privacy.statement import CORRUPT, UNCHECKED, VOUCHED, Exposure, LayerShown, privacy_statement
from neologue.protocol.credential import Credential
from neologue.release.facts import facts_of
from neologue.release.influence import influence
from neologue.reporting.short_facts import server_fact
from service.campaigns import definition
from service.masked_crowd import SECURE, secure_definition
from service.serving import served


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"cohort_size": 7}, "5 devices stay, and 6 must be"),
        ({"smallest_cohort": 2}, "not 2"),
        ({"corruption": 40}, "0 to 30 per cent, not 40"),
        ({"corruption": 5}, "may be corrupt .* no majority of honest devices; make the group larger"),
        ({"corruption_risk": 0.0}, "risk of too many corrupt devices must be above 0"),
        ({"issuers": 17 * ["00" * 32]}, "at most 16 issuers"),
        ({"gather_seconds": 0.0}, "gather seconds must be above 0"),
        ({"stage_seconds": 1e9}, "stage seconds must be above 0 and at most a day"),
        ({"parameters": {**SECURE["parameters"], "smallest_layer": 7}}, "a smallest group of 8 is more than the 7"),
    ],
)
def test_groups_that_can_not_be_are_refused_before_anybody_is_asked(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ParameterError, match=named):
        definition(**{**SECURE, "rehearsal": True, **changes}).check()


def test_groups_may_have_a_thousand_devices_and_more() -> None:
    parameters = {**SECURE["parameters"], "smallest_layer": 1900}
    for size, smallest in ((1000, 750), (2000, 1500)):
        groups = {"cohort_size": size, "smallest_cohort": smallest, "dropout": 20, "corruption": 5}
        large = definition(**{**SECURE, **groups, "devices": 200_000, "rehearsal": True, "parameters": parameters})
        large.check()
        assert large.aggregator.smallest_sum == smallest
        layer = large.aggregator.collecting(bytes(16), 0, small_layer(["a"]), (bytes(32),))
        assert layer.longest >= size * 100, "a message has room for a deal for each neighbour"
    with pytest.raises(ParameterError, match="2,000 devices, not 2,001"):
        definition(**{**SECURE, "rehearsal": True, "cohort_size": 2001}).check()


def test_a_campaign_is_ephemeral_unless_it_says_otherwise() -> None:
    plain = definition()
    assert (plain.aggregation, plain.aggregator.fewest) == ("ephemeral", plain.batch)
    assert plain.aggregator.promise((bytes(32),)) is None
    secure = definition(**SECURE)
    assert isinstance(secure.aggregator, MaskedAggregator)
    assert secure.aggregator.rules == GroupRules(12, 6, 25, 0, 1e-6, groups_of(secure.devices, 6), limited=True)
    assert secure.rules.batch == secure.aggregator.fewest == 8


def test_an_operator_makes_a_secure_campaign_by_a_command(tmp_path: Path) -> None:
    options = (
        "--aggregation",
        "secure",
        "--cohort-size",
        "50",
        "--smallest-cohort",
        "40",
        "--dropout",
        "10",
        "--yes",
        "--privacy",
        "paper",
    )
    with served(f"sqlite:///{tmp_path}/service.db") as service:
        run = CliRunner(env={"NEOLOGUE_TOKEN": service.token, "NEOLOGUE_SERVER": service.address})
        made = run.invoke(main, ["campaign", "create", "spring", "--devices", "20000", "--language", "en", *options])
        assert made.exit_code == 0, made.output
        assert "The server: reads masked sums of at least " in made.output
        assert "Under masks each hostile device" in made.output
        assert "(no meaningful protection) for a whole user." in made.output
        assert service.ask("GET", "/v1/campaigns/spring").json["aggregation"] == "secure"
        wrong = run.invoke(main, ["campaign", "create", "fall", "--devices", "20000", *options, "--corruption", "31"])
        assert wrong.exit_code == 2
        assert "not 31" in wrong.output
        issued = service.ask("POST", "/v1/campaigns/spring/credentials", {"count": 2}).body.decode().split()
        assert all(Credential.parse(text).signing_key for text in issued)
        vendor = Ed25519PrivateKey.generate().public_key().public_bytes_raw().hex()
        assert service.ask("POST", "/v1/campaigns", secure_definition(name="vendor", issuers=[vendor])).status == 201
        refused = service.ask("POST", "/v1/campaigns/vendor/credentials", {"count": 2})
        assert "ask them for credentials" in refused.json["error"]["message"]
        refused = service.ask("POST", "/v1/campaigns", {**secure_definition(), "aggregation": "magic"})
        assert (refused.status, refused.code) == (400, "malformed")


def test_the_server_of_a_secure_campaign_sees_the_honest_devices_of_the_smallest_sum() -> None:
    parameters = definition().campaign.parameters
    plain = facts_of(parameters, (LayerShown(Batch(5_000, 1_000), 1, 900),), exposure=Exposure())
    rules = GroupRules(100, 70, 20, 5)
    assert (rules.smallest, rules.corrupt) == (70, 18)
    masked = replace(plain, exposure=Exposure(masked=rules))
    trust: Any = privacy_statement(masked)["trust"]
    reader, disk, server = trust["observers"]
    assert [observer["smallest_sum"] for observer in (reader, disk, server)] == [5_000, 70, 52]
    assert server["item_epsilon"] == cost(masked.received.in_sums_of(52), parameters.delta).item_best.epsilon
    assert "up to 18 of which may be of devices that work with it" in server["sees"]
    assert {UNCHECKED, CORRUPT, VOUCHED} <= set(trust["assumptions"])
    plain_trust: Any = privacy_statement(plain)["trust"]
    assert not {UNCHECKED, CORRUPT, VOUCHED} & set(plain_trust["assumptions"])
    assert plain_trust["observers"][2]["item_epsilon"] >= server["item_epsilon"]


def test_the_server_s_view_is_judged_beside_the_option() -> None:
    """45 honest devices at ε = 10 are no protection of a user, and every page says so in the words of the scale."""
    parameters = replace(definition().campaign.parameters, epsilon=10.0, words_per_user=60, delta=1e-8)
    shown = (LayerShown(Batch(5_000, 1_000), 1, 900),)
    rules = GroupRules(100, 63, 20, 5)
    assert rules.honest == 45
    facts = facts_of(parameters, shown, exposure=Exposure(masked=rules))
    (_, line) = server_fact(privacy_statement(facts))[0]
    assert "at least 45 honest devices" in line
    assert "(weak protection)" in line
    assert "(no meaningful protection) for a whole user" in line
    assert server_fact(privacy_statement(replace(facts, exposure=Exposure()))) == []


def test_a_hostile_device_speaks_for_its_whole_group() -> None:
    facts = LayerFacts(
        pass_number=1,
        layer=1,
        length=1,
        extension=1,
        candidates=300,
        asked=2000,
        reports=1000,
        kept=4,
        words=2,
        fewest_votes=60,
        decided=True,
    )
    word = ReleasedWord("abba", 500, 100.0, 50.0, 150.0, 1, 1, since=1)
    campaign = definition().campaign
    alone, masked = influence(campaign, [facts], [word], 3), influence(campaign, [facts], [word], 3, reports_each=20)
    assert masked.layers[0].votes == 20 * alone.layers[0].votes
    assert masked.moved >= 19 * alone.moved
    assert alone.planted is not None
    assert masked.planted == -(-alone.planted // 20)
    assert any("could not be checked" in sentence for sentence in masked.sentences)
    assert not any("masks" in sentence for sentence in alone.sentences)
