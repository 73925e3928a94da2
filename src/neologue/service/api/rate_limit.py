"""Rate limits by address: a token bucket for each, of which a bounded number is kept."""

from collections import OrderedDict
from dataclasses import dataclass

REMEMBERED = 100_000
"""How many addresses are kept at most; the least recent one is dropped first."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class Limit:
    """So many requests per second for each address, with some allowed at once; kept in memory alone."""

    def __init__(self, per_second: float, at_once: float) -> None:
        self._per_second, self._at_once = per_second, at_once
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """The seconds until the address may ask again; 0 if it may now."""
        bucket = self._buckets.get(address)
        return 0.0 if bucket is None else self._seconds_lacking(self._refill(bucket, now))

    def count(self, address: str, now: float) -> None:
        """Take one token of the address."""
        self._bucket(address, now).tokens -= 1

    def take(self, address: str, now: float) -> float:
        """The seconds until the address may ask; if it may now, one token is taken."""
        bucket = self._bucket(address, now)
        wait = self._seconds_lacking(bucket)
        if not wait:
            bucket.tokens -= 1
        return wait

    def _seconds_lacking(self, bucket: _Bucket) -> float:
        """The seconds until there is a token in a bucket."""
        return 0.0 if bucket.tokens >= 1 else (1 - bucket.tokens) / self._per_second

    def _bucket(self, address: str, now: float) -> _Bucket:
        """The bucket of an address, which becomes the most recent one."""
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
