"""From whom a request comes, and over what."""

from typing import Any

import pytest

from neologue.service.api.addresses import is_https, network_of, sender_of


def scope(peer: str = "10.0.0.1", *forwarded: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    headers = [(b"host", b"x"), *((b"x-forwarded-for", entry.encode()) for entry in forwarded)]
    return {"client": (peer, 1), "headers": headers, "scheme": "http", **more}


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:4711", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]:443", "2001:db8:1:2::/64"),
        ("[2001:db8:1:2::9]", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::9", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("unknown", "unknown"),
        ("x" * 1000, "x" * 64),
    ],
)
def test_an_ipv6_address_stands_for_its_network(address: str, network: str) -> None:
    assert network_of(address) == network


@pytest.mark.parametrize(
    ("proxies", "forwarded", "sender"),
    [
        (0, ["198.51.100.1"], "10.0.0.1"),
        (1, [], "10.0.0.1"),
        (1, ["203.0.113.5"], "203.0.113.5"),
        (1, ["198.51.100.1, 203.0.113.5"], "203.0.113.5"),
        (2, ["198.51.100.1, 203.0.113.5, 10.9.9.9"], "203.0.113.5"),
        (2, ["198.51.100.1", "203.0.113.5", "10.9.9.9"], "203.0.113.5"),
        (2, ["203.0.113.5"], "203.0.113.5"),
        (1, ["198.51.100.1,, 203.0.113.5 ,"], "203.0.113.5"),
    ],
)
def test_the_entry_of_the_outermost_proxy_counts_and_what_stands_before_it_does_not(
    proxies: int, forwarded: list[str], sender: str
) -> None:
    assert sender_of(scope("10.0.0.1", *forwarded), proxies) == sender


def test_only_a_proxy_is_believed_that_it_speaks_tls() -> None:
    told = scope()
    told["headers"].append((b"x-forwarded-proto", b"https"))
    assert not is_https(told, 0)
    assert is_https(told, 1)
    assert is_https(scope(scheme="https"), 0)
    assert not is_https(scope(), 1)
