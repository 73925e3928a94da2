"""The client against a real service: the same bytes until they are final, whatever happens on the way."""

import inspect
import json
import math
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import neologue
from closed import small_closed_layer
from invitations import OPERATOR, STRANGER, campaign_id, policy
from layers import small_layer
from neologue.device import Client, HttpTransport, Library, Policy, Response, SpendingRecord, State, Tick
from neologue.device.network.answers import LATEST
from neologue.errors import (
    CredentialError,
    DiaryError,
    LaterError,
    MembershipError,
    ParameterError,
    SpendingRecordError,
)
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.credential import issue
from neologue.protocol.documents import known_document
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from sending import AT_ONCE
from small_service import CAMPAIGN, Fault, Reply, Service, error, instead, lost_after, lost_before, running

SECRET = "xylomancytest"
TESTS = Path(__file__).parents[1]
SOURCES = Path(neologue.__file__).parents[1]
DAY = 20_576  # 2026-05-03


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


Clients = Callable[..., Client]


@pytest.fixture
def clients(service: Service, tmp_path: Path) -> Iterator[Clients]:
    """Makes clients of the service, in one folder unless told otherwise, and closes them all."""
    with ExitStack() as opened:

        def client(name: str = "device", chosen: Policy | None = None, **options: Any) -> Client:  # noqa: ANN401
            server = options.pop("server", service.address)
            made = Client(
                tmp_path / name, server, chosen or policy(), clock=lambda: DAY, sending_time=AT_ONCE, **options
            )
            return opened.enter_context(made)

        yield client


@pytest.fixture
def client(service: Service, clients: Clients) -> Client:
    """A client that has joined and typed."""
    made = clients()
    made.join(service.credential().text)
    made.typed("abcab", 3)
    return made


def reports(service: Service) -> list[bytes]:
    """The reports that arrived, each time that they did."""
    return [Submission.parse(body).report for body in service.bodies]


