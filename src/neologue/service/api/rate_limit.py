"""Rate limits by address: a token bucket for each, of which a bounded number is kept.

A request limit refuses whoever asks too much. A failure limit refuses nobody who is in the right: an address with too
many failures is *suspect*: its wrong requests are answered with 429, and a campaign that is not there is not looked up
for it. Others behind the same address who show a valid ticket, credential or token are served as always.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

REMEMBERED = 100_000
"""How many addresses are kept at most; the least recent one is dropped first."""
LONGEST_WAIT: Final = 10.0
"""The most seconds that an address has to wait, however much it asked before."""


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled: float


class Limit:
    """So many tokens per second for each address, with some at once; kept in memory alone."""

    def __init__(self, per_second: float, at_once: float) -> None:
        self._per_second, self._at_once = per_second, at_once
        self._least = 1 - LONGEST_WAIT * per_second
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def wait(self, address: str, now: float) -> float:
        """The seconds until the address has a token; 0 if it has one now."""
        bucket = self._buckets.get(address)
        return 0.0 if bucket is None else self._seconds_lacking(self._refill(bucket, now))

    def take(self, address: str, now: float) -> float:
        """The seconds until the address has a token; if it has one now, it is taken."""
        bucket = self._bucket(address, now)
        wait = self._seconds_lacking(bucket)
        if not wait:
            bucket.tokens -= 1
        return wait

    def owe(self, address: str, now: float) -> None:
        """Take a token that the address may not have: it waits longer for the next, and never longer than allowed."""
        bucket = self._bucket(address, now)
        bucket.tokens = max(self._least, bucket.tokens - 1)

    def give_back(self, address: str) -> None:
        """Give back a token that was taken."""
        bucket = self._buckets.get(address)
        if bucket is not None:
            bucket.tokens = min(self._at_once, bucket.tokens + 1)

    def _seconds_lacking(self, bucket: _Bucket) -> float:
        """The seconds until there is a token in a bucket."""
        return 0.0 if bucket.tokens >= 1 else min(LONGEST_WAIT, (1 - bucket.tokens) / self._per_second)

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
        # A time that is past already would take away what has come since.
        if now > bucket.filled:
            bucket.tokens = min(self._at_once, bucket.tokens + (now - bucket.filled) * self._per_second)
            bucket.filled = now
        return bucket


class Standing:
    """How a request stands with the failure limit: it counts as a failure until it is known not to be one."""

    __slots__ = ("_address", "_limit", "_reserved", "vouched", "wait")

    def __init__(self, limit: Limit, address: str, now: float) -> None:
        """A token is reserved at once, so requests that are under way together can't all be the last one allowed."""
        self._limit, self._address = limit, address
        self.wait = limit.take(address, now)
        """The seconds until its address is not suspect any more; 0 if it is not."""
        self._reserved = not self.wait
        self.vouched = False
        """Whether the request has shown something that only the service or an issuer can have made."""

    @property
    def suspect(self) -> bool:
        """Whether its address has failed too often, and nothing vouches for this request."""
        return self.wait > 0 and not self.vouched

    def vouch(self) -> None:
        """Note that the request has shown a valid ticket, credential, token or session."""
        self.vouched = True
        self._release()

    def end(self, failed: bool, now: float) -> None:
        """Settle it: a failure stays counted, or is counted now."""
        if not failed:
            self._release()
        elif not self._reserved:
            self._limit.owe(self._address, now)

    def _release(self) -> None:
        if self._reserved:
            self._reserved = False
            self._limit.give_back(self._address)
