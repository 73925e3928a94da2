"""The client with which commands call a service, and the options that name it."""

import http.client
import json
import urllib.error
import urllib.request
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import click

from neologue.cli.help_sections import CommandGroup
from neologue.errors import InputError
from neologue.one_address import send_request

SECONDS = 120

SERVER = click.option(
    "--server",
    default="http://127.0.0.1:8080",
    show_default=True,
    envvar="NEOLOGUE_SERVER",
    show_envvar=True,
    help="The address of the service.",
)
NAME = click.argument("name")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of a table.")
TOKEN = click.option("--token", envvar="NEOLOGUE_TOKEN", help="Your token; better set NEOLOGUE_TOKEN instead.")


class ServiceGroup(CommandGroup):
    """Commands on a service; `--server` and `--token` may stand before or behind the name of each."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command, with the options that name the service."""
        for option in ("--server", "--token"):
            cmd.params.append(click.Option([option], expose_value=False, hidden=True, callback=_use))
        super().add_command(cmd, name)


def _use(context: click.Context, option: click.Parameter, given: str | None) -> None:
    if given is not None:
        context.obj = ServiceClient(**{**context.obj.given, option.name: given})


class ServiceClient:
    """Sends requests to a service with a person's token."""

    def __init__(self, server: str, token: str | None) -> None:
        self.given = {"server": server, "token": token}
        try:
            url = urlsplit(server)
            usable = url.scheme in ("http", "https") and url.hostname and (url.port or 1) and server.isascii()
        except ValueError:
            usable = False
        if not usable:
            raise InputError(f"{server!r} is not the address of a service: give one with http:// or https://")
        self._server, self._token = server.rstrip("/"), (token or "").strip()
        if not (self._token.isascii() and self._token.isprintable()):
            raise InputError("the token has characters that no token has: copy it again")

    def require_token(self) -> None:
        """Raise an `InputError` if no token is given."""
        if not self._token:
            raise InputError("no token is given: set NEOLOGUE_TOKEN, or give --token")

    def request_text(self, method: str, *path: str, body: object = None, **query: str | int) -> str:
        """The body of the service's answer; raises an `InputError` with the service's message."""
        self.require_token()
        query_string = f"?{urlencode(query)}" if query else ""
        request = urllib.request.Request(
            f"{self._server}/v1/" + "/".join(quote(part, safe="") for part in path) + query_string,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with send_request(request, SECONDS) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                raise InputError(self._error_message(error)) from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            cause = getattr(error, "reason", error)
            reason = getattr(cause, "strerror", None) or cause
            raise InputError(
                f"{self._server} can't be reached ({reason}): check the address, or start a service with neologue serve"
            ) from error

    def request_json(self, method: str, *path: str, body: object = None, **query: str | int) -> Any:  # noqa: ANN401 - any JSON
        """The same, parsed as JSON."""
        text = self.request_text(method, *path, body=body, **query)
        try:
            return json.loads(text)
        except ValueError as error:
            raise InputError(f"{self._server} does not answer like a neologue service: check --server") from error

    def _error_message(self, error: urllib.error.HTTPError) -> str:
        if 300 <= error.code < 400:
            return (
                f"{self._server} sends requests on to another address, where a token does not follow: "
                "give the address of the service itself with --server"
            )
        try:
            message = json.loads(error.read())["error"]["message"]
        except (ValueError, KeyError, TypeError):
            return f"the service answered {error.code}: {error.reason}"
        return str(message)


def format_time(seconds: float) -> str:
    """A Unix time as the service gives it, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
