"""Routes HTTP requests of operators and analysts to the endpoints, each for the roles that may use it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from neologue.service.api.addresses import Way
from neologue.service.api.endpoints import ENDPOINTS
from neologue.service.api.operator_api import Call, Context, Endpoint, Text
from neologue.service.api.rate_limit import Standing
from neologue.service.api.request_bodies import RequestBodies
from neologue.service.api.responses import NO_STORE, answer, failure
from neologue.service.api.schemas import UNREADABLE
from neologue.service.collect.layer_refresh import LayerRefresh
from neologue.service.ops import access
from neologue.service.ops.access import NOBODY, Person
from neologue.service.ops.concurrency import Threads

_NO_TOKEN: Final = "give a token of the service: Authorization: Bearer <token>"
_STRANGER: Final = "unknown or revoked token: ask an operator for another"
_LARGEST_UNREAD: Final = 1024
"""The most bytes of a body that the endpoint does not read."""


@dataclass(frozen=True)
class OperatorRouter:
    """Serves operators and analysts."""

    context: Context
    bodies: RequestBodies
    threads: Threads
    layers: LayerRefresh
    largest_request: int

    def routes(self) -> list[Route]:
        """A route for every endpoint."""
        return [Route(each.path, self._handler(each), methods=[each.method]) for each in ENDPOINTS]

    def _handler(self, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
        async def handle(request: Request) -> Response:
            authorization = request.headers.get("Authorization")
            person = await self.threads.run(self.person, authorization) if authorization else None
            if endpoint.roles and person is None:
                return failure(401, "no_token", _NO_TOKEN if authorization is None else _STRANGER)
            if endpoint.roles and person and person.role not in endpoint.roles:
                return failure(403, "forbidden", f"this is for the role {' or '.join(endpoint.roles)}")
            if person:
                standing: Standing = request.scope["standing"]
                standing.vouch()
            most = self.largest_request if endpoint.takes else _LARGEST_UNREAD
            body = await self.bodies.body(request.receive, most)
            if body is None:
                return failure(413, "too_large", f"this request has at most {most:,} bytes")
            try:
                taken = None if endpoint.takes is None else msgspec.json.decode(body, type=endpoint.takes)
                query = None if endpoint.asks is None else _query(request, endpoint.asks)
            except UNREADABLE as error:
                return failure(400, "malformed", f"the request can't be used: {error}")
            if not all(name.isprintable() for name in request.path_params.values()):
                return failure(404, "unknown", "nothing here has a name with characters that can't be shown")
            way = Way.of(request.scope, self.context.settings.proxies)
            call = Call(person or Person(NOBODY, ""), request.path_params, taken, query, way)
            given = await self.threads.run(endpoint.serve, self.context, call)
            if endpoint.method != "GET":
                await self.layers.refresh()
            if isinstance(given, Text):
                return Response(given.content, endpoint.status, NO_STORE, given.media)
            return answer(given, endpoint.status)

        return handle

    def person(self, authorization: str) -> Person | None:
        """Whose token the header of a request has, if anybody's."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer" or not token:
            return None
        with self.context.database.reading() as db:
            return access.holder(db, token)


def _query(request: Request, kind: Any) -> Any:  # noqa: ANN401 - a value of the kind that the endpoint asks for
    """The query of a request, in which each parameter may occur once."""
    given = request.query_params
    if len(given.multi_items()) > len(given):
        raise msgspec.ValidationError("something is given twice behind the path")
    return msgspec.convert(dict(given), kind, strict=False)
