"""From the bytes of a report to its votes: what `read_report` accepts and gives, compiled where it matters.

Every randomizer decodes its own reports. A compiled decoder is faster and must give the same votes: `COMPILED` names
those that there are, and a randomizer without one is read in the plain way.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from neologue.aggregation.kernels import Votes, decode_rice
from neologue.protocol.report import HEADER_BYTES, Asks, header, read_report
from neologue.randomizers.rice import COUNT_BITS
from neologue.randomizers.unary import Unary

_BODY: Final = HEADER_BYTES + COUNT_BITS // 8
_ROOM: Final = 8
"""How many positions more than there are the compiled loop may write."""

CompiledDecoder = Callable[[bytes], Votes | None]
"""The votes of a report, header and all, if it is one."""


class Decoder:
    """Reads the reports of one layer."""

    def __init__(self, layer: Asks) -> None:
        randomizer = layer.randomizer
        self.candidates = randomizer.candidates
        self.longest = HEADER_BYTES + randomizer.payload_bytes
        """The length of a report, beyond which there is nothing to read."""
        self._layer = layer
        self._header = header(layer)
        compiled = COMPILED.get(randomizer.name)
        self._decode = compiled(randomizer) if compiled else None

    def votes(self, report: bytes) -> Votes:
        """The candidates that a report votes for, with repetition; or a ReportError that says what is wrong with it."""
        if self._decode and report.startswith(self._header) and len(report) <= self.longest:
            votes = self._decode(report)
            if votes is not None:
                return votes
        # Without a compiled decoder, or refused by it: the plain way also knows why.
        return read_report(self._layer, report).astype(np.uint32)


def rice_decoder(randomizer: Unary) -> CompiledDecoder:
    """Decodes positions in a Rice code."""
    code, most = randomizer.code, randomizer.most_votes

    def decode(report: bytes) -> Votes | None:
        if len(report) < _BODY:
            return None
        count = int.from_bytes(report[HEADER_BYTES:_BODY], "big")
        if count > most or len(report) != HEADER_BYTES + code.usual_bytes:
            return None
        positions = np.empty(count + _ROOM, np.uint32)
        read = decode_rice(
            np.frombuffer(report, np.uint8),
            HEADER_BYTES,
            count,
            code.size,
            code.remainder_bits,
            positions,
        )
        return positions[:count] if read else None

    return decode


COMPILED: Final[dict[str, Callable[[Any], CompiledDecoder]]] = {Unary.name: rice_decoder}
