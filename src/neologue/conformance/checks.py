"""The checks: each sets a scene for a rule of docs/protocol.md, and complains if the device breaks it."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from neologue.conformance.scene import (
    OPERATOR,
    STRANGER,
    WORDS,
    Scene,
    extending_layer,
    likely_layer,
    require,
)
from neologue.conformance.scripted_service import Reply, instead, lost_answer, lost_request
from neologue.errors import ReportError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.credential import Credential
from neologue.protocol.invitation import invite, signed_message
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from neologue.protocol.succession import Succession, succeed

HOUR: Final = 3600.0
DAY: Final = 86_400.0
CHECK_IN: Final = "/v1/check-in"
REPORTS: Final = "/v1/reports"


@dataclass(frozen=True)
class Check:
    """One thing that a device does, or must not do."""

    rules: tuple[str, ...]
    sentence: str
    run: Callable[[Scene], None]


CHECKS: Final[list[Check]] = []


def check(*rules: str) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Enter a check; its sentence is that of the function."""

    def enter(run: Callable[[Scene], None]) -> Callable[[Scene], None]:
        CHECKS.append(Check(rules, (run.__doc__ or "").partition("\n")[0].removesuffix("."), run))
        return run

    return enter


# A campaign without incidents


@check("T4", "T6", "T8", "R5")
def answers_in_order(scene: Scene) -> None:
    """It checks in, fetches the layer and its known words, and sends one report that can be read."""
    service = scene.service
    scene.open(WORDS)
    (done,) = scene.ticks("final")
    require(done.again is None, "it wants another step although its report is final")
    asked = [(request.method, request.path) for request in service.requests]
    layer, known = f"/v1/layers/{service.layer.digest.hex()}", f"/v1/known/{service.layer.known.digest}"
    expected = [("POST", CHECK_IN), ("GET", layer), ("GET", known), ("POST", REPORTS)]
    require(asked == expected, f"it asks for {asked}")
    require(json.loads(service.requests[0].body) == {"credential": scene.credential}, "it shows more than a credential")
    require(service.requests[-1].kind == "application/octet-stream", "a report has another content type")
    sent, shown = Submission.parse(service.reports[0]), Credential.parse(scene.credential)
    require((sent.campaign_id, sent.serial) == (shown.campaign_id, shown.serial), "a report names another device")
    _require_readable(scene)


@check("L7", "R5")
def answers_likely_strings(scene: Scene) -> None:
    """It answers a layer of likely strings with a report that can be read."""
    scene.service.ask_about(likely_layer())
    scene.open(WORDS)
    scene.ticks("final")
    _require_readable(scene)


def _require_readable(scene: Scene) -> None:
    for report in scene.service.final.values():
        try:
            read_report(scene.service.layer, report)
        except ReportError as error:
            require(False, f"its report can't be read: {error}")


@check("R6", "N5")
def says_nothing_at_the_same_length(scene: Scene) -> None:
    """A device without words talks as one with words does, and its report has the same length."""
    scene.open()
    scene.ticks("final")
    silent = [(request.path, len(request.body)) for request in scene.service.requests]
    scene.service.requests.clear()
    scene.driver.close()
    scene.folder = scene.folder / "another"
    scene.credential = scene.service.credential()
    scene.open(WORDS)
    scene.ticks("final")
    spoken = [(request.path, len(request.body)) for request in scene.service.requests]
    require(silent == spoken, "what it asks for, or how long its report is, depends on its words")
    require(len(set(scene.service.final.values())) == 2, "two devices send the same bytes")


@check("N9")
def shows_no_word(scene: Scene) -> None:
    """No request has a word in it, nor the credential but at check-in."""
    scene.open(WORDS)
    scene.ticks("final")
    for request in scene.service.requests:
        require(not any(word.encode() in request.body for word in WORDS), f"a word is in a request for {request.path}")
        shows = scene.credential.encode() in request.body
        require(shows == (request.path == CHECK_IN), f"the credential is shown to {request.path}")


