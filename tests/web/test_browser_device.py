"""The device of the browser, in a real one: against the service, and through whatever can happen on the way."""

import base64
import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from closed import small_closed_layer
from invitations import OPERATOR, STRANGER, campaign_id
from layers import small_layer
from neologue.device import Client, Policy
from neologue.device import receipt as receipts
from neologue.fleet.fleet import simulated_policy
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.credential import Credential
from neologue.protocol.documents import known_document
from neologue.protocol.invitation import invite
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from neologue.protocol.succession import recovery_digest, revoke, succeed
from neologue.release.signature import sign_document
from sending import AT_ONCE
from service.campaigns import definition
from service.conftest import postgres, url
from service.serving import Served, served, wait_until
from small_service import CAMPAIGN, Reply, Service, error, instead, lost_after, lost_before, running

from .chromium import Browser, PageError, browsing
from .pages import ROOT, pages

__all__ = ["postgres", "url"]

KEY = OPERATOR.public_key().public_bytes_raw().hex()
LOOSE = {
    "largestVoteRatio": 1e9,
    "largestClosedVoteRatio": 1e9,
    "largestSilenceRatio": 1e9,
    "fewestNoiseVotes": 0,
    "allowTargets": True,
    "allowUnloggedLists": True,
}
"""No limit on what a report says of one word, for layers of a few candidates."""
DATABASES = "return (await indexedDB.databases()).length"


class Page:
    """A page of an app with a device, over the module that is shipped."""

    def __init__(self, browser: Browser, address: str) -> None:
        self.browser, self.address = browser, address
        self.options: dict[str, Any] = {"server": address, "operators": [KEY], "sendingWindow": [0, 0.001]}
        self.open()

    def open(self, **changes: Any) -> None:  # noqa: ANN401 - options of the device
        """Load the page anew, and with it the device."""
        self.options |= changes
        self.browser.visit(self.address)
        self.browser.run(
            """
            const { Device } = await import("/static/neologue-device.js");
            globalThis.device = await Device.open(given[0]);
            """,
            self.options,
        )

    def run(self, script: str, *given: object) -> Any:  # noqa: ANN401 - whatever the page says
        return self.browser.run(script, *given)

    def start(self, service: Service, *words: str) -> "Page":
        """The owner agrees, the app joins, and words are typed."""
        self.run(
            "await device.optIn(); await device.join(given[0]); for (const word of given[1]) await device.typed(word)",
            service.credential().text,
            words or ["abcab"],
        )
        return self

    def tick(self) -> tuple[str, float | None, str]:
        told = self.run("const { state, again, message } = await device.tick(); return [state, again, message]")
        return told[0], told[1], told[2]

    @property
    def state(self) -> str:
        return self.tick()[0]

    def words(self) -> dict[str, int]:
        told: dict[str, int] = self.run("return Object.fromEntries(await device.words())")
        return told

    def receipts(self) -> list[str]:
        told: list[str] = self.run("return device.receipts()")
        return told

    def spent(self) -> float:
        return float(self.run("return device.spent()"))


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


@pytest.fixture
def page(browser: Browser, service: Service) -> Iterator[Page]:
    with pages(service.address) as address:
        yield Page(browser, address)


def reports(service: Service) -> list[bytes]:
    """The reports that arrived, each time that they did."""
    return [Submission.parse(body).report for body in service.bodies]


# The usual


def test_a_device_is_asked_answers_and_is_done(page: Page, service: Service) -> None:
    page.start(service)
    tick = page.tick()
    assert tick == ("final", None, "the report was counted and erased from this device")
    assert service.requests == [
        ("POST", "/v1/check-in"),
        ("GET", f"/v1/layers/{service.layer.digest.hex()}"),
        ("GET", f"/v1/known/{service.layer.known.digest}"),
        ("POST", "/v1/reports"),
    ]
    (report,) = service.final.values()
    read_report(service.layer, report)
    assert page.spent() == 3.0
    assert page.tick() == ("over", None, "this device has done its part in the campaign")
    assert len(service.requests) == 4


