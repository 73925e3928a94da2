"""An operator who has the keys of the service and of its log: what it can't do to devices, and what an audit shows."""

import hashlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict, replace
from typing import Any

import pytest

from neologue.conformance.scripted_log import WITNESSES, ScriptedLog
from neologue.errors import LogError
from neologue.masking.rules import GroupRules
from neologue.release.codec import REHEARSAL
from neologue.transparency.inclusion_proof import InclusionProof
from neologue.transparency.log_entry import Deed, LogEntry
from service.campaigns import definition
from transparency.logs import CAMPAIGN, log_of_layers

from .logged_world import World, make_world

DEVICES = 1_000


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("logged"))


@pytest.fixture
def world(ran: World) -> World:
    """The campaign as it ran, for an operator to lie about."""
    return deepcopy_world(ran)


def deepcopy_world(world: World) -> World:
    return replace(
        world,
        release=deepcopy(world.release),
        entries=list(world.entries),
        layers=list(world.layers),
        documents=dict(world.documents),
    )


def place_of(entries: Sequence[LogEntry], deed: Deed, layer: int | None = None) -> int:
    return next(i for i, each in enumerate(entries) if each.deed is deed and layer in (None, each.layer))


def test_an_honest_release_passes_and_less_rests_on_the_operators_word(world: World) -> None:
    certification = world.audit()
    assert certification.passed, certification.objections
    names = {word.name for word in certification.operator_word}
    assert not names & {"completeness", "identity"}
    assert {"people", "reports", "votes", "assignment"} <= names


def test_a_layer_for_one_device_of_a_thousand_is_never_answered() -> None:
    """All others are asked the layer that is in the log; one is shown another frontier, with every proof there is."""
    log = log_of_layers(2)
    honest, other = log.layer(1), replace(log.layer(1), digest=hashlib.sha256(b"another frontier").digest())
    keys = [witness.public_key().public_bytes_raw() for witness in log.witnesses]
    proof = bytes(log.proof(1))
    refused = []
    for device in range(DEVICES):
        asked = other if device == 700 else honest
        try:
            InclusionProof.parse(proof).check(asked, [log.key], keys, 2, 2000.0)
        except LogError:
            refused.append(device)
    assert refused == [700]
    # The operator may put the other layer into its tree, for everybody to see; there is no leaf 1 left for it.
    log.operator.append(bytes(other))
    forged = replace(log.proof(1), index=len(log.operator) - 1)
    with pytest.raises(LogError):
        InclusionProof.parse(bytes(forged)).check(other, [log.key], keys, 2, 2000.0)


def test_a_fork_for_one_device_lacks_witnesses() -> None:
    log = log_of_layers(2)
    fork = ScriptedLog(CAMPAIGN, log.witnesses[:1]).open(log.layer(0, bytes(32)))
    keys = [witness.public_key().public_bytes_raw() for witness in log.witnesses]
    with pytest.raises(LogError, match="1 of the 3 witnesses"):
        fork.proof(0).check(log.layer(0, bytes(32)), [log.key], keys, 2, 2000.0)


def test_a_layer_that_was_asked_and_hidden_fails_the_audit(world: World) -> None:
    hidden = place_of(world.entries, Deed.CLOSED, 0) + 1
    more = LogEntry(Deed.OPENED, bytes(32), world.campaign, 1)
    world.entries[hidden:hidden] = [more, LogEntry(Deed.CLOSED, campaign=world.campaign, layer=1)]
    assert "another document" in world.objections()
    assert f"entry {hidden}" in world.objections()


def test_a_layer_that_nobody_was_asked_fails_the_audit(world: World) -> None:
    last = len(world.layers) - 1
    world.entries = [each for each in world.entries if each.layer != last]
    world.layers = world.layers[:-1]
    assert f"no entry opens layer {last}" in world.objections()


