"""Bodies of requests: whole, not too long, and in time."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from starlette.requests import ClientDisconnect
from starlette.types import Receive

from neologue.service.api.request_bodies import RequestBodies


def pieces(*bodies: bytes) -> list[dict[str, Any]]:
    last = len(bodies) - 1
    return [
        {"type": "http.request", "body": body, "more_body": layer_index < last}
        for layer_index, body in enumerate(bodies)
    ]


def receiving(messages: Iterable[dict[str, Any]]) -> Receive:
    """Gives the messages; behind the last one nothing comes any more."""
    remaining = iter(messages)

    async def receive() -> dict[str, Any]:
        for message in remaining:
            return message
        await asyncio.Event().wait()
        raise AssertionError

    return receive


def arrived(messages: Iterable[dict[str, Any]], most: int = 10) -> bytes | None:
    return asyncio.run(RequestBodies(60.0, 10**9, print).body(receiving(messages), most))


def test_a_body_is_the_sum_of_its_pieces() -> None:
    assert arrived(pieces(b"whole")) == b"whole"
    assert arrived(pieces(b"in ", b"three ", b".")) == b"in three ."
    assert arrived([{"type": "http.request"}]) == b""


def test_nothing_is_read_behind_what_is_too_much() -> None:
    assert arrived(pieces(b"0123456789")) == b"0123456789"
    assert arrived(pieces(b"01234567890")) is None
    assert arrived(pieces(b"01234", b"567890", b"never read")) is None


def test_who_hangs_up_has_sent_nothing() -> None:
    with pytest.raises(ClientDisconnect):
        arrived([*pieces(b"a", b"b")[:1], {"type": "http.disconnect"}])


def ended_by(end: Callable[[asyncio.Task[bytes | None]], object], seconds: float) -> None:
    """A body of which only the first half comes, and something that ends it within the time that it has."""

    async def scene() -> None:
        async with RequestBodies(seconds, 10**9, print) as arrivals:
            task = asyncio.create_task(arrivals.body(receiving(pieces(b"a", b"b")[:1]), 10))
            await asyncio.sleep(0)
            end(task)
            try:
                await asyncio.wait_for(task, 300)
            finally:
                assert not arrivals._begun

    asyncio.run(scene())


def test_what_takes_too_long_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        ended_by(lambda task: None, seconds=0.01)


def test_who_is_cancelled_by_others_is_cancelled() -> None:
    with pytest.raises(asyncio.CancelledError):
        ended_by(lambda task: task.cancel(), seconds=60.0)


def test_what_is_not_admitted_is_not_read_further() -> None:
    shown: list[bytes] = []

    async def scene(admitted: bool) -> bytes | None:
        def admits(head: bytes) -> bool:
            shown.append(head)
            return admitted

        bodies = RequestBodies(60.0, 10**9, print)
        return await bodies.body(receiving(pieces(b"ab", b"cd", b"ef")), 10, 3, admits)

    assert asyncio.run(scene(True)) == b"abcdef"
    assert asyncio.run(scene(False)) == b"abcd"
    assert shown == [b"abc", b"abc"]


def test_the_body_that_takes_longest_makes_room() -> None:
    met: list[str] = []

    async def scene() -> None:
        bodies = RequestBodies(60.0, 10, met.append)
        first, second = (
            asyncio.create_task(bodies.body(receiving(pieces(b"abcdef", b"g")[:1]), 100)) for _ in range(2)
        )
        with pytest.raises(TimeoutError):
            await first
        assert met == ["arriving_bytes"]
        assert not second.done()
        assert bodies._bytes == 6
        with pytest.raises(TimeoutError):
            await RequestBodies(60.0, 10, met.append).body(receiving(pieces(11 * b"x", b"y")), 100)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert bodies._bytes == 0

    asyncio.run(scene())
