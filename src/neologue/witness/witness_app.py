"""A witness over HTTP: where logs ask it, where everybody sees what it has co-signed, and the logs that it looks at."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Final

import structlog
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.errors import LaterError, LogError
from neologue.transparency.add_checkpoint import MOST_REQUEST_BYTES, PATH
from neologue.transparency.log_source import open_log
from neologue.transparency.trust import Server
from neologue.witness.following import look
from neologue.witness.witness import Witness, WitnessResponse
from neologue.witness.witness_file import Fork, WitnessFile

CHECKPOINTS: Final = "/checkpoints/"
_SECONDS_TO_SEND: Final = 10.0

log = structlog.get_logger("neologue.witness")


def witness_app(witness: Witness, file: WitnessFile, logs: Sequence[Server], pause: float) -> Starlette:
    """The ASGI application; every `pause` seconds it looks at the logs whose addresses are known."""

    async def add_checkpoint(request: Request) -> Response:
        try:
            async with asyncio.timeout(_SECONDS_TO_SEND):
                body = await _body(request)
        except TimeoutError:
            return _respond(WitnessResponse(408, "the request did not arrive in time\n"))
        if body is None:
            return _respond(WitnessResponse(413, "a request to co-sign is shorter\n"))
        return _respond(await run_in_threadpool(witness.add_checkpoint, body))

    async def checkpoint(request: Request) -> Response:
        return _respond(await run_in_threadpool(_newest, file, request.path_params["origin"]))

    async def status(request: Request) -> Response:
        return _respond(WitnessResponse(200, await run_in_threadpool(describe, file)))

    async def follow(server: Server) -> None:
        assert server.url is not None
        fetch = open_log(server.url)
        while True:
            try:
                await run_in_threadpool(look, witness, server.key.name, fetch)
            except (LogError, LaterError) as error:
                log.warning("a log can't be looked at", log=server.key.name, reason=str(error))
            await asyncio.sleep(pause)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        following = [asyncio.create_task(follow(server)) for server in logs if server.url is not None]
        log.info("serving", key=str(file.key), logs=[server.key.name for server in logs])
        try:
            yield
        finally:
            for task in following:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task

    routes = [
        Route(PATH, add_checkpoint, methods=["POST"]),
        Route(CHECKPOINTS + "{origin:path}", checkpoint, methods=["GET"]),
        Route("/", status, methods=["GET"]),
    ]
    return Starlette(routes=routes, lifespan=lifespan)


def log_fork(fork: Fork) -> None:
    """Say that a log was forked."""
    log.error("a log was forked, and is not co-signed any more", log=fork.origin, entries=fork.size)


def describe(file: WitnessFile) -> str:
    """What a witness has to say of itself and its logs."""
    with file.reading() as rows:
        newest = [found[0] for origin in rows.origins() if (found := rows.newest(origin))]
        forks = rows.forks()
    return "".join(
        (
            f"witness {file.key}\n",
            *(f"co-signed {checkpoint.origin} up to {checkpoint.size} entries\n" for checkpoint in newest),
            *(f"FORKED {fork.origin}: two checkpoints contradict each other\n" for fork in forks),
        )
    )


def _newest(file: WitnessFile, origin: str) -> WitnessResponse:
    with file.reading() as rows:
        newest = rows.newest(origin)
    return (
        WitnessResponse(404, "nothing of that log was co-signed\n")
        if newest is None
        else WitnessResponse(200, bytes(newest[1]).decode())
    )


def _respond(answer: WitnessResponse) -> Response:
    return Response(answer.body, answer.status, {"Cache-Control": "no-store"}, answer.media)


async def _body(request: Request) -> bytes | None:
    """The body, unless it is longer than a request may be."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MOST_REQUEST_BYTES:
            return None
    return content
