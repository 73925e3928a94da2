"""Receipts: what left a device and what it could have meant, in plain words for its owner."""

from datetime import UTC, datetime

from neologue.clock import SECONDS_PER_DAY
from neologue.device.policy import epsilon_of
from neologue.masking.terms import Terms
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.invitation import Invitation


def sent(day: int, invitation: Invitation, size: int) -> str:
    """What is sent, of so many bytes, to whom, and what it can give away at most."""
    layer = invitation.layer
    channel = layer.randomizer.channel
    # Nearly all of a report is noise, so that its size is known without reading it.
    votes = round(channel.contributions * layer.randomizer.candidates * channel.q)
    closed = isinstance(layer, ClosedLayer)
    what = "words that others have found, and of places that stand for other words" if closed else "beginnings of words"
    epsilon = epsilon_of(layer)
    campaign, operator = invitation.campaign_id.hex()[:16], invitation.operator.hex()[:16]
    if invitation.masked is None:
        how = f"this device sent {size:,} bytes to the operator {operator}… for the campaign {campaign}…"
    else:
        how = (
            f"this device made its votes for the operator {operator}… and the campaign {campaign}…, which leave it "
            f"under masks alone, so that the operator reads sums of at least {invitation.masked.smallest:,} devices"
        )
    return (
        f"On {date(day)} {how}: a randomized list of about {votes:,} of {layer.randomizer.candidates:,} {what}. "
        f"Any single word you typed changes the chance of what was sent by at most a factor of e^{epsilon:g}; all "
        f"words together, of which it speaks of at most {layer.bound:,}, by e^{layer.bound * epsilon:g}. "
        f"By the operator's word, {layer.layer_size - 1:,} other devices were asked the same."
    )


def masked(day: int, terms: Terms, size: int, times: int) -> str:
    """That votes leave under masks, the how manieth time, and what can be read of them."""
    again = "" if times == 1 else f" They are the same votes as before, under other masks, for the {times}. time."
    return (
        f"On {date(day)} this device sent its votes under masks, {size:,} bytes, to the group "
        f"{terms.group_id.hex()[:16]}…: by the operator's word at least {terms.smallest:,} devices are summed, and "
        f"only their sum can be read.{again}"
    )


def counted(day: int, campaign_id: bytes) -> str:
    """That it has arrived."""
    return (
        f"On {date(day)} the service confirmed that the report for the campaign {campaign_id.hex()[:16]}… was counted; "
        "its bytes were erased from this device."
    )


def given_up(day: int, campaign_id: bytes) -> str:
    """That it will not be sent again, and nothing has said that it was counted."""
    return (
        f"On {date(day)} the report for the campaign {campaign_id.hex()[:16]}… was given up without a confirmation "
        "that it was counted; its bytes were erased from this device, and no other is made for this campaign."
    )


def date(day: int) -> str:
    """A day since 1970-01-01 as it is written."""
    return datetime.fromtimestamp(day * SECONDS_PER_DAY, UTC).date().isoformat()
