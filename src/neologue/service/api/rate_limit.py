"""How much one address may ask: a bucket of tokens for each, of which a bounded number is remembered."""

from collections import OrderedDict
from dataclasses import dataclass

REMEMBERED = 100_000
"""How many addresses are remembered at most; the one that asked the longest ago is forgotten first."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class Limit:
    """So many per second for each address, and a few more at once; nothing is written down."""

    def __init__(self, per_second: float, at_once: float) -> None:
        self._per_second, self._at_once = per_second, at_once
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """0 if the address may ask now; if not, after how many seconds it may."""
        bucket = self._buckets.get(address)
        return 0.0 if bucket is None else self._seconds_lacking(self._refill(bucket, now))

    def count(self, address: str, now: float) -> None:
        """Take one from what the address may ask."""
        self._bucket(address, now).tokens -= 1

    def take(self, address: str, now: float) -> float:
        """Both at once: how long the address has to wait, and if it need not, one is taken."""
        bucket = self._bucket(address, now)
        wait = self._seconds_lacking(bucket)
        if not wait:
            bucket.tokens -= 1
        return wait

    def _seconds_lacking(self, bucket: _Bucket) -> float:
        """For how many seconds a bucket has to be filled until there is a token in it."""
        return 0.0 if bucket.tokens >= 1 else (1 - bucket.tokens) / self._per_second

    def _bucket(self, address: str, now: float) -> _Bucket:
        """The bucket of an address, which is remembered longer than all others from now on."""
        bucket = self._buckets.get(address)
        if bucket is not None:
            self._buckets.move_to_end(address)
            return self._refill(bucket, now)
        bucket = self._buckets[address] = _Bucket(self._at_once, now)
        if len(self._buckets) > REMEMBERED:
            self._buckets.popitem(last=False)
        return bucket

    def _refill(self, bucket: _Bucket, now: float) -> _Bucket:
        bucket.tokens = min(self._at_once, bucket.tokens + (now - bucket.filled) * self._per_second)
        bucket.filled = now
        return bucket
