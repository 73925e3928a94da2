"""Whether a release is what the log says was asked and released: every event of its campaign, in order.

What the log can't show: the votes and how many there were, that devices are people, and who was asked. These stay
among what rests on the operator's word.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from neologue.errors import InputError, LogError
from neologue.release.certification.certificate import Certification
from neologue.release.certification.layer_chain import document_digests
from neologue.release.certification.logged_definition import wrong_definition
from neologue.release.certification.operator_word import COMPLETENESS, IDENTITY
from neologue.release.codec import ReleaseDocument
from neologue.transparency.evidence import Evidence, Expected, binding_of
from neologue.transparency.log_entry import Deed, LogEntry
from neologue.transparency.read_log import ReadLog

_SHOWN: Final = (COMPLETENESS.name, IDENTITY.name)
"""What no longer rests on the operator's word alone, if witnesses have co-signed the log."""
_MOST_SAID: Final = 200
_ENDS: Final = (Deed.ABORTED, Deed.REFUSED)


@dataclass(frozen=True)
class Event:
    """An entry, and its place in the operator's tree."""

    place: int
    entry: LogEntry

    def __str__(self) -> str:
        return f"entry {self.place:,} ({self.entry.deed})"


def certify_with_log(certification: Certification, document: ReleaseDocument, log: ReadLog) -> Certification:
    """A certification with what the log objects to, and without what the log shows."""
    objections = tuple(f"the log: {objection}" for objection in wrong_events(document, log))
    words = certification.operator_word
    if not objections and log.quorum:
        words = tuple(word for word in words if word.name not in _SHOWN)
    return replace(certification, objections=(*certification.objections, *objections), operator_word=words)


def logged_documents(document: ReleaseDocument, log: ReadLog) -> dict[str, bytes]:
    """The documents of a release's layers that the log still has, by their digests."""
    digests = {entry.digest for entry in log.entries if entry.deed is Deed.OPENED and entry.digest is not None}
    stated = {digest for digest in document_digests(document).values() if digest is not None}
    found = {digest.hex(): log.document(digest) for digest in sorted(digests) if digest.hex() in stated}
    return {digest: content for digest, content in found.items() if content is not None}


def software_said(document: ReleaseDocument, log: ReadLog) -> str | None:
    """The code that claims to have made a release: what its log was told last before it; None if it is not known."""
    said: str | None = None
    for entry in log.entries:
        if entry.deed is Deed.RELEASED and (entry.digest or b"").hex() == document.digest:
            return said
        if entry.deed is Deed.SOFTWARE and entry.digest is not None:
            content = log.document(entry.digest)
            said = None if content is None else content.decode("utf-8", "replace")[:_MOST_SAID]
    return None


def wrong_evidence(document: ReleaseDocument, log: ReadLog, measurement: bytes, root: bytes) -> str | None:
    """What is wrong with the evidence that a log was shown last before a campaign was created; None if nothing is."""
    shown: LogEntry | None = None
    for entry in log.entries:
        if entry.deed is Deed.CREATED and entry.campaign and entry.campaign.hex() == document.provenance.campaign:
            break
        shown = entry if entry.deed is Deed.EVIDENCE else shown
    content = None if shown is None else log.document(shown.digest or b"")
    if content is None:
        return "it has no evidence of where the service ran when the campaign was created"
    try:
        Evidence.parse(content).verify(Expected(measurement, root, binding_of(log.key)))
    except InputError as error:
        return str(error)
    return None


def wrong_events(document: ReleaseDocument, log: ReadLog) -> Iterator[str]:
    """What a release says that the log does not; each objection names the entry, or the one that is missing."""
    stated = document.provenance.campaign
    events = [
        Event(place, entry)
        for place, entry in enumerate(log.entries)
        if entry.campaign and entry.campaign.hex() == stated
    ]
    if not events:
        yield f"it has no entry of a campaign {stated}: what is released never ran"
        return
    created = events[0]
    assert created.entry.campaign is not None
    campaign = created.entry.campaign
    yield from _wrong_order(events)
    yield from _wrong_layers(events, [digest for digest in document_digests(document).values() if digest])
    yield from _wrong_masks(events, masked=document.exposure.masked is not None)
    yield from _wrong_release(events, document)
    yield from _wrong_tree(events, campaign, log)
    yield from _wrong_words(log.entries[: _first(events, Deed.OPENED)], document)
    yield from _wrong_signer(log.entries[: _first(events, Deed.RELEASED)], document)
    yield from _wrong_definition(created, document, log)


def _first(events: Sequence[Event], deed: Deed) -> int | None:
    """The place of the first of some events; None if there is none."""
    return next((event.place for event in events if event.entry.deed is deed), None)