def test_a_device_finds_what_it_was_asked_in_a_release_or_says_what_is_wrong(page: Page, service: Service) -> None:
    said: dict[str, Any] = {
        "format": 3,
        "campaign": CAMPAIGN.hex(),
        "parameters": {
            "epsilon": 3.0,
            "words_per_user": 4,
            "delta": 1e-10,
            "share": 1e21,
            "ä": 0.1,
            "\U0001f600": -0.0,
        },
        "layers": [{"digest": "00" * 32}, {"digest": service.layer.digest.hex()}],
        "measurement": None,
        "words": [{"word": "“ß”\n\u001f\\", "count": ': "a": {', "estimate": 12345.6}],
        "exposure": {"masked": None},
    }

    def check(document: object) -> list[str]:
        text = json.dumps(document, ensure_ascii=False)
        told: dict[str, list[str]] = page.run("return device.checkRelease(given[0])", text)
        assert told["notCompared"] == []
        return told["objections"]

    assert "has answered nothing" in check(sign_document(said, OPERATOR))[0]
    page.start(service)
    assert page.state == "final"
    asked = len(service.requests)
    assert check(sign_document(said, OPERATOR)) == []
    for lie, named in (
        (sign_document(said, STRANGER), "not signed by the operator"),
        (said, "not signed by the operator"),
        (sign_document(said, OPERATOR) | {"words": []}, "not signed by the operator"),
        (sign_document(said | {"layers": []}, OPERATOR), "is not among those of the release"),
        (sign_document(said | {"parameters": {"epsilon": 3.0, "words_per_user": 1}}, OPERATOR), "another ε"),
        (sign_document(said | {"parameters": {"epsilon": 2.0, "words_per_user": 4}}, OPERATOR), "another ε"),
        (sign_document(said | {"exposure": {"masked": {"smallest": 50}}}, OPERATOR), "masks"),
        (sign_document(said | {"campaign": campaign_id(2).hex()}, OPERATOR), "has answered nothing"),
    ):
        (objection,) = check(lie)
        assert named in objection
    signed = json.dumps(sign_document(said, OPERATOR))
    other = said["parameters"] | {"epsilon": 2.0}
    twice = (
        signed.replace('{"format": 3', f'{{"parameters": {json.dumps(other)}, "format": 3'),
        signed.replace('"epsilon": 3.0', '"epsilon": 2.0, "epsilon" : 3.0'),
        signed.replace('"epsilon": 3.0', r'"\u0065psilon": 2.0, "epsilon": 3.0'),
        signed.replace('"estimate"', '"estimate": 9.5, "estimate"'),
    )
    assert signed not in twice
    for text in ("{", "[]", '{"format": 2}', *twice):
        with pytest.raises(PageError, match="no release of format 3"):
            page.run("return device.checkRelease(given[0])", text)
    page.run(_RECORDED_EARLIER)
    text = json.dumps(sign_document(said, OPERATOR), ensure_ascii=False)
    told = page.run("return device.checkRelease(given[0])", text)
    assert told == {"objections": [], "notCompared": ["who asked", "B"]}
    assert len(service.requests) == asked, "nothing is sent"


_RECORDED_EARLIER = """
const database = await new Promise((resolve) => {
  const request = indexedDB.open("neologue");
  request.onsuccess = () => resolve(request.result);
});
const transaction = database.transaction("answers", "readwrite");
const store = transaction.objectStore("answers");
store.getAll().onsuccess = ({ target }) => {
  for (const { operator, bound, ...rest } of target.result) store.put(rest);
};
await new Promise((resolve) => (transaction.oncomplete = resolve));
database.close();
"""


@pytest.mark.parametrize(
    "layer",
    [
        small_layer(["ab", "ca"], 3),
        small_layer(["ab", "ca"], 5, mechanism="subset-selection", epsilon=0.7),
        small_layer(["ab"], 1, epsilon=10.0, targets=frozenset({"abc", "abca"})),
        small_closed_layer(["abc"], epsilon=9.9, bound=1, known=Vocabulary.empty()),
        small_closed_layer(["abc", "cab"], mechanism="subset-selection", known=Vocabulary.empty()),
    ],
    ids=["unary", "subset-selection", "targets", "closed", "closed subset-selection"],
)
def test_receipts_say_what_those_of_python_say(browser: Browser, layer: Layer | ClosedLayer) -> None:
    with running(Service(layer)) as service, pages(service.address) as address:
        page = Page(browser, address)
        page.open(name="receipts", policy=LOOSE)
        page.start(service)
        assert page.state == "final"
        (report,) = reports(service)
        invitation = invite(CAMPAIGN, layer, OPERATOR)
        day = int(time.time()) // 86_400
        sent = receipts.report_receipt(day, invitation, len(report), page.spent(), Policy().lifetime_epsilon)
        assert page.receipts() == [sent, receipts.counted_receipt(day, CAMPAIGN)]


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("closed", [False, True], ids=["layer", "closed layer"])
def test_with_a_large_epsilon_the_word_that_counts_is_voted_for(browser: Browser, mechanism: str, closed: bool) -> None:
    # The coin of a unary bit is fair, so that 20 devices are asked: once in half a million runs all of them agree.
    layer = (
        small_closed_layer(["abcab", "cabcab"], mechanism=mechanism, epsilon=20.0, known=Vocabulary.empty())
        if closed
        else small_layer(["ab", "ca"], 3, mechanism=mechanism, epsilon=20.0)
    )
    place = 0 if closed else int(layer.candidates.index(strings(["abcab"]))[0])  # type: ignore[union-attr]
    with running(Service(layer)) as service, pages(service.address) as address:
        page = Page(browser, address)
        page.open(policy=LOOSE | {"largestEpsilon": 20, "lifetimeEpsilon": 1000, "smallestLayerSize": 1})
        for number in range(20):
            page.open(name=f"device{number}")
            page.start(service, "abcab", "cab")
            assert page.state == "final"
        votes = [set(read_report(layer, report).tolist()) for report in reports(service)]
        assert len(votes) == 20
        hits = sum(place in voted for voted in votes)
        assert hits == 20 if mechanism == "subset-selection" else 0 < hits < 20
        known = -1 if closed else int(layer.candidates.index(strings(["cab"]))[0])  # type: ignore[union-attr]
        assert not any(known in voted for voted in votes)
        assert ("stand for all other words" in page.receipts()[0]) is closed