def bytes_of(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


# The usual


def test_a_device_is_asked_answers_and_is_done(service: Service, client: Client, tmp_path: Path) -> None:
    tick = client.tick()
    assert (tick.state, tick.again) == ("final", None)
    assert service.requests == [
        ("POST", "/v1/check-in"),
        ("GET", f"/v1/layers/{service.layer.digest.hex()}"),
        ("GET", f"/v1/known/{service.layer.known.digest}"),
        ("POST", "/v1/reports"),
    ]
    assert service.connections == 1
    (report,) = service.final.values()
    assert read_report(service.layer, report) is not None
    assert client.spent == 3.0
    assert report[9:] not in bytes_of(tmp_path)
    assert client.tick() == Tick(State.OVER, None, "this device has done its part in the campaign")
    assert len(service.requests) == 4


def test_it_waits_as_long_as_it_is_asked_to(service: Service, client: Client) -> None:
    service.state = "wait"
    assert [(tick.state, tick.again) for tick in (client.tick(), client.tick())] == [("wait", 7.0)] * 2
    service.state = "invited"
    assert client.tick().state == "final"


def test_nothing_may_be_asked_at_all(service: Service, client: Client) -> None:
    service.state = "over"
    assert [client.tick().state for _ in range(2)] == ["over", "over"]
    assert service.asked("/v1") == 1
    assert client.spent == 0.0
    assert client.receipts() == []


def test_received_is_not_yet_final(service: Service, clients: Clients, client: Client) -> None:
    service.batch = 2
    first = client.tick()
    assert (first.state, first.again) == ("received", 5.0)
    other = clients("other")
    other.join(service.credential().text)
    assert other.tick().state == "final"
    assert client.tick().state == "final"
    assert reports(service)[0] == reports(service)[2]
    assert len(service.final) == 2


def test_a_closed_layer_is_answered_too(clients: Clients, tmp_path: Path) -> None:
    with running(Service(small_closed_layer(["abc", "cab"], known=Vocabulary.empty()))) as service:
        device = clients(server=service.address)
        device.join(service.credential().text)
        assert device.tick().state == "final"
        assert "words that the operator chose, and some that stand for all other words" in device.receipts()[0]
        device.close()


def test_without_a_campaign_it_is_silent(service: Service, clients: Clients) -> None:
    device = clients()
    device.typed("abcab")
    assert device.tick() == Tick(State.ALONE, None, "no campaign is joined; join one with a credential")
    assert service.requests == []


def test_clients_share_what_a_library_has_read(service: Service, clients: Clients) -> None:
    library = Library()
    for number in range(5):
        device = clients(f"device{number}", library=library)
        device.join(service.credential().text)
        assert device.tick().state == "final"
    assert (service.asked("/v1/layers"), service.asked("/v1/known")) == (1, 1)
    assert len(service.final) == 5


def test_known_words_that_the_app_comes_with_are_not_fetched(service: Service, clients: Clients) -> None:
    device = clients(known=known_document(service.layer.known))
    device.join(service.credential().text)
    assert device.tick().state == "final"
    assert (service.asked("/v1/layers"), service.asked("/v1/known")) == (1, 0)


def test_a_list_of_the_app_with_another_digest_is_not_used(service: Service, clients: Clients) -> None:
    device = clients(known=known_document(Vocabulary(["another"])))
    device.join(service.credential().text)
    assert device.tick().state == "final"
    assert service.asked("/v1/known") == 1


def test_the_known_words_are_kept_for_the_next_campaign(service: Service, clients: Clients, client: Client) -> None:
    assert client.tick().state == "final"
    with running(Service(small_layer(["ab"], number=2))) as second:
        second.campaign = campaign_id(2)
        again = clients(server=second.address)
        again.join(second.credential().text)
        assert again.tick().state == "final"
        assert (second.asked("/v1/layers"), second.asked("/v1/known")) == (1, 0)
        again.close()


# Joining and leaving


def test_a_text_that_is_no_credential_is_refused(clients: Clients) -> None:
    with pytest.raises(CredentialError):
        clients().join("nonsense")


def test_joining_again_changes_nothing(service: Service, clients: Clients) -> None:
    device, credential = clients(), service.credential().text
    for _ in range(3):
        device.join(credential)
        device.tick()
    assert len(service.bodies) == 1


def test_a_second_credential_earns_no_second_report(service: Service, client: Client) -> None:
    client.tick()
    client.join(service.credential().text)
    assert client.tick().state == "over"
    assert len(service.bodies) == 1
    assert client.spent == 3.0


def test_a_report_that_waits_is_not_given_up_by_accident(service: Service, client: Client) -> None:
    service.batch = 2
    client.tick()
    with pytest.raises(ParameterError, match="is not confirmed yet"):
        client.join(issue(campaign_id(2), OPERATOR).text)
    client.leave()
    assert "given up" in client.receipts()[-1]
    client.join(issue(campaign_id(2), OPERATOR).text)
    assert client.spent == 3.0
    client.leave()
    assert client.tick().state == "alone"


# Lost on the way


@pytest.mark.parametrize("path", ["/v1/check-in", "/v1/layers", "/v1/known", "/v1/reports"])
@pytest.mark.parametrize("fault", [lost_before, lost_after])
def test_whatever_is_lost_is_asked_again(
    service: Service, client: Client, path: str, fault: Fault, clients: Clients
) -> None:
    service.ahead(path, fault, fault, fault, fault)
    ticks = [client.tick()]
    client.close()
    device = clients()
    while ticks[-1].state == "later":
        assert 30 <= (ticks[-1].again or 0) <= LATEST
        ticks.append(device.tick())
    assert len(ticks) > 1
    assert ticks[-1].state == "final"
    assert len(service.final) == 1
    assert len(set(reports(service))) == 1
    assert device.spent == 3.0


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504, 301, 302, 307])
@pytest.mark.parametrize("path", ["/v1/check-in", "/v1/layers", "/v1/reports"])
def test_an_answer_for_later_is_for_later(service: Service, client: Client, status: int, path: str) -> None:
    elsewhere = {"Retry-After": "11", "Location": service.address + path}
    service.ahead(path, instead(Reply(status, b"", elsewhere)))
    tick = client.tick()
    assert (tick.state, tick.again) == ("later", 11.0)
    assert client.tick().state == "final"
    assert len(service.final) == 1


