"""Checks of what becomes of a report: the same bytes, until they are final or of no use."""

from neologue.conformance.check import CHECK_IN, DAY, HOUR, REPORTS, check
from neologue.conformance.scene import (
    WORDS,
    Scene,
    extending_layer,
    require,
)
from neologue.conformance.scripted_service import Reply, instead, lost_answer, lost_request


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
