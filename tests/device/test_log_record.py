"""A device whose policy demands witnesses: it answers what is in the log for everybody, and nothing else."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from invitations import OPERATOR, policy
from layers import small_layer
from neologue.conformance.scripted_log import WITNESSES, ScriptedLog
from neologue.device import Client
from neologue.device.tick import State
from neologue.errors import LogError, ParameterError
from neologue.transparency.checkpoint import operator_origin
from neologue.transparency.evidence import VERIFIERS, Expected, binding_of
from sending import AT_ONCE
from small_service import running
from transparency.logged_service import TODAY, LoggedService

KEYS = [witness.public_key().public_bytes_raw() for witness in WITNESSES]


@pytest.fixture
def service() -> Iterator[LoggedService]:
    service = LoggedService()
    with running(service):
        yield service


def client(service: LoggedService, folder: Path, quorum: int = 2, **changes: Any) -> Client:  # noqa: ANN401
    witnessed = policy(logs=frozenset({service.log.key}), witnesses=frozenset(KEYS), quorum=quorum, **changes)
    made = Client(folder, service.address, witnessed, clock=lambda: TODAY, sending_time=AT_ONCE)
    made.typed("abba")
    made.join(service.credential().text)
    return made


def refuses(service: LoggedService, folder: Path, sentence: str, **changes: Any) -> None:  # noqa: ANN401
    with client(service, folder, **changes) as device:
        tick = device.tick()
        assert tick.state is State.REFUSED
        assert sentence in tick.message
        assert device.spent == 0
    assert not service.bodies
    assert service.asked("/v1/layers") == 0, "nothing is fetched for it"


def test_a_layer_that_is_in_the_log_is_answered(service: LoggedService, tmp_path: Path) -> None:
    with client(service, tmp_path) as device:
        assert device.tick().state is State.FINAL
    assert len(service.bodies) == 1
    assert (tmp_path / "checkpoints.db").exists()


def test_without_witnesses_in_the_policy_no_proof_is_needed_or_looked_at(
    service: LoggedService, tmp_path: Path
) -> None:
    service.proof = b"anything"
    with client(service, tmp_path, quorum=0) as device:
        assert device.tick().state is State.FINAL
    assert not (tmp_path / "checkpoints.db").exists()


def test_an_invitation_without_a_proof_is_refused(service: LoggedService, tmp_path: Path) -> None:
    service.proof = None
    refuses(service, tmp_path, "without a proof")


def test_a_proof_that_is_cut_is_refused(service: LoggedService, tmp_path: Path) -> None:
    assert service.proof
    service.proof = service.proof[:-1]
    refuses(service, tmp_path, "is cut")


def test_a_layer_for_one_device_is_refused(service: LoggedService, tmp_path: Path) -> None:
    """The device is asked about another frontier than everybody else: the log has only one document for a layer."""
    other = small_layer(["ab", "cb"], 5)
    service.layer = other
    refuses(service, tmp_path, "not in a log that this device knows")


def test_too_few_witnesses_are_refused(service: LoggedService, tmp_path: Path) -> None:
    service.proof = bytes(service.log.proof(0, cosigners=1))
    refuses(service, tmp_path, "1 of the 3 witnesses")


def test_witnesses_that_the_device_does_not_know_are_nobody(service: LoggedService, tmp_path: Path) -> None:
    service.log.witnesses = [OPERATOR] * 3
    service.proof = bytes(service.log.proof(0))
    refuses(service, tmp_path, "0 of the 3 witnesses")


def test_witnesses_whose_clock_is_days_ahead_are_nobody(service: LoggedService, tmp_path: Path) -> None:
    service.log.time = (TODAY + 3) * 86_400
    service.proof = bytes(service.log.proof(0))
    refuses(service, tmp_path, "0 of the 3 witnesses")


def test_the_log_of_somebody_else_is_refused(service: LoggedService, tmp_path: Path) -> None:
    service.log.private = OPERATOR
    service.proof = bytes(service.log.proof(0))
    refuses(service, tmp_path, "not in a log that this device knows")


def prepare(service: LoggedService, folder: Path) -> Client:
    """A device that has seen the log with its first layer, and has not answered: the layer is gone when it is asked."""
    device = client(service, folder)
    gone = service.documents.pop(f"/v1/layers/{service.layer.digest.hex()}")
    assert device.tick().state is State.LATER
    service.documents[f"/v1/layers/{service.layer.digest.hex()}"] = gone
    return device


def test_a_log_that_goes_on_is_followed(service: LoggedService, tmp_path: Path) -> None:
    with prepare(service, tmp_path) as device:
        service.log.operator.append(b"more")
        service.publish()
        assert device.tick().state is State.FINAL
    assert service.asked("/log/tile") == 1, "the operator's tree alone has grown"


def test_a_log_that_was_forked_is_refused_though_all_witnesses_have_cosigned_it(
    service: LoggedService, tmp_path: Path
) -> None:
    with prepare(service, tmp_path) as device:
        service.log.operator.insert(0, b"another beginning")
        service.publish()
        tick = device.tick()
        assert tick.state is State.REFUSED
        assert "was forked" in tick.message
        service.log.operator.pop(0)
        service.log.operator.append(b"more")
        service.publish()
        assert device.tick().state is State.FINAL, "the log that it has seen goes on"


def test_a_log_of_the_same_size_with_another_root_is_refused(service: LoggedService, tmp_path: Path) -> None:
    service.log.operator.append(b"more")
    service.publish()
    with prepare(service, tmp_path) as device:
        service.log.operator[-1] = b"others"
        service.publish()
        assert "was forked" in device.tick().message


def test_a_log_that_goes_back_is_waited_for(service: LoggedService, tmp_path: Path) -> None:
    old = service.proof
    service.log.operator.append(b"more")
    service.publish()
    with prepare(service, tmp_path) as device:
        service.proof = old
        tick = device.tick()
        assert tick.state is State.LATER
        assert "waits for the newer one" in tick.message


@pytest.mark.parametrize("content", [None, b"", bytes(64)])
def test_a_log_whose_files_are_away_or_wrong_is_not_believed(
    service: LoggedService, tmp_path: Path, content: bytes | None
) -> None:
    with prepare(service, tmp_path) as device:
        service.log.operator.append(b"more")
        service.publish()
        service.documents = {
            path: content if path.startswith("/log/tile/0") and content is not None else kept
            for path, kept in service.documents.items()
            if content is not None or not path.startswith("/log/")
        }
        tick = device.tick()
        assert tick.state is (State.LATER if content is None else State.REFUSED)
    assert not service.bodies


def test_the_newest_checkpoint_outlives_the_process_and_everything_that_is_forgotten(
    service: LoggedService, tmp_path: Path
) -> None:
    with prepare(service, tmp_path) as device:
        device.forget_me()
    with Client(tmp_path, service.address, policy()) as device:
        newest = device._log_record.newest(operator_origin(service.log.key))
        assert newest is not None
        assert newest.size == 1


def test_a_policy_that_demands_too_much_or_of_nobody_is_refused() -> None:
    with pytest.raises(ParameterError, match="quorum"):
        policy(witnesses=frozenset(KEYS), quorum=4)
    with pytest.raises(ParameterError, match="logs"):
        policy(witnesses=frozenset(KEYS), quorum=2)


IMAGE, VENDOR = bytes([7]) * 48, bytes([8]) * 32


def evidence(
    kind: str = "a quote of tests", image: bytes = IMAGE, vendor: bytes = VENDOR, binding: bytes = b""
) -> bytes:
    parts = {"image": image, "vendor": vendor, "binding": binding}
    return json.dumps(
        {"kind": kind, **{name: base64.b64encode(part).decode() for name, part in parts.items()}}
    ).encode()


def verify_quote(parts: Mapping[str, bytes], expected: Expected) -> None:
    if parts != {"image": expected.measurement, "vendor": expected.root, "binding": expected.binding}:
        raise LogError("the evidence does not show what is expected")


def attesting(service: LoggedService, folder: Path) -> Client:
    return client(service, folder, measurements=frozenset({IMAGE, bytes(48)}), vendors=frozenset({VENDOR}))


def test_a_service_whose_evidence_verifies_is_answered(
    service: LoggedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERIFIERS, "a quote of tests", verify_quote)
    service.documents["/log/evidence"] = evidence(binding=binding_of(service.log.key))
    with attesting(service, tmp_path) as device:
        assert device.tick().state is State.FINAL


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        (evidence(binding=binding_of(bytes(32))), "does not show what is expected"),
        (evidence(binding=binding_of(ScriptedLog(bytes(16)).key), image=bytes(47)), "does not show what is expected"),
        (evidence(binding=binding_of(ScriptedLog(bytes(16)).key), vendor=bytes(32)), "does not show what is expected"),
        (evidence("a promise"), "no verifier of evidence 'a promise'"),
        (evidence("sev-snp"), "lacks 'vcek'"),
        (b"nonsense", "no evidence of where a service runs"),
    ],
)
def test_other_evidence_is_refused_before_the_layer_is_fetched(
    shown: bytes, sentence: str, service: LoggedService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VERIFIERS, "a quote of tests", verify_quote)
    service.documents["/log/evidence"] = shown
    with attesting(service, tmp_path) as device:
        tick = device.tick()
    assert tick.state is State.REFUSED
    assert sentence in tick.message
    assert not service.bodies
    assert service.asked("/v1/layers") == 0


def test_without_evidence_a_device_that_demands_it_waits(service: LoggedService, tmp_path: Path) -> None:
    with attesting(service, tmp_path) as device:
        assert device.tick().state is State.LATER
    assert service.asked("/v1/layers") == 0


def test_evidence_is_not_asked_for_unless_the_policy_demands_it(service: LoggedService, tmp_path: Path) -> None:
    with client(service, tmp_path) as device:
        assert device.tick().state is State.FINAL
    assert service.asked("/log/evidence") == 0
    with pytest.raises(ParameterError, match="measurements need vendors, logs and a quorum"):
        policy(measurements=frozenset({IMAGE}), vendors=frozenset({VENDOR}))
