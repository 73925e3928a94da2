"""Checks of how a device checks in: what it is told, and what it waits for."""

import json
from dataclasses import replace

from neologue.conformance.check import CHECK_IN, DAY, HOUR, check
from neologue.conformance.scene import (
    WORDS,
    Scene,
    require,
)
from neologue.conformance.scripted_service import Reply, instead

MOST_BYTES = 1 << 16
IMPATIENT = 0.5
"""The seconds that an answer may take of a device that is shown one which takes some seconds."""


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


@check("T1")
def gives_up_an_answer_that_does_not_end(scene: Scene) -> None:
    """An answer that comes byte by byte is given up when its time is over: slow headers, and a slow body."""
    scene.patience = IMPATIENT
    told = Reply.json(200, {"state": "wait", "retry_after": 7})
    scene.service.script(CHECK_IN, instead(replace(told, trickling="headers")))
    scene.service.script(CHECK_IN, instead(replace(told, trickling="body")))
    scene.open(WORDS)
    for part in ("headers", "body"):
        step = scene.tick()
        require(step.state == "later", f"it takes an answer with a slow {part}: {step.state}")


@check("T1")
def reads_no_more_of_an_answer(scene: Scene) -> None:
    """An answer with more than 65,536 bytes is not used, even if it is an invitation."""
    told = json.dumps(scene.service.invitation(scene.credential)).encode()
    scene.service.script(CHECK_IN, instead(Reply(200, told + b" " * MOST_BYTES)))
    scene.open(WORDS)
    scene.ticks("later")
    require(scene.service.asked("/v1/layers") == 0, "it fetches a layer")