def _wrong_order(events: Sequence[Event]) -> Iterator[str]:
    """A campaign is created, started, asks one layer after the other, and is released."""
    layers, open_layer, released, started = 0, False, False, False
    if events[0].entry.deed is not Deed.CREATED:
        yield f"{events[0]} comes before the campaign was created"
    for event in events:
        match event.entry.deed:
            case Deed.CREATED if event is not events[0]:
                yield f"{event} creates the campaign once more"
            case Deed.STARTED:
                if started or layers:
                    yield f"{event} comes after the campaign was started"
                started = True
            case Deed.OPENED:
                if not started and not layers:
                    yield f"{event} comes before the campaign was started"
                if open_layer or event.entry.layer != layers:
                    yield f"{event} opens layer {event.entry.layer} where layer {layers} was to be closed or opened"
                layers, open_layer = layers + 1, True
            case Deed.CLOSED:
                if not open_layer or event.entry.layer != layers - 1:
                    yield f"{event} closes layer {event.entry.layer}, which is not the one that was open"
                open_layer = False
            case deed if deed in _ENDS:
                yield f"{event} ends the campaign without a release"
        if released:
            yield f"{event} comes after the release"
        released |= event.entry.deed is Deed.RELEASED
    if open_layer:
        yield f"no entry closes layer {layers - 1}"


def _wrong_layers(events: Sequence[Event], digests: Sequence[str]) -> Iterator[str]:
    opened = [event for event in events if event.entry.deed is Deed.OPENED]
    for index, event in enumerate(opened):
        digest = (event.entry.digest or b"").hex()
        if index >= len(digests):
            yield f"{event} opens a layer that the release does not have"
        elif digest != digests[index]:
            yield f"{event} opens another document, {digest[:16]}…, than the release has for layer {index}"
    if len(opened) < len(digests):
        yield f"no entry opens layer {len(opened)} of the release: nobody was asked it"


def _wrong_masks(events: Sequence[Event], *, masked: bool) -> Iterator[str]:
    """What devices were promised of masks is in the entry of their layer."""
    for event in events:
        if event.entry.deed is Deed.OPENED and (event.entry.promise is not None) != masked:
            promised, stated = ("no masks", "masks") if masked else ("masks", "none")
            yield f"{event} promises {promised}, and the release states {stated}"


def _wrong_release(events: Sequence[Event], document: ReleaseDocument) -> Iterator[str]:
    released = [event for event in events if event.entry.deed is Deed.RELEASED]
    if not released:
        yield "no entry releases the campaign"
    for event in released[1:]:
        yield f"{event} releases the campaign once more"
    for event in released[:1]:
        digest = (event.entry.digest or b"").hex()
        if digest != document.digest:
            yield f"{event} is of another release, with the digest {digest}"


def _wrong_tree(events: Sequence[Event], campaign: bytes, log: ReadLog) -> Iterator[str]:
    """The campaign's own tree has its layers, each as the leaf of its index."""
    opened = tuple(event.entry for event in events if event.entry.deed is Deed.OPENED)
    try:
        leaves = log.campaign(campaign)
    except LogError as error:
        yield f"the tree of the campaign can't be relied on: {error}"
        return
    if leaves != opened:
        yield f"the tree of the campaign has {len(leaves):,} leaves that are not its {len(opened):,} layers"


def _wrong_words(entries: Sequence[LogEntry], document: ReleaseDocument) -> Iterator[str]:
    """The known words were published before anyone was asked."""
    known = document.known.digest
    if known not in {entry.digest.hex() for entry in entries if entry.deed is Deed.KNOWN and entry.digest}:
        yield f"no entry before the first layer has the known words with the digest {known[:64]}"


def _wrong_signer(entries: Sequence[LogEntry], document: ReleaseDocument) -> Iterator[str]:
    """The key that signed the release was in the log before it."""
    signature = document.whole.get("signature")
    signer = signature.get("key") if isinstance(signature, Mapping) else None
    try:
        digest = hashlib.sha256(bytes.fromhex(str(signer))).digest()
    except ValueError:
        digest = b""
    if not any(entry.deed is Deed.KEY and entry.digest == digest for entry in entries):
        yield f"no entry before the release has the key {str(signer)[:16]}… that signed it"


def _wrong_definition(created: Event, document: ReleaseDocument, log: ReadLog) -> Iterator[str]:
    """The release has what was published before anyone was asked."""
    try:
        content = log.document(created.entry.digest or b"")
    except LogError as error:
        yield f"{created}: {error}"
        return
    if content is None:
        yield f"{created} has no definition any more, so that nothing shows what was published before anyone was asked"
        return
    for wrong in wrong_definition(content, document):
        yield f"{created} {wrong}"
