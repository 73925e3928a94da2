"""The endpoint that tells operators how a worker is deployed, which it alone can see: the doctor asks it."""

import msgspec

from neologue.service.api.operator_api import Call, Context, Endpoint
from neologue.service.ops.access import OPERATOR
from neologue.service.ops.confinement import Confinement, read_confinement


class DeploymentView(msgspec.Struct, frozen=True):
    """How the worker that answers is deployed, and how this request came to it."""

    proxies: int
    """The number of trusted proxies that it was told."""
    forwarded: int
    """How many entries X-Forwarded-For has in this request: as many as there are proxies, if the sender wrote none."""
    https: bool
    """Whether it takes this request for one over TLS."""
    connections: int
    """The most connections it takes, by its setting and its file descriptors."""
    confinement: Confinement


def deployment(context: Context, call: Call) -> DeploymentView:
    """How the worker is deployed."""
    settings = context.settings
    return DeploymentView(
        settings.proxies, call.way.forwarded, call.way.https, settings.connections, read_confinement()
    )


DEPLOYMENT_ENDPOINTS = (
    Endpoint("GET", "/v1/deployment", "How a worker is deployed", (OPERATOR,), deployment, DeploymentView),
)