def _invited_to_a_layer(service: Served, devices: int) -> tuple[str, list[Credential]]:
    """The operator of a campaign that has begun, and credentials of devices that its first layer invites."""
    told = json.loads(msgspec.json.encode(definition(rehearsal=True)))
    assert service.ask("POST", "/v1/campaigns", told).status == 201
    assert service.ask("POST", "/v1/campaigns/small/start", {}).status == 200
    invited: list[Credential] = []

    def look() -> bool:
        reply = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 20})
        invited.extend(
            Credential.parse(text)
            for text in reply.body.decode().split()
            if service.ask("POST", "/v1/check-in", {"credential": text}).json["state"] == "invited"
        )
        return len(invited) >= devices

    wait_until(look)
    return service.ask("GET", "/v1/key").json["operator"], invited[:devices]


def test_a_device_contributes_to_a_real_layer(browser: Browser, tmp_path: Path) -> None:
    with (
        served(f"sqlite:///{tmp_path}/service.db", failures_per_minute=1e5, patience=0.3) as service,
        pages(service.address) as address,
        ExitStack() as devices,
    ):
        operator, invited = _invited_to_a_layer(service, 10)
        page = Page(browser, address)
        page.open(operators=[operator], policy=LOOSE | {"smallestLayerSize": 1})
        page.run("await device.optIn(); await device.join(given[0]); device.typed('lol')", invited[0].text)
        assert page.run("return (await device.look()).state") == "invited"
        assert page.run("return (await device.preview('lol')).counts") is True
        assert page.run("return (await device.preview('the')).why") == "it is a known word"
        assert page.state == "received"
        policy = replace(simulated_policy(bytes.fromhex(operator)), smallest_layer_size=1)
        for number, credential in enumerate(invited[1:]):
            client = Client(tmp_path / f"device{number}", service.address, policy, sending_time=AT_ONCE)
            other = devices.enter_context(client)
            other.join(credential.text)
            assert other.tick().state in ("received", "final")
        wait_until(lambda: page.state in ("final", "over"))
        assert "was counted" in page.receipts()[-1]
        (layer,) = service.ask("GET", "/v1/campaigns/small/layers").json
        assert layer["reports"] >= 10


def test_the_three_lines_of_the_documentation_are_a_device(page: Page, service: Service) -> None:
    page.start(service, "caca")
    lines = (ROOT / "docs" / "browser.md").read_text("utf-8").partition("```js\n")[2].partition("```")[0]
    assert len(lines.splitlines()) == 3
    lines = lines.replace("{ server:", "{ sendingWindow: [0, 0.001], server:")
    imported, opened, used = lines.replace("https://words.example.org", page.address).replace("5f1c…", KEY).splitlines()
    assert imported == 'import { Device } from "./neologue-device.js";'
    page.run(f'const {{ Device }} = await import("/static/neologue-device.js"); {opened} {used}')
    assert len(service.final) == 1
    assert page.words() == {"caca": 1, "yeet": 1}


def test_a_preview_says_what_would_count_and_why_not(page: Page, service: Service) -> None:
    page.start(service)
    assert page.run("return device.preview('abc')") == {
        "word": "abc",
        "counts": None,
        "why": "nothing is asked of this device yet",
    }
    assert page.run("return (await device.look()).state") == "invited"
    assert service.bodies == []
    for _ in range(2):
        said = page.run("return Promise.all(given[0].map((word) => device.preview(word)))", list(PREVIEWS))
        assert {one["word"]: (one["counts"], one["why"]) for one in said} == PREVIEWS
        page.open()
    assert service.asked("/v1/layers") == 1, "what was fetched is kept"
    assert "abc" not in page.words(), "what is only looked at is not"


PREVIEWS = {
    "abc": (True, "it may be one of at most 4 that the report speaks of"),
    "cab": (False, "it is a known word"),
    "CAB": (False, "it has a character that is not asked for"),
    "bbb": (False, "it goes on in a way that is not asked about"),
    "abcabca": (False, "it has 7 characters, and words of up to 6 are asked for"),
    "a b": (False, "it has white space in it"),
    "": (False, "it is empty, or so long that it is not kept"),
}