# Check-in


@check("T4", "T9")
def waits_as_told(scene: Scene) -> None:
    """It waits as long as it is told, at least a second and not for ever."""
    for seconds, least in ((7, 7.0), (0, 1.0), (10**12, DAY)):
        scene.service.script(CHECK_IN, instead(Reply.json(200, {"state": "wait", "retry_after": seconds})))
        if least == 7.0:
            scene.open(WORDS)
        (step,) = scene.ticks("wait")
        require(step.again is not None and least <= step.again <= 2 * DAY, f"it waits {step.again} s, not {least} s")
    scene.require_nothing_sent()


@check("T4")
def ends_when_all_is_over(scene: Scene) -> None:
    """After "over" it asks nothing more in the campaign."""
    scene.service.script(CHECK_IN, instead(Reply.json(200, {"state": "over"})))
    scene.open(WORDS)
    (step,) = scene.ticks("over")
    scene.restart()
    scene.tick()
    require(step.again is None and len(scene.service.requests) == 1, "it goes on asking")


@check("T9")
def asks_again_in_an_hour_if_it_is_refused(scene: Scene) -> None:
    """A check-in that is refused is made again in an hour or later."""
    scene.open(WORDS)
    for status, code in ((400, "malformed"), (401, "forged"), (404, "unknown"), (413, "too_large")):
        scene.service.script(CHECK_IN, instead(Reply.error(status, code)))
        step = scene.tick()
        require(step.again is not None and step.again >= HOUR, f"after {status} it waits {step.again} s")
    scene.require_nothing_sent()


@check("T2", "T9")
def comes_later_after_nonsense(scene: Scene) -> None:
    """An answer that makes no sense is for later, and nothing is sent for it."""
    invited = scene.service.invitation(scene.credential)
    nonsense: list[object] = [
        [],
        {},
        {"state": "dance"},
        {"state": "wait"},
        {"state": "wait", "retry_after": "7"},
        {"state": "wait", "retry_after": True},
        {name: value for name, value in invited.items() if name != "ticket"},
        invited | {"ticket": invited["ticket"].upper() + "AA"},
        invited | {"layer": invited["layer"][:-2]},
        invited | {"signature": None},
    ]
    scene.open(WORDS)
    for told in nonsense:
        scene.service.script(CHECK_IN, instead(Reply.json(200, told)))
        step = scene.tick()
        require(step.state == "later" and step.again is not None and step.again >= 1, f"{told!r} is {step.state}")
    scene.service.script(CHECK_IN, instead(Reply(200, b"\xff<html>")))
    scene.ticks("later")
    require(scene.service.asked("/v1/layers") == 0, "it fetches a layer")


@check("T2")
def ignores_what_it_does_not_know(scene: Scene) -> None:
    """A key of an answer that it does not know is ignored."""
    scene.service.told = {"weather": {"sun": True}, "proof": "00"}
    scene.open(WORDS)
    scene.ticks("final")


@check("T9")
def comes_later_and_later(scene: Scene) -> None:
    """Without a time from the server, it waits 30 to 60 seconds, then twice as long each time."""
    scene.open(WORDS)
    for failure in range(4):
        scene.service.script(CHECK_IN, instead(Reply.error(503, "busy")))
        step = scene.tick()
        least = 30.0 * 2**failure
        require(step.again is not None and least <= step.again <= 2 * least, f"failure {failure + 1}: {step.again} s")


@check("T9")
def keeps_to_retry_after(scene: Scene) -> None:
    """It waits as Retry-After says, within a second and a day."""
    scene.open(WORDS)
    for status, after, least in ((503, "70", 70.0), (429, "999999999", DAY), (500, "0", 1.0)):
        scene.service.script(CHECK_IN, instead(Reply.error(status, "busy", Retry_After=after)))
        step = scene.tick()
        require(step.again is not None and least <= step.again <= 2 * max(least, 30.0), f"{after}: {step.again} s")


