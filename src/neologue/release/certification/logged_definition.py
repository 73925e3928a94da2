"""Whether a release has what the definition of its campaign said, which its log had before anyone was asked."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from neologue.campaign.allocation import expected_users
from neologue.masking.rules import groups_of
from neologue.release.codec import REHEARSAL, ReleaseDocument


class LoggedDefinition(msgspec.Struct, frozen=True):
    """What a release can be compared with; a definition says more."""

    parameters: dict[str, Any]
    known: str
    """The digest of the known words."""
    rehearsal: bool
    devices: int
    reserve: float
    measure_devices: int
    measure_rate: float
    batch: int
    cohort_size: int
    smallest_cohort: int
    dropout: int
    corruption: int
    corruption_risk: float


def wrong_definition(content: bytes, document: ReleaseDocument) -> Iterator[str]:
    """What the definition in some bytes has and the release has not."""
    try:
        defined = msgspec.convert(json.loads(content), LoggedDefinition)
    except (ValueError, TypeError, RecursionError):
        yield "has a definition that can't be read"
        return
    for name, value in document.parameters.as_dict().items():
        told = defined.parameters.get(name, value)
        if told != value:
            yield f"has {told} for the parameter {name}, and the release {value}"
    if defined.known != document.known.digest:
        yield "has other known words than the release"
    if defined.rehearsal != (document.provenance.fidelity == REHEARSAL):
        what = "a rehearsal" if defined.rehearsal else "a campaign of people's devices"
        yield f"creates {what}, and the release is {document.provenance.fidelity!r}"
    users = expected_users(document.parameters, defined.devices, defined.reserve, defined.measure_devices)
    if users != document.users:
        yield f"is for {users:,} users, and the release for {document.users:,}"
    if defined.batch != document.exposure.disk:
        yield f"stores batches of {defined.batch:,} reports, and the release states {document.exposure.disk}"
    yield from _wrong_measurement(defined, document)
    yield from _wrong_groups(defined, document)


def _wrong_measurement(defined: LoggedDefinition, document: ReleaseDocument) -> Iterator[str]:
    measurement = document.measurement
    if measurement is None:
        if defined.measure_devices and document.words:
            yield f"has {defined.measure_devices:,} devices count words, and the release has no measurement"
    elif measurement.asked != defined.measure_devices:
        yield f"has {defined.measure_devices:,} devices count words, and the release {measurement.asked:,}"
    elif measurement.rate != defined.measure_rate:
        yield f"has devices sample at the rate {defined.measure_rate:g}, and the release states {measurement.rate:g}"


def _wrong_groups(defined: LoggedDefinition, document: ReleaseDocument) -> Iterator[str]:
    rules = document.exposure.masked
    if rules is None:
        return
    said = {
        "size": (defined.cohort_size, rules.size),
        "smallest sum": (defined.smallest_cohort, rules.smallest),
        "dropouts": (defined.dropout, rules.dropout),
        "corrupt share": (defined.corruption, rules.corruption),
        "risk": (defined.corruption_risk, rules.risk),
        "number": (groups_of(defined.devices, defined.smallest_cohort), rules.groups),
    }
    for what, (told, stated) in said.items():
        if told != stated:
            yield f"has masked groups whose {what} is {told:g}, and the release states {stated:g}"
