"""The way that a request came: from whom, and whether over TLS.

For limits, and for nothing else, a sender is an IPv4 address or the /64 network of an IPv6 address: whoever has one
IPv6 address has 2^64 of them, so that limits by single addresses would limit nobody.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import Final

from starlette.types import Scope

_FORWARDED: Final = b"x-forwarded-for"
_PROTOCOL: Final = b"x-forwarded-proto"
_LONGEST: Final = 64
"""Characters of an entry that is not an address, of which no more is kept."""


@dataclass(frozen=True)
class Way:
    """How a request came: how many proxies appended an address, if whoever asked named none, and whether over TLS."""

    forwarded: int = 0
    https: bool = False

    @classmethod
    def of(cls, scope: Scope, proxies: int) -> "Way":
        """The way of a request through so many trusted proxies."""
        return cls(len(_forwarded(scope["headers"])), is_https(scope, proxies))


DIRECT: Final = Way()
"""Through no proxy, and without TLS."""


def sender_of(scope: Scope, proxies: int) -> str:
    """Whose request it is, if it came through so many trusted proxies.

    Each of them appends the address that it was asked from, so the one of the outermost proxy is so many entries from
    the end; whatever stands before it may be forged. A request with fewer entries came through fewer of them.
    """
    if proxies:
        entries = _forwarded(scope["headers"])
        if entries:
            return network_of(entries[max(0, len(entries) - proxies)])
    return network_of(scope["client"][0]) if scope["client"] else ""


def is_https(scope: Scope, proxies: int) -> bool:
    """Whether whoever asks uses TLS, with us or with the proxy in front of us."""
    if scope["scheme"] == "https":
        return True
    return proxies > 0 and dict(scope["headers"]).get(_PROTOCOL, b"").strip() == b"https"


@lru_cache(4096)
def network_of(address: str) -> str:
    """An IPv4 address as it is, the network of an IPv6 address; a port behind it is left out."""
    bare = address.rpartition("]")[0].removeprefix("[") if address.startswith("[") else address
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        parsed = ip_address(bare.partition("%")[0])
    except ValueError:
        return address[:_LONGEST]
    if not isinstance(parsed, IPv6Address):
        return str(parsed)
    if parsed.ipv4_mapped:
        return str(parsed.ipv4_mapped)
    return str(IPv6Network((parsed, 64), strict=False))


def _forwarded(headers: Iterable[tuple[bytes, bytes]]) -> list[str]:
    """The entries of X-Forwarded-For, which may be in several headers."""
    joined = b",".join(value for name, value in headers if name == _FORWARDED).decode("latin-1")
    return [entry for part in joined.split(",") if (entry := part.strip())]
