"""The terms of a group: what a device is told before it joins, and what follows from them once its size is known.

    byte 0         the version, 2
    bytes 1–16     the identity of the group, 16 random bytes
    bytes 17–48    the digest of the layer
    bytes 49–52    the entries of a vector
    bytes 53–54    the most votes that one device gives one entry
    bytes 55–56    the fewest devices whose votes may be summed
    byte 57        the dropouts that the group must survive, in per cent
    bytes 58–59    the corrupt devices that it must withstand

Numbers are big-endian. All devices of a group derive their keys from the digest of these bytes, so that two with
different terms can't work together.
"""

import hashlib
import struct
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np

from neologue.errors import MaskingError, ParameterError
from neologue.masking.neighbourhood import LARGEST_GROUP, Neighbourhood, check_group, neighbourhood
from neologue.masking.vote_packing import entry_dtype, packed_bytes

VERSION: Final = 2
GROUP_BYTES: Final = 16
LAYER_BYTES: Final = 32
ISSUER_BYTES: Final = 32
MOST_ENTRIES: Final = 1 << 27
MOST_VOTES: Final = 1 << 12

MOST_ISSUERS: Final = 16

_FORM: Final = struct.Struct(f">B{GROUP_BYTES}s{LAYER_BYTES}sIHHBH")
TERMS_BYTES: Final = _FORM.size
_PROMISE: Final = struct.Struct(">HBHB")


