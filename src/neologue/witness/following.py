"""Looks at a log as it is shown to everybody, so that a log which shows its witness something else is caught."""

from neologue.transparency.checkpoint import Checkpoint
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.log_source import campaign_tree
from neologue.transparency.signed_note import Note
from neologue.transparency.tiles import CHECKPOINT, Fetch, read_entries
from neologue.witness.witness import Witness

_ENDS = (Deed.RELEASED, Deed.ABORTED, Deed.REFUSED)


def look(witness: Witness, origin: str, fetch: Fetch) -> bool:
    """Look at the operator's tree and at those of campaigns that go on; whether all are as they were co-signed.

    A LogError or a LaterError if the log can't be read, or is not the one that it should be.
    """
    content = fetch(CHECKPOINT)
    honest = witness.observe(content, origin, fetch)
    size = Checkpoint.parse(Note.parse(content).text).size
    entries = [LogEntry.parse(entry) for entry in read_entries(size, fetch)]
    ended = {entry.campaign for entry in entries if entry.deed in _ENDS}
    opened = {entry.campaign for entry in entries if entry.deed is Deed.OPENED}
    for campaign in sorted(each for each in opened - ended if each is not None):
        files = campaign_tree(fetch, campaign)
        honest &= witness.observe(files(CHECKPOINT), f"{origin}/{campaign.hex()}", files)
    return honest