@check("T1")
def follows_no_redirection(scene: Scene) -> None:
    """A redirection is not followed."""
    scene.service.script(CHECK_IN, instead(Reply(307, b"", {"Location": "/v1/elsewhere"})))
    scene.open(WORDS)
    scene.ticks("later")
    require(scene.service.asked("/v1/elsewhere") == 0, "it follows a redirection")


@check("T1", "F1", "P15")
def reads_no_more_than_it_should(scene: Scene) -> None:
    """Answers that are too long are not used: of a check-in, a layer document, known words."""
    endless = Reply(200, b"{" + b" " * (1 << 17) + b"}")
    scene.service.script(CHECK_IN, instead(endless))
    scene.service.script("/v1/layers", instead(Reply(200, b" " * ((1 << 24) + 1))))
    scene.service.script("/v1/known", instead(Reply(200, b"a\n" * (1 << 23) + b"a")))
    scene.open(WORDS)
    for _ in range(3):
        scene.tick()
    scene.require_nothing_sent()


# Who asks, and what


@check("T5", "N8")
def answers_no_stranger(scene: Scene) -> None:
    """For an operator that its owner does not trust, nothing is fetched."""
    scene.service.operator = STRANGER
    scene.open(WORDS)
    step = scene.tick()
    require(step.again is None or step.again >= DAY, f"it asks again in {step.again} s")
    require(len(scene.service.requests) == 1, "it fetches something")


@check("T5", "N8")
def checks_signatures(scene: Scene) -> None:
    """A signature that is not the operator's for this campaign and layer is refused before anything is fetched."""
    layer = scene.service.layer
    scene.open(WORDS)
    for forged in (
        invite(bytes(16), layer, OPERATOR).signature,
        invite(scene.service.campaign_id, extending_layer(bound=5), OPERATOR).signature,
        invite(scene.service.campaign_id, layer, STRANGER).signature,
    ):
        scene.service.told = {"signature": forged.hex()}
        scene.ticks("refused")
    require(scene.service.asked("/v1/layers") == 0, "it fetches the layer")


@check("T5", "N4")
def sends_nothing_unmasked_that_is_to_be_masked(scene: Scene) -> None:
    """An invitation to vote under masks is never answered without them."""
    scene.service.told = {"masked": "0064" + "0a" + "0001" + "01" + "00" * 32}
    scene.open(WORDS)
    scene.tick()
    scene.require_nothing_sent()


@check("D6", "N8")
def checks_digests(scene: Scene) -> None:
    """Documents and known words with another digest are not used, however right they are otherwise."""
    others = {"layers": extending_layer(bound=5).document, "known": b"abcab"}
    scene.open(WORDS)
    for path, really in list(scene.service.documents.items()):
        scene.service.documents[path] = others[path.split("/")[2]]
        step = scene.tick()
        require(step.again is not None and step.again >= DAY, f"after a wrong digest it comes again in {step.again} s")
        scene.service.documents[path] = really
    scene.require_nothing_sent()


@check("T6", "P3", "P4", "P6", "P8", "P12", "P14")
def judges_a_layer_before_it_fetches_words(scene: Scene) -> None:
    """A layer beyond a limit is refused for a day, and its known words are not fetched."""
    scene.open(WORDS)
    for asked in (
        extending_layer(epsilon=10.5),
        extending_layer(bound=121),
        extending_layer(layer_size=99),
        extending_layer(targets=frozenset({"abc"})),
        extending_layer(extension=2),
    ):
        scene.service.ask_about(asked)
        (step,) = scene.ticks("refused")
        require(step.again is not None and step.again >= DAY, f"it comes again in {step.again} s")
    require(scene.service.asked("/v1/known") == 0, "it fetches known words")