def test_devices_that_fail_come_back_later_and_later(service: Service, client: Client) -> None:
    service.ahead("/v1", *[instead(error(503, "busy"))] * 12)
    times = [client.tick().again or 0 for _ in range(12)]
    assert all(30 * 2**n <= time <= 60 * 2**n for n, time in enumerate(times[:9]))
    assert max(times) <= 21_600
    assert client.tick().state == "final"


def test_too_late_is_spent_and_erased(service: Service, client: Client, tmp_path: Path) -> None:
    service.closed = True
    assert client.tick().state == "closed"
    assert reports(service)[0][9:] not in bytes_of(tmp_path)
    assert client.spent == 3.0
    assert client.tick().state == "over"
    assert len(service.bodies) == 1
    assert "given up without a confirmation" in client.receipts()[-1]


def test_a_ticket_that_is_not_accepted_is_exchanged(service: Service, client: Client) -> None:
    service.ahead("/v1/reports", instead(error(401, "forged")))
    tick = client.tick()
    assert (tick.state, tick.again) == ("refused", 3600.0)
    assert "401 (forged)" in tick.message
    assert client.tick().state == "final"
    assert service.asked("/v1/check-in") == 2
    assert client.spent == 3.0


def test_a_report_whose_layer_is_over_by_then_is_given_up(service: Service, client: Client, tmp_path: Path) -> None:
    service.ahead("/v1/reports", instead(error(401, "forged")))
    client.tick()
    report = SpendingRecord(tmp_path / "device" / "account.db")
    assert not report.answers()[0].confirmed
    service.state = "over"
    assert client.tick().state == "over"
    assert report.answers()[0].confirmed


@pytest.mark.parametrize(
    ("status", "code"), [(400, "malformed"), (401, "forged"), (404, "unknown"), (413, "too_large")]
)
def test_a_refusal_of_the_service_is_told_and_tried_again_rarely(
    service: Service, client: Client, status: int, code: str
) -> None:
    service.ahead("/v1/check-in", instead(error(status, code)))
    tick = client.tick()
    assert (tick.state, tick.again) == ("refused", 3600.0)
    assert tick.message == f"the service refuses a check-in of this device with {status} ({code})"


@pytest.mark.parametrize(("status", "code"), [(400, "malformed"), (400, "overfull"), (409, "repeated")])
def test_a_report_that_is_refused_is_tried_again_rarely_and_never_drawn_anew(
    service: Service, client: Client, status: int, code: str
) -> None:
    service.ahead("/v1/reports", instead(error(status, code)))
    tick = client.tick()
    assert (tick.state, tick.again) == ("refused", 3600.0)
    assert tick.message == f"the service refuses a report of this device with {status} ({code})"
    assert client.spent == 3.0
    assert client.tick().state == "final"
    assert client.spent == 3.0


# Killed between storing and sending

