"""Whether the operator's log has what this device was asked, for its owner; everything is compared on the device."""

import hashlib
from collections.abc import Iterator, Sequence

from neologue.device.storage.log_record import LogRecord
from neologue.device.storage.spending_record import AnsweredCampaign
from neologue.transparency.log_entry import Deed
from neologue.transparency.read_log import ReadLog


def check_log(log: ReadLog, campaign: str, answers: Sequence[AnsweredCampaign], record: LogRecord) -> Iterator[str]:
    """What is wrong with a log, in sentences: nothing if it has what this device was asked in a campaign.

    The log must also go on from the newest checkpoint that this device has seen of it.
    """
    answer = next((each for each in answers if each.campaign_id.hex() == campaign), None)
    if answer is None:
        yield f"this device has answered nothing in the campaign {campaign[:32]}"
        return
    promise = None if answer.masked is None else hashlib.sha256(bytes(answer.masked)).digest()
    opened = [entry for entry in log.entries if entry.deed is Deed.OPENED and entry.campaign == answer.campaign_id]
    asked = [entry.layer for entry in opened if (entry.digest, entry.promise) == (answer.layer, promise)]
    if not asked:
        yield f"the layer that this device answered, {answer.layer.hex()[:16]}…, is not in the log"
    elif sum(entry.layer == asked[0] for entry in opened) > 1:
        yield f"the log has layer {asked[0]} of the campaign twice"
    newest = record.newest(log.checkpoint.origin)
    if newest is not None and log.root_of(newest.size) != newest.root:
        yield f"the log does not go on from the {newest.size:,} entries that this device has seen of it"
