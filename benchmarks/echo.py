"""The least that a service over HTTP does: read the body of a request and answer a few bytes."""

from collections.abc import Awaitable, Callable
from typing import Any

BODY = b'{"state":"final"}'
START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))],
}
REST = {"type": "http.response.body", "body": BODY}


async def echo(
    scope: dict[str, Any], receive: Callable[[], Awaitable[dict[str, Any]]], send: Callable[[Any], Awaitable[None]]
) -> None:
    """Serve one request (ASGI, without lifespan events)."""
    assert scope["type"] == "http"
    while (await receive()).get("more_body"):
        pass
    await send(START)
    await send(REST)