DIES = """
import os, signal, sys
from invitations import policy
from neologue.device import Client, HttpTransport
from sending import AT_ONCE

class Dying(HttpTransport):
    def request(self, method, path, *rest, **options):
        if path == "/v1/reports" and sys.argv[3] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        response = super().request(method, path, *rest, **options)
        if path == "/v1/reports":
            os.kill(os.getpid(), signal.SIGKILL)
        return response

client = Client(sys.argv[1], Dying(sys.argv[2]), policy(), sending_time=AT_ONCE)
client.typed("abcab", 3)
client.tick()
"""


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize("first", [False, True])
def test_killed_around_sending_it_goes_on_with_the_same_bytes(
    service: Service, clients: Clients, tmp_path: Path, moment: str, first: bool
) -> None:
    device = clients()
    device.join(service.credential().text)
    if first:  # not the first time that it is sent
        service.batch = 2
        assert device.tick().state == "received"
    device.close()
    for _ in range(2):
        command = [sys.executable, "-c", DIES, str(tmp_path / "device"), service.address, moment]
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (TESTS, SOURCES)))}, timeout=300
        )
        assert done.returncode == -signal.SIGKILL
    with sqlite3.connect(tmp_path / "device" / "account.db") as db:
        stored = [report for (report,) in db.execute("SELECT report FROM reports")]
    db.close()
    again = clients()
    service.batch = 1
    assert again.tick().state == "final"
    assert stored == [*service.final.values()]
    assert set(reports(service)) == set(stored)
    assert again.spent == 3.0
    assert len([line for line in again.receipts() if "this device made a report" in line]) == 1


def test_a_device_whose_account_is_lost_is_silent(
    service: Service, clients: Clients, client: Client, tmp_path: Path
) -> None:
    service.batch = 2
    client.tick()
    client.close()
    (tmp_path / "device" / "account.db").unlink()
    with pytest.raises(SpendingRecordError, match="lost its answer"):
        clients().tick()
    assert len(service.bodies) == 1


# A hostile service


def told(service: Service, **changes: object) -> Fault:
    """An invitation with something changed."""
    return lambda service, answer: Reply.of(200, json.loads(answer().body) | changes)


@pytest.mark.parametrize(
    "seconds",
    ["1e18", "-5", "0", "1e-300", "NaN", "Infinity", "-Infinity", "true", "null", '"7"', "[]", "1" * 400, "1" * 5000],
)
@pytest.mark.parametrize("path", ["/v1/check-in", "/v1/reports"])
def test_however_long_it_is_told_to_wait_it_is_from_a_second_to_a_day(
    service: Service, client: Client, path: str, seconds: str
) -> None:
    state, status = ("wait", 200) if path == "/v1/check-in" else ("received", 202)
    body = f'{{"state": "{state}", "retry_after": {seconds}}}'.encode()
    service.ahead(path, instead(Reply(status, body)))
    tick = client.tick()
    assert tick.state in (state, "later")
    assert tick.again is not None
    assert 1 <= tick.again <= 86_400


@pytest.mark.parametrize(
    "header", ["99999999999999999999", "-5", "soon", "1e9", "Sun, 06 Nov 1994 08:49:37 GMT", "", "٣"]
)
def test_a_strange_header_is_passed_over(service: Service, client: Client, header: str) -> None:
    service.ahead("/v1", instead(Reply(503, b"", {"Retry-After": header.encode().decode("latin-1")})))
    again = client.tick().again
    assert again is not None
    assert 1 <= again <= 86_400


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"null",
        b"[" * 60_000,
        b"\xff",
        b"<html>Welcome to our hotel!</html>",
        b"{}",
        b'{"state": "partying"}',
        b'{"state": ["invited"]}',
        b'{"state": "invited"}',
        b'{"state": "invited", "layer": 7, "operator": null, "signature": {}, "ticket": []}',
        b" " * 70_000,
    ],
)
@pytest.mark.parametrize(("path", "status"), [("/v1/check-in", 200), ("/v1/reports", 200), ("/v1/reports", 202)])
def test_an_answer_that_makes_no_sense_is_for_later(
    service: Service, client: Client, path: str, status: int, body: bytes
) -> None:
    service.ahead(path, instead(Reply(status, body)))
    assert client.tick().state == "later"
    assert client.tick().state == "final"


