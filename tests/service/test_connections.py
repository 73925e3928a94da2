"""Which connections are closed for others, and which never are."""

import asyncio
from dataclasses import dataclass, field

import pytest

from neologue.service.api.connections import Awaited, ConnectionLimits, Connections


@dataclass(eq=False)
class Line:
    """A connection without a network."""

    address: str = "a"
    awaits: Awaited = Awaited.HEADER
    unsent: int = 0
    open: bool = True

    def cut(self) -> None:
        self.open = False


@dataclass
class Office:
    """Connections with a clock and a list of the limits that were met."""

    now: float = 0.0
    met: list[str] = field(default_factory=list)

    def connections(self, most: int = 4, of_address: int | None = 3, unsent: int = 100) -> Connections:
        seconds = dict.fromkeys(Awaited, 10.0) | {Awaited.REQUEST: 30.0}
        return Connections(ConnectionLimits(most, of_address, seconds, unsent), lambda: self.now, self.met.append)

    def admitted(self, connections: Connections, *addresses: str) -> list[Line]:
        """Connections that come one after the other."""
        lines = [Line(address) for address in addresses]
        for line in lines:
            self.now += 1
            assert connections.admit(line)
        return lines


def test_whoever_waits_longest_makes_room() -> None:
    office = Office()
    connections = office.connections()
    first, second, third, fourth = office.admitted(connections, "a", "b", "c", "d")
    connections.work(first)
    assert connections.admit(Line("e"))
    assert [line.open for line in (first, second, third, fourth)] == [True, False, True, True]
    assert office.met == ["connections"]
    connections.wait(first)
    assert connections.admit(Line("f"))
    assert not third.open, "the first waits again, but not as long"
    assert connections.open == 4


def test_an_address_makes_room_for_itself() -> None:
    office = Office()
    connections = office.connections(most=100)
    other, first, second, third = office.admitted(connections, "b", "a", "a", "a")
    assert connections.admit(Line("a"))
    assert [line.open for line in (other, first, second, third)] == [True, False, True, True]
    assert office.met == ["connections_of_address"]


def test_nobody_who_is_being_answered_is_closed_for_others() -> None:
    office = Office()
    connections = office.connections(most=2)
    for line in (lines := office.admitted(connections, "a", "b")):
        connections.work(line)
    assert not connections.admit(Line("c")), "the new one is refused instead"
    assert all(line.open for line in lines)
    connections.leave(lines[0])
    assert connections.admit(Line("c"))


def test_behind_a_proxy_there_is_no_limit_of_an_address() -> None:
    office = Office()
    connections = office.connections(most=100, of_address=None)
    assert all(line.open for line in office.admitted(connections, *10 * ["proxy"]))


def test_each_wait_has_its_time() -> None:
    office = Office()
    connections = office.connections()
    header, idle, working = office.admitted(connections, "a", "b", "c")
    idle.awaits = Awaited.REQUEST
    connections.work(working)
    office.now = 20.0
    asyncio.run(connections.close_slow())
    assert [line.open for line in (header, idle, working)] == [False, True, True]
    office.now = 40.0
    asyncio.run(connections.close_slow())
    assert [line.open for line in (header, idle, working)] == [False, False, True]
    assert office.met == [Awaited.HEADER, Awaited.REQUEST]
    assert connections.open == 1


def test_the_slowest_readers_go_until_there_is_memory_again() -> None:
    office = Office()
    connections = office.connections(unsent=100)
    lines = office.admitted(connections, "a", "b", "c", "d")
    for line, unsent in zip(lines, (60, 0, 60, 60), strict=True):
        line.awaits, line.unsent = Awaited.READER, unsent
    asyncio.run(connections.close_slow())
    assert [line.open for line in lines] == [False, True, False, True]
    assert office.met == ["unsent_bytes"] * 2


def test_nothing_is_kept_of_a_connection_that_is_closed() -> None:
    office = Office()
    connections = office.connections()
    for line in office.admitted(connections, "a", "a", "b"):
        connections.leave(line)
        connections.leave(line)
        connections.wait(line)
    assert connections.open == 0
    assert not connections._waiting
    assert not connections._waiting_of
    assert not connections._open_of


@pytest.mark.parametrize(
    ("soft", "hard", "allowed"), [(1024, 1 << 20, 10_000), (1024, 1024, 768), (1 << 20, 1 << 20, 10_000)]
)
def test_there_are_never_more_connections_than_descriptors(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, allowed: int
) -> None:
    resource = pytest.importorskip("resource")
    from neologue.service.http_server import connections_allowed

    limits = [soft]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (limits[-1], hard))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, given: limits.append(given[0]))
    assert connections_allowed(10_000) == allowed
    assert limits[-1] >= allowed + 256
    assert limits[-1] <= hard


def test_a_worker_process_imports_nothing_before_it_begins() -> None:
    """Whoever starts it takes it for dead if it does not answer soon, and what it is given is unpickled before."""
    from neologue.service.http_server import server_options
    from neologue.service.ops.settings import Settings

    options = server_options(Settings(database="x"), 1)
    assert all(value is None or type(value) in (str, int, bool) for value in options.values())
    assert options["http"].endswith(":BoundedHttpProtocol")
