"""Checks of whom a device answers, and about what."""

import hashlib
import json
from collections.abc import Iterator
from itertools import islice, product
from string import ascii_letters, digits

from neologue.conformance.check import DAY, check
from neologue.conformance.scene import (
    OPERATOR,
    STRANGER,
    WORDS,
    Scene,
    closed_layer,
    extending_layer,
    likely_layer,
    require,
)
from neologue.protocol.canonical import canonical
from neologue.protocol.invitation import MASKED_DOMAIN, invite, signed_message


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
    promise = bytes.fromhex("0064" + "0a" + "0001" + "01" + "00" * 32)
    signature = OPERATOR.sign(MASKED_DOMAIN + scene.service.campaign_id + scene.service.layer.digest + promise)
    unmasked = scene.service.invitation(scene.credential)["signature"]
    scene.open(WORDS)
    for signed in (signature.hex(), unmasked):
        scene.service.told = {"masked": promise.hex(), "signature": signed}
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


@check("P16")
def refuses_a_list_that_no_log_shows(scene: Scene) -> None:
    """A list of whole words is refused without a log, and its known words are not fetched."""
    scene.service.ask_about(closed_layer())
    scene.open(WORDS)
    scene.ticks("refused")
    require(scene.service.asked("/v1/known") == 0, "it fetches known words")


@check("F2")
def refuses_another_version(scene: Scene) -> None:
    """A layer of another version is refused, although its digest and its signature are right."""
    _ask_about(scene, scene.service.layer.document.replace(b'"version":2', b'"version":3'))
    scene.open(WORDS)
    scene.ticks("refused")
    scene.require_nothing_sent()


@check("F20")
def refuses_known_words_out_of_order(scene: Scene) -> None:
    """Known words out of order are refused, although their digest is right."""
    _know(scene, b"b\na")
    scene.open(WORDS)
    scene.ticks("refused")
    scene.require_nothing_sent()


@check("T1", "F1")
def reads_no_more_of_a_layer(scene: Scene) -> None:
    """A layer of more than 2^24 bytes is not used, and one with more than 2^21 commas is refused."""
    document = scene.service.layer.document
    scene.open(WORDS)
    for count, length in ((310_000, 52), ((1 << 21) + 1, 4)):
        listed = ",".join(f'"{word}"' for word in _words(count, length)).encode()
        _ask_about(scene, document.replace(b'"found":[]', b'"found":[%s]' % listed))
        step = scene.tick()
        require(step.state in ("later", "refused"), f"it takes a layer of {len(listed):,} bytes")
    require(scene.service.asked("/v1/known") == 0, "it fetches known words")
    scene.require_nothing_sent()


@check("P15")
def reads_no_more_known_words(scene: Scene) -> None:
    """More than 2^20 known words, or more than 2^24 bytes of them, are refused."""
    scene.open(WORDS)
    for count, length in (((1 << 20) + 1, 4), (320_000, 52)):
        _know(scene, "\n".join(_words(count, length)).encode())
        scene.ticks("refused")
    scene.require_nothing_sent()


@check("F13")
def reads_no_larger_model(scene: Scene) -> None:
    """A character model with more than 2^22 pairs of a context and a symbol is refused."""
    scene.service.ask_about(likely_layer())
    characters = [chr(0x4E00 + number) for number in range(2_048)]
    told = json.loads(scene.service.layer.document)
    told |= {
        "alphabet": "".join(characters),
        "contexts": ["", "\0", *characters],
        "symbols": ["\0" + "".join(characters), *[""] * (1 + len(characters))],
        "backoffs": [0] * (2 + len(characters)),
        "costs": [9] * (1 + len(characters)),
    }
    _ask_about(scene, canonical(told))
    scene.open(WORDS)
    scene.ticks("refused")
    require(scene.service.asked("/v1/known") == 0, "it fetches known words")


def _words(count: int, length: int) -> Iterator[str]:
    """So many words of one length, in order."""
    ends = product(sorted(digits + ascii_letters), repeat=4)
    return ("-" * (length - 4) + "".join(end) for end in islice(ends, count))


def _know(scene: Scene, known: bytes) -> None:
    """Invite to a layer whose known words are whatever some bytes are."""
    digest = hashlib.sha256(known).hexdigest()
    layer = extending_layer()
    scene.service.documents[f"/v1/known/{digest}"] = known
    _ask_about(scene, layer.document.replace(layer.known.digest.encode(), digest.encode()))


def _ask_about(scene: Scene, document: bytes) -> None:
    """Invite to whatever some bytes are, with a right signature."""
    digest = hashlib.sha256(document).digest()
    scene.service.documents[f"/v1/layers/{digest.hex()}"] = document
    signature = OPERATOR.sign(signed_message(scene.service.campaign_id, digest))
    scene.service.told = {"layer": digest.hex(), "signature": signature.hex()}
