"""The OpenAPI description of the service, made from the endpoints."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from neologue import __version__
from neologue.protocol.layer_fields import document_schema
from neologue.service.api.endpoints import ENDPOINTS
from neologue.service.api.operator_api import Text
from neologue.service.api.schemas import Failure, Health
from neologue.service.collect.replies import CheckIn, CheckInReply, Final, GroupOffer, Received

DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
GROUP = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
BYTES = {"type": "string", "format": "binary"}


def description() -> dict[str, Any]:
    """The whole description, as plain values."""
    types = {
        kind for endpoint in ENDPOINTS for kind in (endpoint.takes, endpoint.gives) if kind not in (None, Text)
    } | {CheckIn, GroupOffer, Failure, Final, Health, Received, CheckInReply}
    ordered = sorted(types, key=str)
    schemas, components = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    schema = dict(zip(ordered, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in ENDPOINTS:
        text = {"schema": {"type": "string"}}
        gives = {"text/plain": text, "text/csv": text, "application/json": {"schema": {}}}
        if endpoint.gives is not Text:
            gives = {"application/json": {"schema": schema[endpoint.gives]}}
        operation: dict[str, Any] = {
            "summary": endpoint.summary,
            "operationId": endpoint.serve.__name__,
            "responses": {
                str(endpoint.status): {"description": endpoint.summary, "content": gives},
                **_failures(schema[Failure]),
            },
        }
        parameters = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in re.findall(r"{(\w+)}", endpoint.path)
        ] + _query(endpoint.asks)
        if parameters:
            operation["parameters"] = parameters
        if endpoint.takes is not None:
            content = {"application/json": {"schema": schema[endpoint.takes]}}
            operation["requestBody"] = {"required": True, "content": content}
        if endpoint.roles:
            operation["security"] = [{"token": []}]
            operation["description"] = f"For the role {' or '.join(endpoint.roles)}."
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    return {
        "openapi": "3.1.0",
        "info": {"title": "neologue", "version": __version__, "license": {"name": "Apache-2.0"}},
        "paths": {**paths, **_devices(schema)},
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


_CODES: Mapping[str, Mapping[str, str]] = {
    "check_in": {"400": "malformed", "401": "forged", "404": "unknown", "413": "too_large"},
    "layer": {"404": "unknown"},
    "known": {"404": "unknown"},
    "send_report": {
        "400": "malformed overfull",
        "401": "forged",
        "404": "unknown",
        "409": "repeated",
        "410": "closed",
        "413": "too_large",
    },
    "join_cohort": {
        "400": "malformed",
        "401": "forged",
        "404": "unknown",
        "409": "out",
        "410": "closed",
        "413": "too_large",
    },
    "cohort_message": {
        "400": "malformed",
        "401": "forged",
        "404": "unknown",
        "409": "out",
        "410": "closed",
        "413": "too_large",
    },
}
"""By operation and status, the codes of errors that a device acts on (docs/protocol.md, T9 and T12)."""


def _coded_failures(operation: str) -> dict[str, Any]:
    """The errors of an operation of devices, each with its codes."""

    def shape(codes: str) -> dict[str, Any]:
        problem = {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": {"enum": codes.split()}, "message": {"type": "string"}},
        }
        return {"type": "object", "required": ["error"], "properties": {"error": problem}}

    return {
        status: {"description": codes, "content": {"application/json": {"schema": shape(codes)}}}
        for status, codes in _CODES.get(operation, {}).items()
    }


def _devices(schema: dict[Any, Any]) -> dict[str, Any]:
    """The routes of devices, which docs/protocol.md specifies."""
    failures = _failures(schema[Failure])

    def given(summary: str, operation: str, media: str, shape: dict[str, Any], **more: Any) -> dict[str, Any]:  # noqa: ANN401
        content = {media: {"schema": shape}}
        success = {"200": {"description": summary, "content": content}}
        responses = {**success, **failures, **_coded_failures(operation)}
        return {"summary": summary, "operationId": operation, "responses": responses, **more}

    digest = [{"name": "digest", "in": "path", "required": True, "schema": DIGEST}]
    report = given("Send a report", "send_report", "application/json", schema[Final])
    report["requestBody"] = {"required": True, "content": {"application/octet-stream": {"schema": BYTES}}}
    report["responses"]["202"] = {
        "description": "It has arrived, but may still be lost: send the same bytes again",
        "content": {"application/json": {"schema": schema[Received]}},
    }
    join = given("Join a cohort", "join_cohort", "application/json", {"oneOf": [schema[GroupOffer], schema[Final]]})
    message = given("Send a message to a cohort", "cohort_message", "application/octet-stream", BYTES)
    message["responses"]["200"]["content"]["application/json"] = {"schema": schema[Final]}
    message["responses"]["202"] = report["responses"]["202"]
    message["parameters"] = [{"name": "cohort", "in": "path", "required": True, "schema": GROUP}]
    join["requestBody"] = message["requestBody"] = report["requestBody"]
    check_in = given("Ask what there is to do", "check_in", "application/json", schema[CheckInReply])
    check_in["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema[CheckIn]}}}
    layer = given(
        "What the devices of a layer are told", "layer", "application/json", document_schema(), parameters=digest
    )
    known = given("A list of known words", "known", "text/plain", {"type": "string"}, parameters=digest)
    health = given("Whether the process is alive", "health", "application/json", schema[Health])
    ready = given("Whether it can serve", "ready", "application/json", schema[Health])
    metrics = given("Figures for Prometheus", "metrics", "text/plain", {"type": "string"})
    return {
        "/v1/check-in": {"post": check_in},
        "/v1/layers/{digest}": {"get": layer},
        "/v1/known/{digest}": {"get": known},
        "/v1/reports": {"post": report},
        "/v1/cohorts": {"post": join},
        "/v1/cohorts/{cohort}": {"post": message},
        "/healthz": {"get": health},
        "/readyz": {"get": ready},
        "/metrics": {"get": metrics},
    }


def _query(asks: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - the type of a struct, or None
    """The query parameters."""
    if asks is None:
        return []
    shape = msgspec.json.schema(asks)["$defs"][asks.__name__]
    return [
        {"name": name, "in": "query", "required": name in shape["required"], "schema": schema}
        for name, schema in shape["properties"].items()
    ]


def _failures(shape: dict[str, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": shape}}
    wait = {"Retry-After": {"description": "Seconds to wait", "schema": {"type": "integer", "minimum": 1}}}

    def failed(description: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
        return {"description": description, "content": content, **more}

    return {
        "408": failed("It did not arrive in time"),
        "429": failed("Too many requests, or too many wrong ones, from this address", headers=wait),
        "431": failed("Its header is too large"),
        "4XX": failed("What was wrong"),
        "503": failed("The service is busy, or can't reach its database", headers=wait),
    }
