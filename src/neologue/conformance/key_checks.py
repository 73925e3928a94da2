"""Checks of how a device follows an operator whose key was replaced."""

from neologue.conformance.check import CHECK_IN, DAY, check
from neologue.conformance.scene import (
    OPERATOR,
    STRANGER,
    WORDS,
    Scene,
    require,
)
from neologue.conformance.scripted_service import Reply, instead
from neologue.protocol.succession import Succession, succeed


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
