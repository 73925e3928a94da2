"""From the bytes of a report to its votes: what `read_report` accepts and gives, compiled where it matters."""

from typing import Final

import numpy as np

from neologue.aggregation.kernels import Votes, decode_rice
from neologue.protocol.report import HEADER_BYTES, Asks, header, read_report
from neologue.randomizers.rice import COUNT_BITS, MOST_DOUBLINGS, RiceCode
from neologue.randomizers.unary import Unary

_BODY: Final = HEADER_BYTES + COUNT_BITS // 8
_ROOM: Final = 8
"""How many positions more than there are the compiled loop may write."""


class Decoder:
    """Reads the reports of one layer."""

    def __init__(self, layer: Asks) -> None:
        randomizer = layer.randomizer
        self.candidates = randomizer.candidates
        self.longest = HEADER_BYTES + randomizer.payload_bytes
        """The length of a report, beyond which there is nothing to read."""
        self._layer = layer
        self._header = header(layer)
        self._code = randomizer.code if isinstance(randomizer, Unary) else None
        if self._code is not None:
            self.longest = HEADER_BYTES + (self._code.usual_bytes << MOST_DOUBLINGS)

    def votes(self, report: bytes) -> Votes:
        """The places that a report votes for, with repetition; or a ReportError that says what is wrong with it."""
        if self._code is not None:
            votes = self._positions(report, self._code)
            if votes is not None:
                return votes
        # Refused or of another randomizer; the plain way also knows why.
        return read_report(self._layer, report).astype(np.uint32)

    def _positions(self, report: bytes, code: RiceCode) -> Votes | None:
        """The positions of a report, if it is one."""
        if not report.startswith(self._header) or not _BODY <= len(report) <= self.longest:
            return None
        count = int.from_bytes(report[HEADER_BYTES:_BODY], "big")
        # Nothing is allocated that the bytes can't hold.
        if count > code.places or count * (code.remainder_bits + 1) > 8 * (len(report) - _BODY):
            return None
        positions = np.empty(count + _ROOM, np.uint32)
        read = decode_rice(
            np.frombuffer(report, np.uint8),
            HEADER_BYTES,
            count,
            code.places,
            code.remainder_bits,
            code.usual_bytes,
            positions,
        )
        return positions[:count] if read else None
