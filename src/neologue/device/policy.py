"""The limits that the owner of a device sets, whatever a server says.

A layer comes from outside and may be hostile, so every check is a few steps of arithmetic on what the layer says of
itself: nothing that grows with the layer is allocated before all of them have passed. No check looks at a word of the
device, so that whether it answers reveals nothing.

What a report says of one word is limited by three numbers, from the integer thresholds that the randomizer uses. With p
and q the chances of a vote for a candidate that is held and for one that is not, a vote multiplies the odds that a word
is held by at most p/q, and its absence divides them by at most (1-q)/(1-p). The third is the number of votes that
chance alone gives, n·q, which a secret hides among. docs/device-policy.md proves what each is good for, and says what
none of them prevents.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from neologue.device.layer_form import fits_into, form_complaints, strings_of
from neologue.ed25519 import is_signed
from neologue.errors import ParameterError, PolicyError
from neologue.masking.neighbourhood import LARGEST_GROUP
from neologue.masking.terms import Promise
from neologue.masking.vote_packing import packed_bytes
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import KEY_BYTES, MOST_PROOF_BYTES, Invitation, check_bytes
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer
from neologue.protocol.limits import (
    DEEPEST,
    LARGEST_CLOSED_VOTE_RATIO,
    LARGEST_KNOWN,
    LARGEST_LAYER,
    MOST_KNOWN_WORDS,
    check_whole,
)
from neologue.protocol.report import HEADER_BYTES
from neologue.protocol.succession import DIGEST_BYTES

MOST_EPSILON = 1_000_000
MOST_RATIO = 1e9
_KEY_HOLDERS = {
    "operators": "an operator's",
    "issuers": "an issuer's",
    "logs": "a log's",
    "witnesses": "a witness's",
}
FORGED = "the signature is not the operator's for this campaign and layer; get the invitation anew from them"
SWITCHED_OFF = "this device answers no campaign: its owner has switched that off, and can switch it on (enabled)"


@dataclass(frozen=True, kw_only=True)
class Policy:
    """The limits of a device; docs/device-policy.md says why the defaults are what they are."""

    operators: frozenset[bytes] = frozenset()
    """The raw public keys of the operators whose campaigns are answered; with none, nobody's are."""
    recovery: Mapping[bytes, bytes] = field(default_factory=dict, hash=False)
    """By an operator's key, the SHA-256 of the recovery key that may revoke it and what has succeeded it."""
    enabled: bool = True
    """Whether anything is answered at all."""
    largest_epsilon: float = 10.0
    """The largest local ε of one word in one report."""
    largest_user_epsilon: float = 600.0
    """The largest B·ε: that of all words of one report together."""
    lifetime_epsilon: float = 20.0
    """The largest sum of the local ε of all campaigns ever answered."""
    smallest_layer_size: int = 100
    """The fewest users that a layer may say it asks."""
    longest_word: int = 32
    """The most characters of a word that may count; long ones are likelier secrets."""
    largest_layer: int = 1 << 24
    """The most candidates of a layer."""
    largest_report: int = 10_000
    """The most bytes of a report."""
    issuers: frozenset[bytes] = frozenset()
    """The raw public keys of those who may vouch for the devices of a group; with none, whomever the operator names."""
    smallest_group: int = 0
    """The fewest devices whose votes may be summed under masks; 0 answers layers without masks too."""
    largest_masked: int = 1 << 22
    """The most bytes of votes under masks."""
    most_votes: int = 1 << 20
    """The most votes of a report, and words it has room for: what it takes to make one grows with these."""
    largest_vote_ratio: float = 22_100.0
    """The most that one vote may multiply the odds by that a word is held: p/q."""
    largest_closed_vote_ratio: float = LARGEST_CLOSED_VOTE_RATIO
    """The same where the operator lists whole words: a closed layer."""
    largest_silence_ratio: float = 4.0
    """The most that a missing vote may divide these odds by: (1-q)/(1-p)."""
    fewest_noise_votes: float = 3.0
    """The fewest votes that chance alone must give, on average, for what is asked about; 0 asks for none."""
    allow_targets: bool = False
    """Whether an operator may list the only words that count."""
    allow_unlogged_lists: bool = False
    """Whether an operator may ask about a list of whole words that is in no log which a quorum co-signed."""
    most_known_words: int = MOST_KNOWN_WORDS
    """The most known words of a layer."""
    largest_known: int = LARGEST_KNOWN
    """The most bytes of the list of known words."""
    logs: frozenset[bytes] = frozenset()
    """The raw public keys of the logs in which a layer must be that is answered."""
    witnesses: frozenset[bytes] = frozenset()
    """The raw public keys of witnesses of these logs."""
    quorum: int = 0
    """How many of the witnesses must have co-signed that the layer is in a log; with 0, it need be in none."""
    measurements: frozenset[bytes] = frozenset()
    """The measurements of images of which one must run the service, by evidence; with none, no evidence is needed."""
    vendors: frozenset[bytes] = frozenset()
    """The SHA-256 of root certificates of which one must vouch for the hardware of such evidence."""

    def __post_init__(self) -> None:
        for name, owner in _KEY_HOLDERS.items():
            keys = getattr(self, name)
            if not isinstance(keys, frozenset):
                raise ParameterError(f"{name} must be a frozenset of public keys, not {type(keys).__name__}")
            for key in keys:
                check_bytes(f"{owner} public key", key, KEY_BYTES)
        for key, digest in self.recovery.items():
            check_bytes("the digest of a recovery key", digest, DIGEST_BYTES)
            if key not in self.operators:
                raise ParameterError("recovery names a key that is not one of the operators: add it to both")
        _check_switch("enabled", self.enabled)
        _check_switch("allow targets", self.allow_targets)
        _check_switch("allow unlogged lists", self.allow_unlogged_lists)
        _check_limit("largest epsilon", self.largest_epsilon)
        _check_limit("largest user epsilon", self.largest_user_epsilon)
        _check_limit("lifetime epsilon", self.lifetime_epsilon)
        _check_number("largest vote ratio", self.largest_vote_ratio, 1, MOST_RATIO)
        _check_number("largest closed vote ratio", self.largest_closed_vote_ratio, 1, MOST_RATIO)
        _check_number("largest silence ratio", self.largest_silence_ratio, 1, MOST_RATIO)
        _check_number("fewest noise votes", self.fewest_noise_votes, 0, LARGEST_LAYER)
        check_whole("smallest layer size", self.smallest_layer_size, 1, 1 << 30)
        check_whole("longest word", self.longest_word, 1, DEEPEST)
        check_whole("largest layer", self.largest_layer, 1, LARGEST_LAYER)
        check_whole("largest report", self.largest_report, 100, 1 << 30)
        check_whole("smallest masked group", self.smallest_group, 0, LARGEST_GROUP)
        check_whole("largest masked", self.largest_masked, 100, 1 << 30)
        check_whole("most votes", self.most_votes, 1, LARGEST_LAYER)
        check_whole("most known words", self.most_known_words, 0, 1 << 30)
        check_whole("largest known", self.largest_known, 0, 1 << 30)
        check_whole("quorum", self.quorum, 0, len(self.witnesses))
        if self.quorum and not self.logs:
            raise ParameterError("a quorum of witnesses needs a log that they are witnesses of: add its key to logs")
        for vendor in self.vendors:
            check_bytes("the digest of a vendor's root certificate", vendor, DIGEST_BYTES)
        if self.measurements and not (self.vendors and self.quorum):
            raise ParameterError(
                "evidence speaks for the key of a log, by the hardware of a vendor: measurements need vendors, logs "
                "and a quorum"
            )

    @property
    def pins(self) -> Mapping[bytes, bytes | None]:
        """The operators' keys, each with the digest of its recovery key if it has one."""
        return {operator: self.recovery.get(operator) for operator in sorted(self.operators)}

    def check(self, invitation: Invitation, spent: Fraction = Fraction(0)) -> None:
        """Raise a PolicyError unless a device that has spent so much of its lifetime ε may answer."""
        for complaint in self._complaints(invitation, spent):
            raise PolicyError(complaint)

    def check_origin(self, operator: bytes, signature: bytes, message: bytes) -> None:
        """Raise a PolicyError unless an operator who may ask has signed this; checked before anything is fetched."""
        for complaint in self._operator_complaints(operator):
            raise PolicyError(complaint)
        if not is_signed(operator, signature, message):
            raise PolicyError(FORGED)

    def check_known(self, content: bytes) -> None:
        """Raise a PolicyError unless a list of known words may be read; nothing of it is parsed."""
        words = content.count(b"\n") + bool(content)
        if len(content) > self.largest_known or words > self.most_known_words:
            raise PolicyError(self.known_complaint)

    @property
    def known_complaint(self) -> str:
        """What is said of a list of known words that is too long."""
        return _over_limit(
            f"the known words of the layer are more than the {self.most_known_words:,} words or the "
            f"{self.largest_known:,} bytes",
            "most_known_words and largest_known",
        )

    def _complaints(self, invitation: Invitation, spent: Fraction) -> Iterator[str]:
        """What is wrong; each check may rely on those before it."""
        layer = invitation.layer
        yield from self._operator_complaints(invitation.operator)
        yield from form_complaints(layer)
        if not invitation.genuine:
            yield FORGED
        if invitation.proof is not None and len(invitation.proof) > MOST_PROOF_BYTES:
            yield f"the proof beside the invitation has more than {MOST_PROOF_BYTES:,} bytes; no policy permits that"
        yield from self._privacy_complaints(layer, layer.epsilon)
        if layer.targets is not None and not self.allow_targets:
            yield (
                f"only words of a list of {len(layer.targets):,} that the operator made would count, and this device "
                "answers no such question; its owner can allow it (allow_targets)"
            )
        if len(layer.known) > self.most_known_words:
            yield self.known_complaint
        yield from self._size_complaints(layer)
        yield from self._masking_complaints(layer, invitation.masked)
        yield from self._answer_complaints(layer)
        # Only now is it safe to work out what the randomizer enforces.
        cost = epsilon_of(layer)
        yield from self._privacy_complaints(layer, cost)
        total = spent + Fraction(cost)
        if total > Fraction(self.lifetime_epsilon):
            yield _over_limit(
                f"{round_up(spent)!r} of ε spent before and {cost!r} now make {round_up(total)!r}, "
                f"above the {self.lifetime_epsilon!r} in a lifetime",
                "lifetime_epsilon",
            )

    def _operator_complaints(self, operator: bytes) -> Iterator[str]:
        if not self.enabled:
            yield SWITCHED_OFF
        if operator not in self.operators:
            yield (
                f"the operator with the public key {operator.hex()} is not one of the "
                f"{len(self.operators)} that this device answers; its owner can add the key to operators"
            )

    def _privacy_complaints(self, layer: Layer | ClosedLayer, epsilon: float) -> Iterator[str]:
        if epsilon > self.largest_epsilon:
            yield _over_limit(f"the layer's ε is {epsilon!r}, above the {self.largest_epsilon!r}", "largest_epsilon")
        if layer.bound * Fraction(epsilon) > Fraction(self.largest_user_epsilon):
            yield _over_limit(
                f"{layer.bound:,} words with an ε of {epsilon!r} each are above the "
                f"{self.largest_user_epsilon!r} for one report",
                "largest_user_epsilon",
            )
        if layer.layer_size < self.smallest_layer_size:
            yield _over_limit(
                f"the layer asks {layer.layer_size:,} users, below the {self.smallest_layer_size:,}",
                "smallest_layer_size",
            )
        longest = max(layer.depth, max(map(len, strings_of(layer).tolist()), default=0))
        if longest > self.longest_word:
            yield _over_limit(
                f"the layer asks for words of {longest:,} characters, above the {self.longest_word}", "longest_word"
            )

    def _masking_complaints(self, layer: Layer | ClosedLayer, masked: Promise | None) -> Iterator[str]:
        if masked is None:
            if self.smallest_group:
                yield (
                    "the layer asks for reports without masks, and this device sends votes only under masks; its owner "
                    "can change smallest_group"
                )
            return
        if masked.smallest < self.smallest_group:
            yield _over_limit(
                f"sums of {masked.smallest:,} devices are possible, below the {self.smallest_group:,}",
                "smallest_group",
            )
        strangers = [issuer for issuer in masked.issuers if issuer not in self.issuers]
        if self.issuers and strangers:
            yield (
                f"the issuer with the public key {strangers[0].hex()} vouches for devices of groups, and is not one of "
                f"the {len(self.issuers)} that this device trusts; its owner can add the key to issuers"
            )
        randomizer = layer.randomizer
        bits = (randomizer.channel.contributions * LARGEST_GROUP).bit_length()
        size = packed_bytes(randomizer.candidates, bits)
        if size > self.largest_masked:
            yield _over_limit(
                f"votes under masks have up to {size:,} bytes, above the {self.largest_masked:,}", "largest_masked"
            )

    def _size_complaints(self, layer: Layer | ClosedLayer) -> Iterator[str]:
        if isinstance(layer, ClosedLayer):
            asked = f"{len(layer.words):,} words and what stands for others"
        elif isinstance(layer, LikelyLayer):
            asked = f"{len(layer.beginnings):,} prefixes and what is likely after them"
        else:
            assert isinstance(layer, ExtendingLayer)
            symbols = f"{layer.extension:,} of {layer.alphabet.size:,} symbols"
            asked = f"{len(layer.frontier):,} prefixes and up to {symbols}"
        if not fits_into(layer, self.largest_layer):
            yield _over_limit(f"{asked} make more than the {self.largest_layer:,} candidates", "largest_layer")
        size = HEADER_BYTES + layer.randomizer.payload_bytes
        if size > self.largest_report:
            yield _over_limit(f"a report has {size:,} bytes, above the {self.largest_report:,}", "largest_report")
        # Subset Selection writes few bytes for many votes, so their number is a limit of its own.
        channel = layer.randomizer.channel
        votes = math.ceil(channel.contributions * (layer.randomizer.candidates * channel.q + channel.p))
        if max(votes, layer.bound) > self.most_votes:
            yield _over_limit(
                f"a report has {votes:,} votes and room for {layer.bound:,} words, above the {self.most_votes:,}",
                "most_votes",
            )

    def _answer_complaints(self, layer: Layer | ClosedLayer) -> Iterator[str]:
        """What is wrong with how much a report says of one word."""
        channel = layer.randomizer.channel
        closed = isinstance(layer, ClosedLayer)
        limit = "largest_closed_vote_ratio" if closed else "largest_vote_ratio"
        most: float = getattr(self, limit)
        if channel.vote_ratio > Fraction(most):
            where = "a list of words" if closed else "a layer"
            yield _over_limit(
                f"a vote would multiply the odds that a word is held by {float(channel.vote_ratio):,.6g}, above the "
                f"{most:,.6g} for {where}",
                limit,
            )
        if channel.silence_ratio > Fraction(self.largest_silence_ratio):
            yield _over_limit(
                f"a missing vote would divide the odds that a word is held by {float(channel.silence_ratio):,.6g}, "
                f"above the {self.largest_silence_ratio:,.6g}",
                "largest_silence_ratio",
            )
        # What stands for words outside a closed list hides none of those on it.
        asked = len(layer.words) if isinstance(layer, ClosedLayer) else layer.randomizer.candidates
        noise = channel.contributions * asked * channel.q
        if noise < Fraction(self.fewest_noise_votes):
            yield _over_limit(
                f"{asked:,} candidates are so few that chance gives {float(noise):,.3g} votes, below the "
                f"{self.fewest_noise_votes:,.6g}",
                "fewest_noise_votes",
            )
        if isinstance(layer, ClosedLayer) and not self.quorum and not self.allow_unlogged_lists:
            yield (
                f"nothing shows that others can see the list of {len(layer.words):,} words that the operator asks "
                "about: its owner can demand a log that witnesses co-sign (quorum), or allow such lists "
                "(allow_unlogged_lists)"
            )


def epsilon_of(layer: Layer | ClosedLayer) -> float:
    """The local ε that answering a layer costs: the one it states, or the one its randomizer enforces if larger."""
    return max(float(layer.epsilon), layer.randomizer.statement.enforced_epsilon)


def round_up(value: Fraction) -> float:
    """The smallest float at or above a fraction."""
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def _over_limit(what: str, limit: str) -> str:
    return f"{what} that this device accepts; its owner can change {limit}"


def _check_switch(what: str, value: bool) -> None:
    if not isinstance(value, bool):
        raise ParameterError(f"{what} must be True or False, not {value!r}")


def _check_limit(what: str, value: float) -> None:
    if isinstance(value, bool) or not (isinstance(value, int | float) and 0 < value <= MOST_EPSILON):
        raise ParameterError(f"{what} must be a number above 0 and at most {MOST_EPSILON:,}, not {value!r}")


def _check_number(what: str, value: float, least: float, most: float) -> None:
    if isinstance(value, bool) or not (isinstance(value, int | float) and least <= value <= most):
        raise ParameterError(f"{what} must be a number from {least:g} to {most:,.0f}, not {value!r}")