@check("F2", "F20")
def refuses_what_is_not_in_its_form(scene: Scene) -> None:
    """A layer of another version, and known words out of order, are refused although their digests are right."""
    scene.open(WORDS)
    document = scene.service.layer.document.replace(b'"version":2', b'"version":3')
    _ask_about_bytes(scene, document)
    scene.ticks("refused")
    scene.service.told = {}
    known = Vocabulary(["b", "a"])
    scene.service.ask_about(extending_layer(known=known))
    unsorted = b"b\na"
    digest = _digest(unsorted)
    document = scene.service.layer.document.replace(known.digest.encode(), digest.encode())
    scene.service.documents[f"/v1/known/{digest}"] = unsorted
    _ask_about_bytes(scene, document)
    scene.ticks("refused")
    scene.require_nothing_sent()


def _ask_about_bytes(scene: Scene, document: bytes) -> None:
    """Invite to whatever some bytes are, with a right signature."""
    digest = bytes.fromhex(_digest(document))
    scene.service.documents[f"/v1/layers/{digest.hex()}"] = document
    signature = OPERATOR.sign(signed_message(scene.service.campaign_id, digest))
    scene.service.told = {"layer": digest.hex(), "signature": signature.hex()}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


# Sending


@check("T9", "N1")
def sends_the_same_bytes_until_they_are_final(scene: Scene) -> None:
    """What was received, refused or lost on the way is sent again as the same bytes, not too soon."""
    received = Reply.json(202, {"state": "received", "retry_after": 40})
    answers = {
        "received": (instead(received), 40.0),
        "malformed": (instead(Reply.error(400, "malformed")), HOUR),
        "unknown": (instead(Reply.error(404, "unknown")), HOUR),
        "repeated": (instead(Reply.error(409, "repeated")), HOUR),
        "too_large": (instead(Reply.error(413, "too_large")), HOUR),
        "slow_down": (instead(Reply.error(429, "slow_down", Retry_After="90")), 90.0),
        "busy": (instead(Reply.error(503, "busy")), 30.0),
        "nonsense": (instead(Reply.json(200, {"state": "perhaps"})), 30.0),
    }
    scene.open(WORDS)
    for name, (answer, least) in answers.items():
        scene.service.script(REPORTS, answer)
        step = scene.tick()
        require(step.again is not None and step.again >= least, f"after {name} it sends again in {step.again} s")
    scene.ticks("final")
    scene.require_same_bytes()
    require(len(scene.service.reports) == len(answers) + 1, "it does not send again each time")


@check("T9", "N1")
def renews_a_ticket_that_is_not_accepted(scene: Scene) -> None:
    """After 401 it checks in for another ticket, in an hour, and sends the same bytes with it."""
    scene.service.secret = bytes([1] * 32)
    refused = instead(Reply.error(401, "forged"))
    scene.service.script(REPORTS, refused)
    scene.open(WORDS)
    step = scene.tick()
    require(step.again is not None and step.again >= HOUR, f"it comes again in {step.again} s")
    scene.service.secret = bytes([2] * 32)
    scene.ticks("final")
    scene.require_same_bytes()
    require(scene.service.asked(CHECK_IN) == 2, "it does not check in again")


@check("T9", "Z2", "N2")
def gives_up_what_is_closed(scene: Scene) -> None:
    """After 410 it sends nothing more in the campaign, also after a restart and with another credential."""
    scene.service.script(REPORTS, instead(Reply.error(410, "closed")))
    scene.open(WORDS)
    (step,) = scene.ticks("closed")
    require(step.again is None, "it wants to come again")
    scene.credential = scene.service.credential()
    scene.restart()
    scene.tick()
    require(len(scene.service.reports) == 1, "it sends again")


