"""Receipts: what leaves a device and what it can reveal, in plain words for its owner.

A receipt of a report is filed when the report is made, before any of it is sent, so it says what was made and for whom.
Limits are rounded up and what is left is rounded down.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from neologue.clock import iso_date
from neologue.device.policy import epsilon_of
from neologue.masking.terms import Terms
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import Invitation

HOW_TO_CHECK = (
    "Once the campaign's release is published, this device can tell whether what it was asked is in it "
    "(neologue device check, or checkRelease)."
)


def report_receipt(day: int, invitation: Invitation, size: int, spent: float, lifetime: float) -> str:
    """For a report of so many bytes: who gets it, and what it can reveal at most.

    `spent` is the device's ε with this report, of its lifetime's. Every word holds for any layer that can be sent: an
    operator may choose what is asked about, and so little of it that there is hardly any noise.
    """
    layer = invitation.layer
    channel = layer.randomizer.channel
    noise = float(channel.contributions * layer.randomizer.candidates * channel.q)
    what = (
        "words that the operator chose, and some that stand for all other words"
        if isinstance(layer, ClosedLayer)
        else "beginnings of words and whole words that the operator chose"
    )
    targets = (
        ""
        if layer.targets is None
        else f"Only words of a list of {len(layer.targets):,} that the operator made can be among yours. "
    )
    epsilon = epsilon_of(layer)
    campaign, operator = invitation.campaign_id.hex()[:16], invitation.operator.hex()[:16]
    if invitation.masked is None:
        how = f"this device made a report of {size:,} bytes for the operator {operator}… and the campaign {campaign}…:"
    else:
        how = (
            f"this device made its votes for the operator {operator}… and the campaign {campaign}…, which leave it "
            f"only under masks: an operator that keeps to the protocol reads sums of at least "
            f"{invitation.masked.smallest:,} devices and no single votes. They are"
        )
    return (
        f"On {iso_date(day)} {how} randomized votes on {layer.randomizer.candidates:,} candidates, {what}. {targets}"
        f"{_noise_sentence(noise)} "
        f"Any single word you typed changes the probability of what it says by at most a factor of "
        f"e^{_at_most(epsilon)}; all your words together, of which it is about at most {layer.bound:,}, by "
        f"e^{_at_most(layer.bound * epsilon)}. "
        f"According to the operator, {layer.layer_size - 1:,} other devices were asked the same. "
        f"With this report the device has spent an ε of {_at_most(spent)} of the {_at_least(lifetime)} in its "
        f"lifetime: {_at_least(max(lifetime - spent, 0.0))} is left. {HOW_TO_CHECK}"
    )


def masking_receipt(day: int, terms: Terms, size: int) -> str:
    """For votes that leave under masks, and what can be read of them."""
    return (
        f"On {iso_date(day)} this device masked its votes, {size:,} bytes, for the group {terms.group_id.hex()[:16]}…: "
        f"only their sum with those of others can be read, of at least {terms.smallest:,} devices together, if not "
        f"more than {terms.corrupt:,} of these work with the operator and those who admit devices do not."
    )


def counted_receipt(day: int, campaign_id: bytes) -> str:
    """For a report that was counted."""
    return (
        f"On {iso_date(day)} the service confirmed that the report for the campaign {campaign_id.hex()[:16]}… was "
        "counted; its bytes were erased from this device."
    )


def abandoned_receipt(day: int, campaign_id: bytes) -> str:
    """For a report that will not be sent again, and of which it is unknown whether it was counted."""
    return (
        f"On {iso_date(day)} the report for the campaign {campaign_id.hex()[:16]}… was given up without a confirmation "
        "that it was counted; its bytes were erased from this device, and no other is made for this campaign."
    )


def _noise_sentence(noise: float) -> str:
    """How many votes are noise, on average."""
    votes = f"about {round(noise):,}" if noise >= 10 else f"about {noise:.2g}" if noise >= 0.01 else "less than 0.01"
    hides = " So little hides hardly anything: whoever reads a vote may take it for yours." if noise < 1 else ""
    return f"Chance alone gives {votes} of such votes, whatever you typed.{hides}"


def _at_most(value: float) -> str:
    """A number in six digits, rounded up."""
    return _six_digits(value, ROUND_CEILING)


def _at_least(value: float) -> str:
    """A number in six digits, rounded down."""
    return _six_digits(value, ROUND_FLOOR)


def _six_digits(value: float, rounding: str) -> str:
    exact = Decimal(repr(float(value)))
    return f"{float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 5), rounding)):g}"
