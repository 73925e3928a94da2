"""Whether a report was sent before by another device, told from digests that live in memory alone.

Where every report is so improbable that no two honest ones are equal, an equal one is a copy. Of each report two
digests of 8 bytes are remembered: one of the report, and one of the report with its serial, by which a device that
sends the same bytes again is known. Their key is random, and is never written: without it they tell nothing, and with
it whether a report that somebody has already was sent. Two different reports are taken for equal with a chance of
2^-63 for each report that was sent before.
"""

import os
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

_UNSORTED = 4096
"""So many digests are kept as Python has them; all others take 8 bytes each."""


class SentBefore:
    """The reports that one worker took in one layer."""

    def __init__(self) -> None:
        self._key = os.urandom(16)
        self._sorted: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._recent: set[int] = set()

    def by_another(self, serial: bytes, report: bytes) -> bool:
        """Whether another serial has sent the same report; if not, this one has from now on."""
        own, any_serial = self._digest(report, serial), self._digest(report)
        if own in self:
            return False
        if any_serial in self:
            return True
        self._recent |= {own, any_serial}
        if len(self._recent) >= _UNSORTED:
            recent = np.sort(np.fromiter(self._recent, np.uint64))
            self._sorted = np.insert(self._sorted, np.searchsorted(self._sorted, recent), recent)
            self._recent.clear()
        return False

    def __contains__(self, digest: int) -> bool:
        index = int(np.searchsorted(self._sorted, np.uint64(digest)))
        return digest in self._recent or (index < len(self._sorted) and int(self._sorted[index]) == digest)

    def _digest(self, report: bytes, serial: bytes = b"") -> int:
        whose = b"its own" if serial else b"anybody's"
        return int.from_bytes(blake2b(report, digest_size=8, key=self._key, salt=serial, person=whose).digest(), "big")
