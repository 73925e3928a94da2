"""Checks of whom a device answers, and about what."""

import hashlib

from neologue.conformance.check import DAY, check
from neologue.conformance.scene import (
    OPERATOR,
    STRANGER,
    WORDS,
    Scene,
    extending_layer,
    require,
)
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.invitation import invite, signed_message


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
