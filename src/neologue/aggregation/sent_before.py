"""Whether a report was sent before by another device, told from digests that live in memory alone.

Where every report is so improbable that no two honest ones are equal, an equal one is a copy. Of each device two
digests of 8 bytes are remembered: one of its first report, and one of its serial. Whatever else it sends is not
compared, for the first report alone counts, and not remembered, so that one device that sends others without an end
takes no more room than any. The key of the digests is random, and is never written: without it they tell nothing, and
with it whether a report or a serial that somebody has already was sent. Two different reports are taken for equal with
a chance of 2^-64 for each report that was sent before.
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
        """Whether the first report of a serial is one that another serial has sent; if not, it is its own from now on.

        Only reports that are counted or wait to be may be shown, for all later ones of the same serial pass.
        """
        whose, report_digest = self._digest(serial, b"serial"), self._digest(report, b"report")
        if whose in self:
            return False
        if report_digest in self:
            return True
        self._recent |= {whose, report_digest}
        if len(self._recent) >= _UNSORTED:
            recent = np.sort(np.fromiter(self._recent, np.uint64))
            self._sorted = np.insert(self._sorted, np.searchsorted(self._sorted, recent), recent)
            self._recent.clear()
        return False

    def __contains__(self, digest: int) -> bool:
        index = int(np.searchsorted(self._sorted, np.uint64(digest)))
        return digest in self._recent or (index < len(self._sorted) and int(self._sorted[index]) == digest)

    def _digest(self, content: bytes, kind: bytes) -> int:
        return int.from_bytes(blake2b(content, digest_size=8, key=self._key, person=kind).digest(), "big")