@dataclass(frozen=True)
class Terms:
    """What a device knows before it joins a group."""

    group_id: bytes
    layer: bytes
    """The digest of the layer that is answered."""
    entries: int
    votes: int
    """The most votes that one device gives one entry: 1 for unary, B for Subset Selection."""
    smallest: int
    """The fewest devices whose votes may be summed."""
    dropout: int
    """The dropouts that the group must survive, in per cent."""
    corrupt: int
    """The most corrupt devices that it must withstand."""

    def __post_init__(self) -> None:
        if len(self.group_id) != GROUP_BYTES or len(self.layer) != LAYER_BYTES:
            raise ParameterError(
                f"a group's identity has {GROUP_BYTES} bytes and a layer's digest {LAYER_BYTES}, "
                f"not {len(self.group_id)} and {len(self.layer)}"
            )
        if not 1 <= self.entries <= MOST_ENTRIES:
            raise ParameterError(f"a vector has 1 to {MOST_ENTRIES:,} entries, not {self.entries:,}")
        if not 1 <= self.votes <= MOST_VOTES:
            raise ParameterError(f"a device gives an entry at most 1 to {MOST_VOTES:,} votes, not {self.votes:,}")
        check_group(self.smallest, self.dropout, self.corrupt)

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """The terms in some bytes; or a MaskingError."""
        if len(body) != _FORM.size:
            raise MaskingError(f"{len(body):,} bytes where the terms of a group have {_FORM.size}")
        version, *fields = _FORM.unpack(body)
        if version != VERSION:
            raise MaskingError(f"version {version} of secure aggregation is not supported, only {VERSION}")
        try:
            return cls(*fields)
        except ParameterError as error:
            raise MaskingError(f"the terms can't be met: {error}") from None

    def __bytes__(self) -> bytes:
        return _FORM.pack(
            VERSION,
            self.group_id,
            self.layer,
            self.entries,
            self.votes,
            self.smallest,
            self.dropout,
            self.corrupt,
        )

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the terms as bytes."""
        return hashlib.sha256(bytes(self)).digest()


@dataclass(frozen=True)
class Promise:
    """What a device was promised about its groups."""

    smallest: int
    """The fewest devices whose votes are summed."""
    dropout: int
    """The dropouts that a group survives, in per cent."""
    corrupt: int
    """The most corrupt devices that a group withstands."""
    issuers: tuple[bytes, ...]
    """The raw Ed25519 public keys of those who vouch for the signing keys of devices."""

    def __post_init__(self) -> None:
        check_group(self.smallest, self.dropout, self.corrupt)
        if not 1 <= len(self.issuers) <= MOST_ISSUERS or len(set(self.issuers)) < len(self.issuers):
            raise ParameterError(
                f"1 to {MOST_ISSUERS} different issuers vouch for the devices of a campaign, not {len(self.issuers)}"
            )
        if any(len(issuer) != ISSUER_BYTES for issuer in self.issuers):
            raise ParameterError(f"an issuer's public key has {ISSUER_BYTES} bytes")

    @classmethod
    def parse(cls, body: bytes) -> Self:
        """The promise in some bytes.

        2 are for the devices, 1 for the dropouts, 2 for the corrupt ones, 1 for the issuers, and 32 for each of these.
        """
        if len(body) < _PROMISE.size:
            raise MaskingError(f"{len(body):,} bytes are no promise")
        smallest, dropout, corrupt, count = _PROMISE.unpack_from(body)
        keys = body[_PROMISE.size :]
        if len(keys) != count * ISSUER_BYTES:
            raise MaskingError(f"{len(body):,} bytes are no promise with {count} issuers")
        try:
            issuers = tuple(keys[place : place + ISSUER_BYTES] for place in range(0, len(keys), ISSUER_BYTES))
            return cls(smallest, dropout, corrupt, issuers)
        except ParameterError as error:
            raise MaskingError(f"the promise can't be kept: {error}") from None

    def __bytes__(self) -> bytes:
        numbers = _PROMISE.pack(self.smallest, self.dropout, self.corrupt, len(self.issuers))
        return numbers + b"".join(self.issuers)

    def check(self, terms: Terms) -> None:
        """Refuse terms for smaller sums, or with other numbers for thresholds to follow from, with a MaskingError."""
        if terms.smallest < self.smallest:
            raise MaskingError(
                f"the group may sum the votes of {terms.smallest:,} devices, and {self.smallest:,} were promised"
            )
        if terms.dropout != self.dropout:
            raise MaskingError(
                f"the group survives {terms.dropout} per cent of dropouts, and {self.dropout} were promised"
            )
        if terms.corrupt != self.corrupt:
            raise MaskingError(
                f"the group withstands {terms.corrupt:,} corrupt devices, and {self.corrupt:,} were promised"
            )


@dataclass(frozen=True)
class MaskingGroup:
    """A group whose size is known."""

    terms: Terms
    size: int
    """How many devices have advertised keys."""

    def __post_init__(self) -> None:
        if not self.terms.smallest <= self.size <= LARGEST_GROUP:
            raise MaskingError(
                f"a group of {self.size:,} devices, where {self.terms.smallest:,} to {LARGEST_GROUP:,} were promised"
            )

    @cached_property
    def neighbourhood(self) -> Neighbourhood:
        """The neighbours of each device, and the threshold; or a MaskingError if no number of them would do."""
        try:
            return neighbourhood(self.size, self.terms.dropout, self.terms.corrupt)
        except ParameterError as error:
            raise MaskingError(str(error)) from None

    @property
    def quorum(self) -> int:
        """How many devices must have signed the same set before any gives shares away, and be in a sum.

        They are more than half of the honest ones even if all corrupt ones have signed, so that no two sets have as
        many; and no fewer than promised.
        """
        return max(self.terms.smallest, (self.size + self.terms.corrupt) // 2 + 1)

    @property
    def bits(self) -> int:
        """The bits of an entry: just enough for all votes that it can get."""
        return (self.terms.votes * self.size).bit_length()

    @property
    def entry_dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """The type in which entries are summed."""
        return entry_dtype(self.bits)

    @property
    def vector_bytes(self) -> int:
        """The length of a masked vector on the wire."""
        return packed_bytes(self.terms.entries, self.bits)

    @cached_property
    def context(self) -> bytes:
        """SHA-256 of the terms and the size, in 2 bytes: what the digest of every roster of the group covers."""
        return hashlib.sha256(bytes(self.terms) + self.size.to_bytes(2, "big")).digest()
