"""A report on the wire: version, the layer it answers, and the randomizer's payload.

    byte 0       the version, 1
    bytes 1–8    the first 8 bytes of the layer's digest
    bytes 9–     the payload, as the layer's randomizer encodes it

A decoder checks the length first: it allocates nothing that the layer does not call for.
"""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from neologue.entropy import Entropy
from neologue.errors import ReportError
from neologue.protocol.layer_fields import PROTOCOL_VERSION
from neologue.randomizers.randomizer import Randomizer

TAG_BYTES = 8
HEADER_BYTES = 1 + TAG_BYTES


class Asks(Protocol):
    """What a report answers: a layer, or a closed one."""

    @property
    def digest(self) -> bytes:
        """SHA-256 of the document."""

    @property
    def randomizer(self) -> Randomizer[Any]:
        """The randomizer for its candidates."""


def header(layer: Asks) -> bytes:
    """The first bytes of every report of a layer."""
    return bytes([PROTOCOL_VERSION]) + layer.digest[:TAG_BYTES]


def make_report(layer: Asks, held: NDArray[np.int64], entropy: Entropy) -> bytes:
    """The randomized report on the candidates held."""
    randomizer = layer.randomizer
    return header(layer) + randomizer.encode(randomizer.randomize(held, entropy))


def read_report(layer: Asks, report: bytes) -> NDArray[np.int64]:
    """The votes in a report, or a ReportError that says what is wrong with it."""
    decoded: Any = layer.randomizer.decode(read_payload(layer, report))
    return layer.randomizer.votes(decoded)


def read_payload(layer: Asks, report: bytes) -> bytes:
    """What follows the header of a report, undecoded; or a ReportError if the header is not this layer's."""
    if len(report) < HEADER_BYTES:
        raise ReportError(f"{len(report)} bytes are too few for a report")
    if report[0] != PROTOCOL_VERSION:
        raise ReportError(f"version {report[0]} of the protocol is not supported, only {PROTOCOL_VERSION}")
    if report[:HEADER_BYTES] != header(layer):
        raise ReportError("the report answers another layer")
    return report[HEADER_BYTES:]