def test_a_report_is_explained_as_the_server_reads_it(page: Page, service: Service) -> None:
    page.start(service)
    meaning = page.run("return device.explain((await device.tick()).report)")
    assert isinstance(service.layer, Layer)
    prefixes, ended = service.layer.candidates.prefixes(read_report(service.layer, reports(service)[0]))
    assert [(vote["prefix"], vote["ends"]) for vote in meaning["votes"]] == list(zip(prefixes, ended, strict=True))
    channel = service.layer.randomizer.channel
    assert meaning["candidates"] == service.layer.randomizer.candidates
    assert (meaning["chanceHeld"], meaning["chanceOther"]) == pytest.approx((float(channel.p), float(channel.q)))


# The owner's will


def test_nothing_is_stored_or_sent_before_the_owner_opts_in(page: Page, service: Service) -> None:
    page.run("await device.typed('abcab')")
    assert page.state == "out"
    with pytest.raises(PageError, match="has not opted in"):
        page.run("await device.join(given[0])", service.credential().text)
    assert page.words() == {}
    assert page.run("return [await device.optedIn(), await device.receipts(), await device.spent()]") == [False, [], 0]
    page.run("await device.optOut(); await device.forget('abcab'); await device.forgetMe()")
    assert page.run(DATABASES) == 0
    assert service.requests == []


def test_an_opt_out_holds(page: Page, service: Service) -> None:
    page.start(service)
    page.run("await device.optOut()")
    for _ in range(2):
        page.run("await device.typed('cabcab')")
        assert page.state == "out"
        assert page.words() == {}
        page.open()
    assert service.requests == []
    page.run("await device.optIn(); await device.typed('cabcab')")
    assert page.words() == {"cabcab": 1}
    assert page.state == "final"


def test_a_report_that_waits_is_held_back_by_an_opt_out_and_is_the_same_afterwards(
    page: Page, service: Service
) -> None:
    service.batch = 2
    page.start(service)
    assert page.state == "received"
    page.run("await device.optOut()")
    assert page.state == "out"
    assert len(service.bodies) == 1
    page.run("await device.optIn()")
    assert page.state == "received"
    assert service.bodies[0] == service.bodies[1]


def test_private_fields_and_secrets_are_not_kept(page: Page, service: Service) -> None:
    page.start(service, "abc")
    page.run(
        """
        await device.typed("hunter", { private: true });
        for (const word of ["x".repeat(65), "", "  ", String.fromCharCode(0xd83d)]) await device.typed(word);
        """
    )
    assert page.words() == {"abc": 1}


def test_who_wants_to_be_forgotten_is_forgotten_and_yet_answers_no_second_time(page: Page, service: Service) -> None:
    page.start(service)
    assert page.state == "final"
    page.run("await device.forgetMe()")
    assert page.words() == {}
    assert page.receipts() == []
    assert page.spent() == 3.0
    assert page.run(_KEPT) == {"answers": 1, "diary": 0, "library": 0, "owner": 1, "receipts": 0, "reports": 0}
    assert page.state == "alone"
    page.start(service)
    assert page.state == "over"
    assert len(service.bodies) == 1


_KEPT = """
const database = await new Promise((resolve) => {
  const request = indexedDB.open("neologue");
  request.onsuccess = () => resolve(request.result);
});
const kept = {};
for (const name of database.objectStoreNames) {
  kept[name] = await new Promise((resolve) => {
    const request = database.transaction(name).objectStore(name).count();
    request.onsuccess = () => resolve(request.result);
  });
}
database.close();
return kept;
"""


def test_a_campaign_is_left_for_another_only_when_nothing_waits(page: Page, service: Service) -> None:
    service.batch = 2
    page.start(service)
    assert page.state == "received"
    other = Credential(bytes(15) + b"\x02", bytes(16), bytes(64)).text
    with pytest.raises(PageError, match="still waits to be confirmed"):
        page.run("await device.join(given[0])", other)
    page.run("await device.leave(); await device.join(given[0])", other)
    assert "was given up" in page.receipts()[-1]
    assert page.spent() == 3.0


# The diary


def test_words_expire_are_evicted_and_forgotten(page: Page) -> None:
    page.open(days=3, capacity=3)
    page.run("await device.optIn(); globalThis.day = 20000; Date.now = () => day * 86400000")
    page.run(
        "await device.typed('old'); day = 20001; await device.typed('often', { times: 5 }); await device.typed('rare')"
    )
    assert page.words() == {"old": 1, "often": 5, "rare": 1}
    page.run("day = 20002; await device.typed('often'); await device.typed('new')")
    assert page.words() == {"often": 6, "rare": 1, "new": 1}, "the one with the oldest last use has to go"
    page.run("await device.forget(' new ')")
    page.run("day = 20003; await device.typed('last')")
    assert page.words() == {"often": 6, "rare": 1, "last": 1}
    page.run("day = 20004")
    assert page.words() == {"often": 1, "last": 1}, "of what was typed on the first day nothing is left"
    page.run("day = 20006")
    assert page.words() == {}


def test_forms_of_one_word_are_one_word(page: Page) -> None:
    page.run(
        "await device.optIn(); for (const word of given[0]) await device.typed(word)", ["caf\u00e9", " cafe\u0301\n"]
    )
    assert page.words() == {"caf\u00e9": 2}


