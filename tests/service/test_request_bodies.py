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
    return asyncio.run(RequestBodies(60.0).body(receiving(messages), most))


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
        async with RequestBodies(seconds) as arrivals:
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