def test_a_changed_document_fails_the_audit(world: World) -> None:
    digest = world.layers[0].digest
    assert digest
    world.documents[f"documents/{digest.hex()}"] += b" "
    with pytest.raises(LogError, match=f"{digest.hex()} was changed"):
        world.audit()
    other = hashlib.sha256(b"another").digest()
    forged = replace(world.layers[0], digest=other)
    world.entries[place_of(world.entries, Deed.OPENED, 0)] = world.layers[0] = forged
    assert "opens another document" in world.objections()


def test_a_release_of_a_campaign_that_never_ran_fails_the_audit(world: World) -> None:
    world.release["campaign"] = "ab" * 16
    assert "never ran" in world.objections()
    world.release["campaign"] = world.campaign.hex()
    world.entries = [each for each in world.entries if each.deed is not Deed.RELEASED]
    assert "no entry releases the campaign" in world.objections()


def test_a_second_release_and_a_changed_one_fail_the_audit(world: World) -> None:
    world.entries.append(LogEntry(Deed.RELEASED, bytes(32), world.campaign))
    assert "once more" in world.objections()
    world.entries.pop()
    world.release["population"]["description"] = "somebody else"
    assert "is of another release" in world.objections()


@pytest.mark.parametrize("deed", [Deed.ABORTED, Deed.REFUSED])
def test_a_release_of_a_campaign_that_was_ended_fails_the_audit(world: World, deed: Deed) -> None:
    world.entries.insert(place_of(world.entries, Deed.RELEASED), LogEntry(deed, campaign=world.campaign))
    assert "without a release" in world.objections()


def test_layers_out_of_order_fail_the_audit(world: World) -> None:
    first, second = place_of(world.entries, Deed.CLOSED, 0), place_of(world.entries, Deed.OPENED, 1)
    world.entries[first], world.entries[second] = world.entries[second], world.entries[first]
    assert "was to be closed or opened" in world.objections()
    world.entries[first], world.entries[second] = world.entries[second], world.entries[first]
    world.layers.reverse()
    assert "leaves that are not its" in world.objections()


def test_parameters_that_were_changed_afterwards_fail_the_audit(world: World) -> None:
    created = place_of(world.entries, Deed.CREATED)
    digest = world.entries[created].digest
    assert digest
    defined = world.documents[f"documents/{digest.hex()}"].replace(b'"k_anonymity":5', b'"k_anonymity":6')
    other = hashlib.sha256(defined).digest()
    world.documents[f"documents/{other.hex()}"] = defined
    world.entries[created] = replace(world.entries[created], digest=other)
    assert "for the parameter k_anonymity" in world.objections()


def change(world: World, *path: str, value: object) -> None:
    """Release something else, and log that as the release."""
    holder = world.release
    for name in path[:-1]:
        holder = holder[name]
    holder[path[-1]] = value
    released = place_of(world.entries, Deed.RELEASED)
    world.entries[released] = replace(world.entries[released], digest=bytes.fromhex(world.document().digest))