def test_a_clock_that_was_set_back_costs_no_words(page: Page) -> None:
    page.run("await device.optIn(); Date.now = () => 20000 * 86400000; await device.typed('later')")
    page.run("Date.now = () => 19000 * 86400000")
    assert page.words() == {"later": 1}


# The same bytes, whatever happens


@pytest.mark.parametrize("fault", [lost_before, lost_after], ids=["request lost", "answer lost"])
def test_after_a_reload_the_same_bytes_are_sent_again(page: Page, service: Service, fault: Any) -> None:  # noqa: ANN401
    page.start(service)
    # The browser itself may try once more when a connection is cut.
    service.ahead("/v1/reports", fault, fault, fault)
    state, again, _ = page.tick()
    assert state == "later"
    assert again is not None
    assert 30 <= again <= 60
    service.faults.clear()
    page.open()
    page.run("await device.typed('cacaca')")
    assert page.state == "final"
    assert len(set(service.bodies)) == 1
    assert len(service.final) == 1
    assert len(page.receipts()) == 2


def test_a_browser_that_is_killed_between_recording_and_sending_sends_what_it_recorded(
    service: Service, tmp_path: Path
) -> None:
    with pages(service.address) as address:
        with browsing(tmp_path / "profile") as browser:
            page = Page(browser, address).start(service)
            recorded = page.run(
                """
                const fetched = globalThis.fetch;
                return new Promise((resolve) => {
                  // The body is handed over here, and nowhere else: no byte of it goes out.
                  globalThis.fetch = (path, options) => {
                    if (!path.endsWith("/v1/reports")) return fetched(path, options);
                    resolve(btoa(String.fromCharCode(...options.body)));
                    return new Promise(() => undefined);
                  };
                  device.tick();
                });
                """
            )
            browser.kill()
        assert service.bodies == []
        with browsing(tmp_path / "profile") as browser:
            page = Page(browser, address)
            assert page.spent() == 3.0
            assert page.state == "final"
        assert service.bodies == [base64.b64decode(recorded)]


def test_two_tabs_make_one_report(page: Page, service: Service) -> None:
    service.batch = 2
    page.start(service)
    states = page.run(
        """
        const { Device } = await import("/static/neologue-device.js");
        const tabs = await Promise.all(Array.from({ length: 4 }, () => Device.open(given[0])));
        return (await Promise.all(tabs.map((tab) => tab.tick()))).map((tick) => tick.state);
        """,
        page.options,
    )
    assert set(states) == {"received"}
    assert len(service.bodies) == 4
    assert len(set(service.bodies)) == 1
    assert len(page.receipts()) == 1
    assert page.spent() == 3.0


def test_a_ticket_that_is_not_accepted_is_renewed_and_the_bytes_stay(page: Page, service: Service) -> None:
    page.start(service)
    service.ahead("/v1/reports", instead(error(401, "forged")))
    assert page.tick()[:2] == ("refused", 3600)
    assert page.state == "final"
    assert service.asked("/v1/check-in") == 2
    assert len(set(reports(service))) == 1


def test_too_late_is_too_late(page: Page, service: Service) -> None:
    page.start(service)
    service.closed = True
    assert page.state == "closed"
    assert page.state == "over"
    assert "was given up" in page.receipts()[-1]
    assert page.spent() == 3.0


def test_it_waits_as_long_as_it_is_asked_to(page: Page, service: Service) -> None:
    page.start(service)
    service.state = "wait"
    assert page.tick()[:2] == ("wait", 7)
    service.ahead("/v1/check-in", instead(error(429, "slow_down", Retry_After="99999999")))
    assert page.tick()[:2] == ("later", 86_400)
    service.ahead("/v1/check-in", instead(error(503, "busy", Retry_After="0")))
    assert page.tick()[:2] == ("later", 1)
    service.state = "over"
    assert page.state == "over"
    assert page.spent() == 0


# Hostile servers


HUGE = Reply(200, b'{"state": "final", "x": "' + b"x" * 70_000 + b'"}')
NONSENSE = {
    "no JSON": Reply(200, b"<html>"),
    "a list": Reply.of(200, []),
    "no state": Reply.of(200, {}),
    "another state": Reply.of(200, {"state": "final!"}),
    "deep": Reply(200, b"[" * 60_000),
    "not UTF-8": Reply(200, b'{"state": "\xff"}'),
    "too long": HUGE,
    "elsewhere": Reply(302, b"", {"Location": "/v1/check-in"}),
    "broken": Reply(500, b""),
    "a time that is none": Reply.of(200, {"state": "wait", "retry_after": "soon"}),
}


@pytest.mark.parametrize("reply", NONSENSE.values(), ids=NONSENSE.keys())
@pytest.mark.parametrize("path", ["/v1/check-in", "/v1/reports"])
def test_an_answer_that_makes_no_sense_is_for_later(page: Page, service: Service, path: str, reply: Reply) -> None:
    page.start(service)
    service.ahead(path, instead(reply))
    assert page.state == "later"
    assert page.state == "final"
    assert len(service.final) == 1