@check("Z2", "N1", "N3")
def sends_the_same_bytes_after_a_restart(scene: Scene) -> None:
    """A report whose request or answer was lost is the same bytes after a restart, whatever was typed since."""
    for lost in (lost_request, lost_answer):
        # Twice, as a platform may try a second time by itself.
        scene.service.script(REPORTS, lost, lost)
        if lost is lost_request:
            scene.open(WORDS)
        else:
            scene.driver.close()
            scene.open({"abba": 5})
        scene.tick()
    scene.driver.close()
    scene.open({"cccc": 9})
    scene.tick_until_done(3)
    scene.require_same_bytes()


@check("Z2", "N3")
def remembers_what_left_before_a_crash(scene: Scene) -> None:
    """A device that dies while its report is on the way sends the same bytes when it is back."""
    scene.service.script(REPORTS, lost_answer, lost_answer)
    scene.open(WORDS)
    scene.tick()
    if not scene.driver.crash():
        scene.driver.close()
    scene.open({"abba": 5})
    scene.tick_until_done(3)
    scene.require_same_bytes()


@check("T10", "N1")
def answers_one_layer_alone(scene: Scene) -> None:
    """One that is named another layer after it has made its report sends nothing and asks again a day later."""
    scene.service.script(REPORTS, instead(Reply.error(401, "forged")))
    scene.open(WORDS)
    scene.tick()
    scene.service.requests.clear()
    scene.service.ask_about(extending_layer(bound=5))
    step = scene.tick()
    require(step.again is not None and step.again >= DAY, f"it asks again in {step.again} s")
    scene.require_nothing_sent()


@check("Z3", "N2")
def answers_no_second_time_however_it_is_forgotten(scene: Scene) -> None:
    """One that was forgotten by its owner answers no campaign a second time."""
    scene.open(WORDS)
    scene.ticks("final")
    scene.driver.owner("forget me")
    scene.credential = scene.service.credential()
    scene.restart()
    scene.tick()
    require(len(scene.service.reports) == 1, "it answers a second time")


@check("Z3")
def is_silent_when_its_owner_opts_out(scene: Scene) -> None:
    """Who opts out sends nothing, and what waits is the same bytes after opting in again."""
    scene.service.script(REPORTS, instead(Reply.error(503, "busy")))
    scene.open(WORDS)
    scene.tick()
    before = len(scene.service.requests)
    scene.driver.owner("opt out")
    scene.tick()
    require(len(scene.service.requests) == before, "it talks")
    scene.driver.owner("opt in")
    scene.ticks("final")
    scene.require_same_bytes()


# Keys


@check("K2", "K4", "N7")
def follows_a_key_and_never_goes_back(scene: Scene) -> None:
    """It follows a key that the old one names, remembers that, and refuses the old one for good."""
    link = bytes(succeed(OPERATOR, STRANGER.public_key().public_bytes_raw())).hex()
    told = Reply.json(200, {"state": "wait", "retry_after": 1, "succession": link})
    scene.service.script(CHECK_IN, instead(told))
    scene.open(WORDS)
    scene.ticks("wait")
    scene.restart()
    scene.ticks("refused")
    require(scene.service.asked("/v1/layers") == 0, "it fetches for the old key")
    scene.service.operator = STRANGER
    scene.ticks("final")


@check("K1")
def refuses_a_wrong_succession(scene: Scene) -> None:
    """A succession that is cut, of another kind or wrongly signed is refused before all else of an answer."""
    right = succeed(OPERATOR, STRANGER.public_key().public_bytes_raw())
    wrong = Succession(right.old, right.new, bytes(64))
    scene.open(WORDS)
    for link in (bytes(wrong), bytes(right)[:-1], b"\x03" + bytes(right)[1:], bytes(right) * 200):
        scene.service.told = {"succession": link.hex()}
        (step,) = scene.ticks("refused")
        require(step.again is not None and step.again >= DAY, f"it comes again in {step.again} s")
    require(scene.service.asked("/v1/layers") == 0, "it goes on")
    scene.service.told = {}
    scene.ticks("final")


RULES: Final = frozenset(rule for each in CHECKS for rule in each.rules)
"""The rules that a device can be judged by from outside."""