@pytest.mark.parametrize(
    ("proof", "state"),
    [("00ff", "final"), ("", "final"), ("00" * 8193, "refused"), ("0", "later"), ("FF", "later"), (7, "later")],
    ids=["short", "empty", "too long", "half a byte", "upper case", "a number"],
)
def test_a_proof_may_come_beside_an_invitation(service: Service, client: Client, proof: object, state: str) -> None:
    service.ahead("/v1/check-in", told(service, proof=proof))
    assert client.tick().state == state


@pytest.mark.parametrize("field", ["layer", "operator", "signature", "ticket"])
@pytest.mark.parametrize("value", ["", "ab", "zz" * 32, "AB" * 64, "٣" * 64, 5])
def test_an_invitation_in_another_form_is_for_later(
    service: Service, client: Client, field: str, value: object
) -> None:
    service.ahead("/v1/check-in", told(service, **{field: value}))
    assert client.tick().state == "later"
    assert client.spent == 0.0


def test_another_operator_is_refused_before_anything_is_fetched(service: Service, client: Client) -> None:
    service.operator = STRANGER
    tick = client.tick()
    assert (tick.state, tick.again) == ("refused", 86_400.0)
    assert "is not one of the 1 that this device answers" in tick.message
    assert service.asked("/v1/layers") == 0
    assert client.spent == 0.0


def test_a_signature_for_another_campaign_is_refused(service: Service, clients: Clients) -> None:
    device = clients()
    device.join(issue(campaign_id(2), OPERATOR).text)
    tick = device.tick()
    assert tick.state == "refused"
    assert "signature" in tick.message
    assert (device.spent, service.bodies, device.receipts()) == (0.0, [], [])


@pytest.mark.parametrize("path", ["/v1/layers", "/v1/known"])
@pytest.mark.parametrize("body", [b"", b"{}", small_layer(["ab"], number=9).document, b"[" * 100_000], ids=range(4))
def test_bytes_with_another_digest_are_not_used(service: Service, client: Client, path: str, body: bytes) -> None:
    service.ahead(path, instead(Reply(200, body)))
    tick = client.tick()
    assert tick.state == "refused"
    assert "another digest" in tick.message
    assert client.spent == 0.0
    assert client.tick().state == "final", "nothing of it was kept"