def _refused(page: Page, service: Service) -> str:
    """Why the device refuses; it has made nothing and spent nothing."""
    page.start(service)
    state, again, message = page.tick()
    assert (state, again) == ("refused", 86_400), message
    assert service.bodies == []
    assert page.spent() == 0
    assert page.receipts() == []
    return message


def test_a_stranger_is_not_answered_and_nothing_is_fetched_for_them(page: Page, service: Service) -> None:
    service.operator = STRANGER
    assert "is not one of the 1 that this device answers" in _refused(page, service)
    assert service.asked("/v1/layers") == 0


# An operator whose key is replaced

SECOND, THIEF, RECOVERY = (Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(3))
PINNED = f"{KEY}:{recovery_digest(RECOVERY.public_key().public_bytes_raw()).hex()}"


def _raw(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def test_a_new_key_is_followed_and_the_old_one_is_refused_for_good(page: Page, service: Service) -> None:
    service.state, service.links = "wait", [succeed(OPERATOR, _raw(SECOND))]
    page.start(service)
    assert page.state == "wait", "a device that waits learns it too"
    service.state, service.links = "invited", []
    page.open()
    state, _, message = page.tick()
    assert (state, f"was replaced by {_raw(SECOND).hex()}" in message) == ("refused", True)
    page.run("await device.forgetMe(); await device.join(given[0])", service.credential().text)
    assert page.state == "refused", "not even when its owner wants to be forgotten"
    service.operator = SECOND
    assert page.state == "final"


def test_a_report_that_was_made_before_a_rotation_is_sent_after_it(page: Page, service: Service) -> None:
    service.ahead("/v1/reports", instead(error(401, "forged")))
    assert page.start(service).state == "refused"
    service.links, service.operator = [succeed(OPERATOR, _raw(SECOND))], SECOND
    assert page.state == "final"
    assert len(set(reports(service))) == 1


def test_a_thief_of_the_operators_key_is_shaken_off_by_a_revocation(page: Page, service: Service) -> None:
    page.open(operators=[PINNED])
    service.state, service.links = "wait", [succeed(OPERATOR, _raw(THIEF))]
    page.start(service).tick()
    service.state, service.operator = "invited", SECOND
    service.links = [revoke(RECOVERY, _raw(OPERATOR), _raw(SECOND))]
    for stolen in (OPERATOR, THIEF):
        service.operator = stolen
        assert page.state == "refused"
    service.links, service.operator = [succeed(OPERATOR, _raw(THIEF))], OPERATOR
    state, _, message = page.tick()
    assert (state, "was revoked" in message) == ("refused", True)
    assert service.bodies == []
    service.operator = SECOND
    assert page.state == "final"


def test_a_revocation_needs_the_pinned_recovery_key(page: Page, service: Service) -> None:
    page.open(operators=[PINNED])
    service.operator, service.links = THIEF, [revoke(THIEF, _raw(OPERATOR), _raw(THIEF))]
    assert "is not one of the 1 that this device answers" in _refused(page, service)
    page.open(operators=[KEY])
    service.operator, service.links = SECOND, [revoke(RECOVERY, _raw(OPERATOR), _raw(SECOND))]
    assert page.state == "refused"


def test_a_wrong_succession_is_refused_before_all_else(page: Page, service: Service) -> None:
    link = succeed(OPERATOR, _raw(SECOND))
    service.links = [replace(link, signature=bytes(64))]
    assert "signature that is wrong" in _refused(page, service)
    service.links = []
    assert page.state == "final"


def test_operators_are_keys_perhaps_with_recovery_keys(page: Page) -> None:
    for wrong in ([KEY[:-1]], [KEY + ":"], [KEY + ":" + KEY[:-2]], [f"{PINNED}:{KEY}"], "x", [7]):
        with pytest.raises(PageError, match="operators must be a list of public keys"):
            page.open(operators=wrong)


def test_a_release_may_be_signed_by_a_successor_that_is_known(page: Page, service: Service) -> None:
    assert page.start(service).state == "final"
    said = {
        "format": 3,
        "campaign": CAMPAIGN.hex(),
        "parameters": {"epsilon": 3.0, "words_per_user": service.layer.bound},
        "layers": [{"digest": service.layer.digest.hex()}],
        "measurement": None,
        "exposure": {"masked": None},
    }
    assert isinstance(service.layer, Layer)
    assert service.layer.epsilon == 3.0
    text = json.dumps(sign_document(said, SECOND))
    check = "return (await device.checkRelease(given[0])).objections"
    assert len(page.run(check, text)) == 1
    page.run("await device.follow(given[0])", bytes(succeed(OPERATOR, _raw(SECOND))).hex())
    assert page.run(check, text) == []
    assert page.run(check, json.dumps(sign_document(said, OPERATOR))) == [], "one of before still counts"


def test_browsers_and_python_follow_a_rotation_in_the_middle_of_a_real_layer(
    browser: Browser, url: str, tmp_path: Path
) -> None:
    """One browser has sent its report before all keys are rotated, another and some in Python do so afterwards."""
    with (
        served(url, failures_per_minute=1e5, patience=0.3) as service,
        pages(service.address) as address,
        ExitStack() as devices,
    ):
        first, invited = _invited_to_a_layer(service, 10)
        page = Page(browser, address)
        loose = LOOSE | {"smallestLayerSize": 1}
        join = "await device.optIn(); await device.join(given[0]); device.typed('lol')"
        page.open(operators=[first], policy=loose, name="before")
        page.run(join, invited[0].text)
        assert page.state == "received"
        for purpose in ("operator", "ticket", "issuer"):
            assert service.ask("POST", f"/v1/keys/{purpose}/rotate").status == 200
        page.open(name="after")
        page.run(join, invited[1].text)
        assert page.state == "received"
        policy = replace(simulated_policy(bytes.fromhex(first)), smallest_layer_size=1)
        for number, credential in enumerate(invited[2:]):
            client = Client(tmp_path / f"device{number}", service.address, policy, sending_time=AT_ONCE)
            other = devices.enter_context(client)
            other.join(credential.text)
            assert other.tick().state in ("received", "final")
        for name in ("before", "after"):
            page.open(name=name)
            wait_until(lambda: page.state in ("final", "over"))
            assert "was counted" in page.receipts()[-1]


def _forged(service: Service, **changes: str) -> None:
    answered = service.invited
    service.invited = lambda credential: answered(credential) | changes  # type: ignore[method-assign]


def test_a_forged_signature_is_refused(page: Page, service: Service) -> None:
    stranger = STRANGER.public_key().public_bytes_raw().hex()
    page.open(operators=[KEY, stranger])
    _forged(service, operator=stranger)
    assert "the signature is not the operator's" in _refused(page, service)
    assert service.requests == [("POST", "/v1/check-in")], "nothing is fetched, and so nothing is parsed"


def test_a_signature_for_another_campaign_is_refused(page: Page, service: Service) -> None:
    other = invite(bytes(16), service.layer, OPERATOR)
    _forged(service, signature=other.signature.hex())
    assert "the signature is not the operator's" in _refused(page, service)


def test_an_invitation_to_vote_under_masks_is_refused_in_plain_words(page: Page, service: Service) -> None:
    _forged(service, masked="646402")
    assert "takes votes under masks, which this device does not make" in _refused(page, service)


@pytest.mark.parametrize("kind", ["layers", "known"])
def test_bytes_with_another_digest_are_refused(page: Page, service: Service, kind: str) -> None:
    path = next(path for path in service.documents if kind in path)
    service.documents[path] += b" "
    assert "has another digest" in _refused(page, service)


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"epsilon": 10.5}, "largestEpsilon"),
        ({"epsilon": 10.0, "bound": 61}, "largestUserEpsilon"),
        ({"layer_size": 99}, "smallestLayerSize"),
        ({"depth": 33}, "longestWord"),
        ({"extension": 2**31 - 1}, "largestLayer"),
        ({"extension": 9, "epsilon": 0.5}, "largestReport"),
        ({"mechanism": "subset-selection", "extension": 12, "epsilon": 0.001, "bound": 20}, "mostVotes"),
        ({"bound": 2**31 - 1, "epsilon": 0.001}, "largestUserEpsilon"),
        ({"extension": 2}, "fewestNoiseVotes"),
        ({"mechanism": "subset-selection", "epsilon": 10.0}, "largestSilenceRatio"),
        ({"targets": frozenset({"abc"})}, "allowTargets"),
        ({"epsilon": 0.0001}, "no policy permits"),
        ({"mechanism": "plain"}, "randomizer is not one of"),
    ],
    ids=str,
)
def test_a_layer_that_asks_for_too_much_is_refused(browser: Browser, changes: dict[str, Any], limit: str) -> None:
    layer = small_layer(**{"frontier": ["ab", "ca"]} | changes)
    with running(Service(layer)) as service, pages(service.address) as address:
        page = Page(browser, address)
        assert limit in _refused(page, service)
        assert service.asked("/v1/known") == 0, "they are for a layer that is answered"


