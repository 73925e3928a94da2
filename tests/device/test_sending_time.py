"""When a device talks does not depend on its words: votes leave at a moment drawn before they are made."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from groups import ISSUER, with_key
from invitations import policy
from neologue.aggregation.masked_aggregator import terms_for
from neologue.device import Client, Response, SendingTime, SendingWindow, Tick, participation
from neologue.device.contribution import contribute
from neologue.device.masked import Ballot
from neologue.device.storage import spending_record
from neologue.entropy import Entropy
from neologue.errors import ParameterError
from neologue.masking.agreement import ShareRequest
from neologue.masking.messages import Delivery
from neologue.masking.terms import Promise, Terms
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from small_service import CAMPAIGN, Reply, Service

MANY = {f"ab{n}": 1 for n in range(10_000)}
"""As many words as a diary holds."""
SECONDS_PER_WORD = 1 / 4000
PROMISE = Promise(smallest=8, dropout=10, corrupt=5, issuers=(ISSUER.public_key().public_bytes_raw(),))
Schedule = list[tuple[float, str, str, int]]


class Time:
    """A clock that moves only while somebody waits or works."""

    now = 1000.0

    def pass_by(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


class TimedService:
    """A service within the process, which notes when each request comes."""

    def __init__(self, service: Service, time: Time) -> None:
        self._service, self._time = service, time
        self.schedule: Schedule = []

    def request(self, method: str, path: str, body: bytes = b"", *rest: Any, **options: Any) -> Response:  # noqa: ANN401
        self.schedule.append((self._time.now, method, path, len(body)))
        reply = self._service.answer(method, path, body)
        return Response(reply.status, reply.body)


class GroupService(Service):
    """Invites to a group, and moves on at each message."""

    def __init__(self) -> None:
        super().__init__()
        self.terms = terms_for(self.layer, bytes(16), PROMISE.smallest, PROMISE.dropout, PROMISE.corrupt)
        self.messages = [bytes([1, Delivery.number]), bytes([1, ShareRequest.number])]

    def credential(self) -> Credential:
        return with_key(super().credential())

    def invited(self, credential: Credential) -> dict[str, Any]:
        signature = invite(CAMPAIGN, self.layer, self.operator, PROMISE).signature.hex()
        return super().invited(credential) | {"signature": signature, "masked": bytes(PROMISE).hex()}

    def _answer(self, method: str, path: str, body: bytes) -> Reply:
        if path == "/v1/cohorts":
            return Reply.of(200, {"state": "cohort", "terms": bytes(self.terms).hex()})
        if path.startswith("/v1/cohorts/"):
            return Reply(200, self.messages.pop(0)) if self.messages else Reply.of(200, {"state": "final"})
        return super()._answer(method, path, body)


class PlainMember:
    """A device's part in a group, without the cryptography."""

    def __init__(self, terms: Terms, ballot: Ballot, *rest: object, **options: object) -> None:
        self._ballot = ballot

    def advertise(self) -> bytes:
        return b"keys"

    def mask(self, message: bytes) -> bytes:
        return bytes(len(self._ballot.votes()))

    def unmask(self, message: bytes) -> bytes:
        return b"shares"


def run(
    service: Service, folder: Path, words: Mapping[str, int], monkeypatch: pytest.MonkeyPatch, per_word: float
) -> tuple[Tick, Schedule, float]:
    """The tick of a device that typed some words, when each of its requests came, and how long it worked."""
    time, worked = Time(), 0.0
    draws = iter([1 << 30, 3 << 30, 1 << 31])

    def slow(words: Mapping[str, int], layer: Layer, entropy: Entropy | None = None) -> bytes:
        nonlocal worked
        worked = per_word * len(words)
        time.pass_by(worked)
        return contribute(words, layer, entropy)

    monkeypatch.setattr(spending_record, "contribute", slow)
    monkeypatch.setattr(participation, "Member", PlainMember)
    monkeypatch.setattr(secrets, "randbelow", lambda bound: next(draws))
    sending_time = SendingTime(now=lambda: time.now, wait=time.pass_by)
    timed = TimedService(service, time)
    with Client(folder, timed, policy(), clock=lambda: 20_000, sending_time=sending_time) as client:
        client.typed_all(words)
        client.join(service.credential().joining_text)
        return client.tick(), timed.schedule, worked


@pytest.mark.parametrize("kind", [Service, GroupService])
def test_no_word_changes_when_a_device_talks(
    kind: type[Service], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none, schedule, _ = run(kind(), tmp_path / "none", {}, monkeypatch, SECONDS_PER_WORD)
    many, same, worked = run(kind(), tmp_path / "many", MANY, monkeypatch, SECONDS_PER_WORD)
    assert none == many
    assert none.state == "final"
    assert worked == 2.5, "else nothing is shown"
    assert schedule == same
    last_fetch = next(at for at, method, path, _ in schedule if path.startswith("/v1/known"))
    # The first draw, a quarter: 5 + 10 / 4.
    assert {at - last_fetch for at, *_ in schedule} == {0.0, 7.5}


def test_votes_that_are_late_wait_for_the_next_moment_of_the_same_sequence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedules = {
        seconds: run(Service(), tmp_path / str(seconds), MANY, monkeypatch, seconds / len(MANY))[1]
        for seconds in (7.0, 8.0, 19.0, 21.0)
    }
    moments = {seconds: schedule[-1][0] - 1000.0 for seconds, schedule in schedules.items()}
    # 5 + 10 / 4, then 5 + 10 * 3 / 4 later, then 5 + 10 / 2 later.
    assert moments == {7.0: 7.5, 8.0: 20.0, 19.0: 20.0, 21.0: 30.0}


def test_an_owner_who_opts_out_before_the_moment_has_nothing_sent(tmp_path: Path) -> None:
    service = Service()
    timed = TimedService(service, Time())
    with Client(tmp_path / "device", timed, policy()) as other:

        def opt_out(seconds: float) -> None:
            assert 5 <= seconds <= 15
            other.opt_out()

        sending_time = SendingTime(now=lambda: 0.0, wait=opt_out)
        with Client(tmp_path / "device", timed, policy(), sending_time=sending_time) as client:
            client.join(service.credential().text)
            assert client.tick().state == "out"
    assert service.bodies == []


def test_moments_are_drawn_all_over_the_window() -> None:
    drawn = [SendingWindow(2.0, 4.0).draw() for _ in range(1000)]
    assert 2.0 <= min(drawn) < 2.05
    assert 3.95 < max(drawn) < 4.0
    # An honest draw fails once in a million runs: five standard deviations of the mean.
    assert abs(sum(drawn) / 1000 - 3.0) < 5 * (1 / 3) ** 0.5 / 1000**0.5


@pytest.mark.parametrize("window", [(-1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (0.0, float("nan")), (0.0, 1e9)])
def test_a_window_without_a_draw_is_refused(window: tuple[float, float]) -> None:
    with pytest.raises(ParameterError, match="a sending window lasts from"):
        SendingWindow(*window)
