"""Whether a published release speaks of the layer that this device answered, and says of it what the device was told.

Everything is checked on the device, for its owner alone; nothing is sent anywhere. It shows that an operator did not
leave out the layer, or state another ε, another B or other masks for it. What came of the votes it can't show.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from neologue.device.storage.spending_record import AnsweredCampaign
from neologue.errors import ParameterError, ReleaseError, SignatureError
from neologue.masking.rules import GroupRules
from neologue.masking.terms import Promise
from neologue.protocol.signed_document import check_signature, unambiguous

FORMAT: Final = 3
LARGEST_RELEASE: Final = 1 << 28
NOT_RECORDED: Final = ("who asked", "B", "masks")
"""What earlier versions did not note of an answer."""
ENFORCED: Final = 1e-6
"""By this share the ε that earlier versions noted, which thresholds enforce, may exceed the one that they were told."""
_CAMPAIGN: Final = re.compile("[0-9a-f]{32}", re.ASCII)


@dataclass(frozen=True)
class ReleaseCheck:
    """What a device says of a release."""

    objections: tuple[str, ...]
    """What is wrong with it, in sentences; none if it has the layer that this device answered, as it was told."""
    not_compared: tuple[str, ...] = ()
    """What this device was told and has not recorded, so that nothing shows whether the release says the same."""


def check_release(
    content: bytes, answers: Sequence[AnsweredCampaign], signers: Callable[[bytes | None], Collection[bytes]]
) -> ReleaseCheck:
    """Whether a release has the layer that this device answered, as it was told.

    The release must be signed by one of the `signers` for the key of the operator who asked this device, or for None if
    it has not recorded who that was.
    """
    release = _read(content)
    campaign = release.get("campaign")
    if not isinstance(campaign, str) or not _CAMPAIGN.fullmatch(campaign):
        return ReleaseCheck(("the release names no campaign that devices were invited to",))
    answer = next((each for each in answers if each.campaign_id.hex() == campaign), None)
    if answer is None:
        return ReleaseCheck((f"this device has answered nothing in the campaign {campaign}, which the release is of",))
    keys = sorted(signers(answer.operator))
    if not keys and answer.operator is None:
        raise ParameterError("it is not recorded who asked this device: give the operator's public key")
    try:
        return ReleaseCheck(tuple(_objections(release, answer, keys)), NOT_RECORDED if answer.operator is None else ())
    except (KeyError, TypeError, AttributeError, ParameterError):
        raise ReleaseError("the release is not what a campaign publishes: get it anew from the operator") from None


def _objections(release: Mapping[str, Any], answer: AnsweredCampaign, keys: Sequence[bytes]) -> Iterator[str]:
    yield from _wrong_signature(release, keys)
    measurement = release["measurement"]
    digests = [layer["digest"] for layer in release["layers"]] + ([measurement["digest"]] if measurement else [])
    if answer.layer.hex() not in digests:
        yield f"the layer that this device answered, {answer.layer.hex()[:16]}…, is not among those of the release"
    parameters = release["parameters"]
    if answer.operator is None:
        if not answer.epsilon * (1 - ENFORCED) <= parameters["epsilon"] <= answer.epsilon:
            yield f"this device spent an ε of {answer.epsilon:g}, and the release states {parameters['epsilon']}"
        return
    if answer.stated_epsilon != parameters["epsilon"]:
        yield f"this device was told an ε {answer.stated_epsilon:g}, and the release states {parameters['epsilon']}"
    # Reports to later layers may speak of fewer words than any report of the campaign.
    if not answer.bound <= parameters["words_per_user"]:
        yield (
            f"this device was told at most so many words per user: {answer.bound:g}, and the release states "
            f"{parameters['words_per_user']}"
        )
    masked = release["exposure"]["masked"]
    rules = None if masked is None else GroupRules(**masked)
    promised = None if answer.masked is None else _numbers(answer.masked)
    if promised != (rules and _numbers(rules)):
        yield "the release states other masks than this device was promised, or none where it was promised some"


def _numbers(masks: GroupRules | Promise) -> tuple[int, int, int]:
    """What a release and an invitation both say of groups."""
    return masks.smallest, masks.dropout, masks.corrupt


def _wrong_signature(release: Mapping[str, object], keys: Sequence[bytes]) -> Iterator[str]:
    """That none of some keys has signed a release."""
    try:
        if all(check_signature(release, Ed25519PublicKey.from_public_bytes(key)) for key in keys):
            yield (
                "the release is not signed by the operator who asked this device, nor by a key that is known to have "
                "taken the place of theirs"
            )
    except SignatureError as error:
        yield str(error)


def _read(content: bytes) -> dict[str, Any]:
    """The release in some bytes; or a ReleaseError."""
    if len(content) > LARGEST_RELEASE:
        raise ReleaseError(f"the release has more than {LARGEST_RELEASE >> 20:,} MiB; give a release.json")
    try:
        release = json.loads(content, object_pairs_hook=unambiguous)
    except (ValueError, RecursionError):
        raise ReleaseError("the release is not a complete JSON file; give a release.json") from None
    if not isinstance(release, dict) or release.get("format") != FORMAT:
        raise ReleaseError(f"the file is no release of format {FORMAT}, which has the digests of layers")
    return release