@pytest.mark.parametrize("limit", [{"mostKnownWords": 1}, {"largestKnown": 8}])
def test_more_known_words_than_its_owner_takes_are_refused(page: Page, service: Service, limit: dict[str, int]) -> None:
    page.open(policy=limit)
    assert "its owner can change mostKnownWords and largestKnown" in _refused(page, service)


def test_a_lifetime_is_a_sum_without_rounding(browser: Browser) -> None:
    # Ten times 0.1 is a little more than 1 in binary, although floating point adds it up to a little less.
    layer = small_layer(["ab", "ca"], epsilon=0.1)
    with pages() as address:
        page = Page(browser, address)
        page.open(policy={"lifetimeEpsilon": 1})
        for number in range(1, 11):
            message = _answered_directly(page, campaign_id(number), layer)
            assert ("lifetimeEpsilon" in message) is (number == 10), message
        assert 0.9 <= page.spent() < 1


def _answered_directly(page: Page, campaign: bytes, layer: Layer) -> str:
    """What the device says to an invitation that the page itself hands it, without any server."""
    invitation = invite(campaign, layer, OPERATOR)
    told = {
        "state": "invited",
        "layer": layer.digest.hex(),
        "operator": invitation.operator.hex(),
        "signature": invitation.signature.hex(),
        "ticket": bytes(16).hex(),
    }
    message: str = page.run(
        """
        const [credential, told, documents] = given;
        globalThis.fetch = async (path) => {
          const name = new URL(path).pathname.split("/")[2];
          const answers = { "check-in": JSON.stringify(told), reports: '{"state": "final"}', ...documents };
          return new Response(answers[name]);
        };
        await device.optIn();
        await device.join(credential);
        return (await device.tick()).message;
        """,
        Credential(campaign, bytes(16), bytes(64)).text,
        told,
        {"layers": layer.document.decode(), "known": known_document(layer.known).decode()},
    )
    return message