def test_huge_documents_and_bombs_are_for_later(
    service: Service, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neologue.device.library.LARGEST_DOCUMENT", 100_000)
    service.ahead("/v1/layers", instead(Reply(200, bytes(50_000_000))))
    assert client.tick().state == "later"
    service.packs = False
    service.ahead("/v1/layers", instead(Reply(200, bytes(50_000_000))))
    assert client.tick().state == "later"
    assert client.tick().state == "final"


@pytest.mark.parametrize("packs", [True, False])
def test_a_huge_list_of_known_words_is_refused_as_the_policy_says(
    service: Service, clients: Clients, packs: bool
) -> None:
    device = clients("device", policy(largest_known=100_000, most_known_words=2))
    device.join(service.credential().text)
    service.packs = packs
    service.ahead("/v1/known", instead(Reply(200, bytes(50_000_000))))
    tick = device.tick()
    assert tick.state == "refused"
    assert "more than the 2 words or the 100,000 bytes" in tick.message
    assert "its owner can change most_known_words and largest_known" in tick.message
    assert device.tick().state == "final"


def test_a_list_of_too_many_known_words_is_not_parsed(
    service: Service, clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("neologue.device.library.read_known", lambda content: pytest.fail("it was parsed"))
    device = clients("device", policy(most_known_words=len(service.layer.known) - 1))
    device.join(service.credential().text)
    tick = device.tick()
    assert tick.state == "refused"
    assert "most_known_words" in tick.message


def test_what_a_policy_refuses_is_not_sent(service: Service, clients: Clients) -> None:
    for changes in ({"largest_epsilon": 2.0}, {"smallest_layer_size": 1001}, {"lifetime_epsilon": 2.0}):
        device = clients(str(changes), policy(**changes))
        device.join(service.credential().text)
        tick = device.tick()
        assert tick.state == "refused"
        assert next(iter(changes)) in tick.message
        assert (device.spent, device.receipts()) == (0.0, [])
    assert service.bodies == []


def test_the_frontier_may_change_until_it_is_answered_and_not_after(service: Service, client: Client) -> None:
    service.ahead("/v1/layers", lost_before, lost_before)
    assert client.tick().state == "later"
    second = small_layer(["ab"], 5, number=2)
    service.documents[f"/v1/layers/{second.digest.hex()}"] = second.document
    first, service.layer = service.layer, second
    service.ahead("/v1/reports", lost_before, lost_before)
    assert client.tick().state == "later"
    assert client.spent == 3.0
    # From here on it answers the second layer and nothing else.
    service.layer = first
    service.ahead("/v1/reports", instead(error(401, "forged")))
    assert client.tick().state == "refused"
    tick = client.tick()
    assert tick.state == "refused"
    assert "has answered another layer of the campaign" in tick.message
    service.layer = second
    assert client.tick().state == "final"
    assert client.spent == 3.0
    assert len(set(reports(service))) == 1


def test_an_invitation_to_a_second_layer_after_a_crash_is_refused(
    service: Service, clients: Clients, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as broken:
        broken.setattr("neologue.device.storage.membership.Membership.send", crash)
        with pytest.raises(KeyboardInterrupt):
            client.tick()
    assert client.spent == 3.0
    first, service.layer = service.layer, small_layer(["ab"], 5, number=2)
    service.documents[f"/v1/layers/{service.layer.digest.hex()}"] = service.layer.document
    assert "another layer" in clients().tick().message
    assert service.bodies == []
    service.layer = first
    assert clients().tick().state == "final"


# The owner


def test_nothing_is_sent_or_stored_while_opted_out(
    service: Service, clients: Clients, client: Client, tmp_path: Path
) -> None:
    client.typed(SECRET)
    client.opt_out()
    assert client.opted_out
    client.typed(SECRET)
    assert client.tick() == Tick(
        State.OUT, None, "the owner of this device has opted out; nothing is sent and nothing is stored"
    )
    assert SECRET.encode() not in bytes_of(tmp_path)
    client.close()
    again = clients()
    assert again.tick().state == "out", "also after a restart"
    assert service.requests == []
    again.opt_in()
    assert again.tick().state == "final"


def test_opting_out_during_a_tick_stops_it(service: Service, clients: Clients, client: Client, tmp_path: Path) -> None:
    other = clients()

    class Meanwhile(HttpTransport):
        def request(self, *given: Any, **options: Any) -> Response:  # noqa: ANN401
            other.opt_out()
            return super().request(*given, **options)

    client.close()
    with Meanwhile(service.address) as transport:
        assert clients(server=transport).tick().state == "out"
    assert (service.bodies, other.spent) == ([], 0.0)


def test_a_report_that_waits_is_held_back_while_opted_out(service: Service, clients: Clients, client: Client) -> None:
    service.batch = 2
    assert client.tick().state == "received"
    client.opt_out()
    assert [client.tick().state for _ in range(3)] == ["out"] * 3
    assert len(service.bodies) == 1
    client.opt_in()
    service.batch = 1
    assert client.tick().state == "final"
    assert len(set(reports(service))) == 1
    assert client.spent == 3.0


def test_the_switch_of_the_policy_silences_a_device(service: Service, clients: Clients) -> None:
    device = clients(chosen=policy(enabled=False))
    device.join(service.credential().text)
    assert (device.tick().state, device.tick().again) == ("refused", None)
    assert service.requests == []


def test_private_words_are_never_stored(client: Client, tmp_path: Path) -> None:
    client.typed(SECRET, private=True)
    assert SECRET.encode() not in bytes_of(tmp_path)
    client.typed(SECRET)
    assert SECRET.encode() in bytes_of(tmp_path), "else the line before shows nothing"


def test_a_word_is_forgotten(client: Client, tmp_path: Path) -> None:
    client.typed(SECRET)
    client.forget(SECRET)
    assert SECRET.encode() not in bytes_of(tmp_path)


def test_forgetting_all_leaves_what_was_spent_and_nothing_else(
    service: Service, client: Client, tmp_path: Path
) -> None:
    service.batch = 2
    client.typed(SECRET)
    client.tick()
    (report,) = service.pending.values()
    (credential,) = service.pending
    before = bytes_of(tmp_path)
    assert report[9:] in before
    assert SECRET.encode() in before
    client.forget_me()
    after = bytes_of(tmp_path)
    for trace in (report[9:], SECRET.encode(), credential, b"this device made", service.layer.document):
        assert trace not in after
    assert client.receipts() == []
    assert client.spent == 3.0
    client.join(service.credential().text)
    assert client.tick().state == "over", "it has answered this campaign, whatever it has forgotten"
    assert len(service.bodies) == 1


def test_receipts_say_in_plain_words_what_left_the_device(service: Service, client: Client) -> None:
    service.batch = 2
    client.tick()
    client.tick()
    (report,) = service.pending.values()
    places = service.layer.randomizer.candidates
    votes = places / (1 + math.exp(3))
    operator = OPERATOR.public_key().public_bytes_raw().hex()[:16]
    assert client.receipts() == [
        f"On 2026-05-03 this device made a report of {len(report):,} bytes for the operator {operator}… and the "
        f"campaign {CAMPAIGN.hex()[:16]}…: randomized votes on {places:,} candidates, beginnings of words "
        f"and whole words that the operator chose. Chance alone gives about {votes:.2g} of such votes, whatever you "
        "typed. Any single word you typed changes the probability of what it says by at most a factor of e^3; all "
        "your words together, of which it is about at most 4, by e^12. According to the operator, 999 other devices "
        "were asked the same. With this report the device has spent an ε of 3 of the 20 in its lifetime: 17 is left. "
        "Once the campaign's release is published, this device can tell whether what it was asked is in it (neologue "
        "device check, or checkRelease)."
    ]
    service.batch = 1
    client.tick()
    assert client.receipts()[1:] == [
        f"On 2026-05-03 the service confirmed that the report for the campaign {CAMPAIGN.hex()[:16]}… was counted; its "
        "bytes were erased from this device."
    ]


def test_the_receipt_is_written_before_a_byte_is_sent(service: Service, client: Client) -> None:
    service.ahead("/v1/reports", lost_before, lost_before)
    assert client.tick().state == "later"
    assert ["this device made a report" in line for line in client.receipts()] == [True]


# Nothing depends on the words


@pytest.mark.parametrize("words", [[], ["abcab"], [f"ab{n}" for n in range(300)]], ids=["none", "one", "many"])
def test_what_is_asked_and_how_much_is_sent_is_the_same_whatever_was_typed(
    service: Service, clients: Clients, words: list[str]
) -> None:
    device = clients()
    device.join(service.credential().text)
    for word in words:
        device.typed(word)
    assert device.tick().state == "final"
    assert [method for method, _ in service.requests] == ["POST", "GET", "GET", "POST"]
    assert [len(body) for body in service.bodies] == [48 + 9 + service.layer.randomizer.payload_bytes]


def test_a_client_draws_its_own_randomness(service: Service, clients: Clients) -> None:
    options = set(inspect.signature(Client).parameters)
    assert options == {"folder", "server", "policy", "key", "library", "known", "clock", "sending_time"}, (
        "none of them is a source of it"
    )
    for number in range(4):
        device = clients(f"device{number}")
        device.join(service.credential().text)
        device.typed("abcab")
        device.tick()
    assert len(set(service.final.values())) == 4


# Files


def test_a_sealed_diary_holds_no_plain_word(service: Service, clients: Clients, tmp_path: Path) -> None:
    device = clients(key=b"k" * 32)
    device.join(service.credential().text)
    device.typed(SECRET)
    assert SECRET[:5].encode() not in bytes_of(tmp_path)
    assert device.tick().state == "final"
    assert SECRET[:5].encode() not in bytes_of(tmp_path)
    device.close()
    with pytest.raises(DiaryError, match="is sealed by another key: give that one"):
        clients(key=b"x" * 32)


def test_all_files_are_for_their_owner_alone(client: Client, tmp_path: Path) -> None:
    client.tick()
    folder = tmp_path / "device"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {file.name for file in folder.iterdir()} == {"account.db", "diary.db", "library", "membership.db"}
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in folder.glob("*.db"))
    assert (folder / "library").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_cant_be_made_is_named(service: Service, clients: Clients, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(MembershipError, match=r"can't use the folder .*file/device"):
        clients("file/device")


@pytest.mark.parametrize("name", ["membership.db", "account.db", "diary.db"])
def test_a_damaged_file_is_named_with_the_remedy(clients: Clients, tmp_path: Path, name: str) -> None:
    (tmp_path / "device").mkdir()
    (tmp_path / "device" / name).write_bytes(b"not a database at all " * 100)
    with pytest.raises((MembershipError, SpendingRecordError, DiaryError), match=f"{name} is damaged"):
        clients()


def test_a_damaged_copy_in_the_library_is_fetched_anew(
    service: Service, clients: Clients, client: Client, tmp_path: Path
) -> None:
    service.batch = 2
    client.tick()
    client.close()
    for file in (tmp_path / "device" / "library").iterdir():
        file.write_bytes(b"damaged")
    assert clients().tick().state == "received"
    assert (service.asked("/v1/layers"), service.asked("/v1/known")) == (2, 2)


def test_after_a_restart_the_library_is_read_from_the_disk(service: Service, clients: Clients, client: Client) -> None:
    service.batch = 2
    client.tick()
    client.close()
    assert clients().tick().state == "received"
    assert service.asked("/v1/layers") == 1


def test_a_library_keeps_few_files(service: Service, tmp_path: Path) -> None:
    contents: dict[str, bytes] = {}
    library = Library(tmp_path)

    def fetched(path: str, most: int) -> bytes:
        return contents[path]

    for number in range(1, 12):
        layer = small_layer(["ab"], number=number)
        contents[f"/v1/layers/{layer.digest.hex()}"] = layer.document
        contents[f"/v1/known/{layer.known.digest}"] = b"cab\nknown"
        read = library.layer(layer.digest, fetched, policy(), lambda unread: None)
        assert read.digest == layer.digest
    assert len(list(tmp_path.iterdir())) == 4


# Faults between a client and its service


class Faulty:
    """A transport in which requests vanish on their way there, or answers on their way back."""

    def __init__(self, inner: HttpTransport, faults: list[str]) -> None:
        self.inner = inner
        self.faults = faults

    def request(self, *given: Any, **options: Any) -> Any:  # noqa: ANN401
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "there":
            raise LaterError("lost")
        response = self.inner.request(*given, **options)
        if fault == "back":
            raise LaterError("lost")
        if fault == "twice":
            return self.inner.request(*given, **options)
        return response


@pytest.mark.parametrize("seed", range(8))
def test_any_faults_end_in_one_report(service: Service, clients: Clients, seed: int) -> None:
    faults = ["", "there", "back", "twice"]
    drawn = [faults[(seed * 7 + n * n * 3 + n * seed) % 4] for n in range(30)]
    with HttpTransport(service.address) as inner:
        transport = Faulty(inner, drawn)
        device = clients(server=transport)
        device.join(service.credential().text)
        for _ in range(40):
            device.close()
            device = clients(server=transport)
            if device.tick().state in ("final", "over"):
                break
    assert len(service.final) == 1
    assert len(set(reports(service))) == 1
    assert device.spent == 3.0