LIES: dict[str, tuple[tuple[str, ...], object, str]] = {
    "a rehearsal, and it was people's devices": (("fidelity",), REHEARSAL, "creates a campaign of people's devices"),
    "more users": (("population", "users"), 9_000, "for 810 users, and the release for 9,000"),
    "larger batches": (("exposure", "disk"), 20, "batches of 10 reports"),
    "a promise": (("parameters", "promised_epsilon"), 50.0, "None for the parameter promised_epsilon"),
    "masks": (("exposure", "masked"), asdict(GroupRules()), "promises no masks"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_was_published_before_anyone_was_asked_is_what_is_released(name: str, world: World) -> None:
    path, lie, objection = LIES[name]
    change(world, *path, value=lie)
    assert objection in world.objections()


MASKED: dict[str, Any] = {"aggregation": "secure", "cohort_size": 12, "smallest_cohort": 6, "corruption": 0}


@pytest.mark.parametrize(
    ("lie", "objection"),
    [
        ({}, ""),
        ({"smallest": 8}, "smallest sum is 6, and the release states 8"),
        ({"dropout": 25}, "dropouts is 20, and the release states 25"),
        ({"groups": 1}, "number is 300, and the release states 1"),
    ],
)
def test_masked_groups_are_those_of_the_definition(lie: dict[str, Any], objection: str, world: World) -> None:
    masked = definition(**MASKED)
    world.define(masked)
    for layer, entry in enumerate(world.layers):
        opened = place_of(world.entries, Deed.OPENED, layer)
        world.entries[opened] = world.layers[layer] = replace(entry, promise=bytes(32))
    rules = masked.aggregator.exposure.masked
    assert rules
    change(world, "exposure", "masked", value=asdict(replace(rules, **lie)))
    found = [each for each in world.audit().objections if each.startswith("the log")]
    assert objection in "".join(found)
    assert bool(found) == bool(objection)


def test_a_measurement_that_was_announced_is_not_left_out(world: World) -> None:
    world.define(definition(measure_devices=100))
    assert "has 100 devices count words, and the release has no measurement" in world.objections()


def test_masks_that_were_promised_are_stated(world: World) -> None:
    opened = place_of(world.entries, Deed.OPENED, 0)
    world.layers[0] = world.entries[opened] = replace(world.layers[0], promise=bytes(32))
    assert f"entry {opened} (layer opened) promises masks" in world.objections()


def test_a_definition_that_is_gone_is_missed(world: World) -> None:
    created = world.entries[place_of(world.entries, Deed.CREATED)]
    assert created.digest
    del world.documents[f"documents/{created.digest.hex()}"]
    assert "has no definition any more" in world.objections()


def test_a_campaign_that_was_started_twice_or_not_at_all_fails_the_audit(world: World) -> None:
    started = place_of(world.entries, Deed.STARTED)
    again = world.entries[started]
    world.entries.insert(started, again)
    assert f"entry {started + 1} (campaign started) comes after" in world.objections()
    world.entries = [each for each in world.entries if each.deed is not Deed.STARTED]
    assert "comes before the campaign was started" in world.objections()


def test_a_signer_or_words_that_the_log_does_not_have_fail_the_audit(world: World) -> None:
    told = [each for each in world.entries if each.deed in (Deed.KEY, Deed.KNOWN)]
    world.entries = [each for each in world.entries if each not in told]
    for late in ([], told):  # what is told after the release shows nothing
        world.entries += late
        found = world.objections()
        assert "that signed it" in found
        assert "known words" in found


def test_a_log_without_its_witnesses_or_of_somebody_else_fails_the_audit(world: World) -> None:
    world.witnesses = world.witnesses[:1]
    with pytest.raises(LogError, match="2 of 3 witnesses"):
        world.audit()
    world.witnesses = [*WITNESSES]
    other = replace(world, private=world.operator)
    with pytest.raises(LogError, match="another operator"):
        world.audit(other.files())


def test_a_log_that_is_cut_or_changed_fails_the_audit(world: World) -> None:
    files = world.files()
    bundle = next(path for path in files if path.startswith("tile/entries/"))
    for content in (files[bundle][:-1], files[bundle].replace(b"layer opened", b"layer closed")):
        with pytest.raises(LogError, match=r"cut|was changed"):
            world.audit({**files, bundle: content})
    with pytest.raises(LogError, match="no file"):
        world.audit({path: content for path, content in files.items() if path != bundle})


def test_documents_that_are_no_longer_kept_are_missed_by_certify_alone(world: World) -> None:
    created = world.entries[place_of(world.entries, Deed.CREATED)].digest
    assert created
    kept = f"documents/{created.hex()}"
    world.documents = {kept: world.documents[kept]}
    found = world.audit()
    assert not [each for each in found.objections if each.startswith("the log")]
    assert not found.passed, "without documents nothing shows what was asked"


@pytest.mark.parametrize(
    "entry",
    [65_000 * b"[", b'{"layer":' + 60_000 * b"9" + b"}", b"7", b"\xff"],
    ids=["nested", "number", "no object", "no text"],
)
def test_an_entry_that_is_none_stops_neither_a_witness_nor_an_audit(entry: bytes) -> None:
    """What ends whoever watches a log would let its operator show devices another one."""
    with pytest.raises(LogError, match="none that this neologue knows"):
        LogEntry.parse(entry)