def test_what_the_policy_would_not_make_now_is_not_sent_again_either(page: Page, service: Service) -> None:
    service.batch = 2
    page.start(service)
    assert page.state == "received"
    page.open(policy={"largestEpsilon": 1})
    state, _, message = page.tick()
    assert (state, "largestEpsilon" in message) == ("refused", True)
    page.open(policy={"enabled": False})
    assert page.tick()[:2] == ("refused", None)
    assert len(service.bodies) == 1


def test_an_account_that_lost_its_answer_is_silent(page: Page, service: Service) -> None:
    service.batch = 2
    page.start(service)
    assert page.state == "received"
    page.run(
        """
        const database = await new Promise((resolve) => {
          const request = indexedDB.open("neologue");
          request.onsuccess = () => resolve(request.result);
        });
        const transaction = database.transaction(["answers", "reports"], "readwrite");
        transaction.objectStore("answers").clear();
        transaction.objectStore("reports").clear();
        await new Promise((resolve) => (transaction.oncomplete = resolve));
        database.close();
        """
    )
    with pytest.raises(PageError, match="has lost its answer"):
        page.tick()
    assert len(service.bodies) == 1


def test_no_error_quotes_a_word(page: Page, service: Service) -> None:
    page.start(service, "xylomancy")
    service.operator = STRANGER
    assert "xylomancy" not in page.tick()[2]
    with pytest.raises(PageError, match="times is 0") as caught:
        page.run("await device.typed('xylomancy', { times: 0 })")
    assert "xylomancy" not in str(caught.value)


# What it needs


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"server": "http://words.example.org"}, "can't be talked to"),
        ({"server": "https://words.example.org/?a"}, "can't be talked to"),
        ({"server": "https://"}, "no address"),
        ({"operators": ["ab"]}, "64 lower-case"),
        ({"policy": {"largestEpsilon": 0}}, "largestEpsilon can't be 0"),
        ({"policy": {"smallestLayerSize": 1.5}}, "smallestLayerSize can't be 1.5"),
        ({"policy": {"largest_epsilon": 1}}, "largest_epsilon can't be 1"),
        ({"policy": {"allowTargets": 1}}, "allowTargets can't be 1"),
        ({"policy": {"largestVoteRatio": 0.5}}, "largestVoteRatio can't be 0.5"),
        ({"policy": {"fewestNoiseVotes": -1}}, "fewestNoiseVotes can't be -1"),
        ({"days": 0}, "days is 0"),
    ],
    ids=str,
)
def test_wrong_options_are_told(page: Page, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(PageError, match=complaint):
        page.open(**options)


def test_a_browser_without_ed25519_is_refused(page: Page) -> None:
    with pytest.raises(PageError, match="can't check Ed25519 signatures"):
        page.run(
            """
            crypto.subtle.importKey = async () => { throw new DOMException("no", "NotSupportedError") };
            const { Device } = await import("/static/neologue-device.js");
            await Device.open(given[0]);
            """,
            page.options,
        )


@pytest.mark.parametrize("allowed", [True, False])
def test_a_page_of_another_origin_needs_the_service_to_allow_it(
    browser: Browser, service: Service, allowed: bool
) -> None:
    with pages(service.address, cors=allowed) as server, pages(connects_to=server) as address:
        page = Page(browser, address)
        page.open(server=server)
        page.start(service)
        service.ahead("/v1/check-in", instead(error(503, "busy", Retry_After="9")))
        state, again, _ = page.tick()
        assert (state, again == 9) == ("later", allowed)
        assert page.state == ("final" if allowed else "later")
        assert page.spent() == (3.0 if allowed else 0.0)
