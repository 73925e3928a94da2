"""How the command line talks to a service, as a person with a token."""

import http.client
import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import click

from neologue.errors import InputError

SECONDS = 120

SERVER = click.option(
    "--server",
    default="http://127.0.0.1:8080",
    show_default=True,
    envvar="NEOLOGUE_SERVER",
    show_envvar=True,
    help="The address of the service.",
)
TOKEN = click.option("--token", envvar="NEOLOGUE_TOKEN", help="Your token; better in the environment: NEOLOGUE_TOKEN.")


class Remote:
    """A service, and somebody who may ask it for something."""

    def __init__(self, server: str, token: str | None) -> None:
        try:
            url = urlsplit(server)
            usable = url.scheme in ("http", "https") and url.hostname and (url.port or 1) and server.isascii()
        except ValueError:
            usable = False
        if not usable:
            raise InputError(f"{server!r} is not the address of a service: give one with http:// or https://")
        self._server, self._token = server.rstrip("/"), (token or "").strip()
        if not (self._token.isascii() and self._token.isprintable()):
            raise InputError("the token has characters that no token has: copy the one that you were shown once more")

    def text(self, method: str, *path: str, body: object = None, **query: str | int) -> str:
        """What the service answers, or an error that says what it has against it."""
        if not self._token:
            raise InputError("no token is given: put the one that you were shown into NEOLOGUE_TOKEN, or give --token")
        behind = f"?{urlencode(query)}" if query else ""
        request = urllib.request.Request(
            f"{self._server}/v1/" + "/".join(quote(part, safe="") for part in path) + behind,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=SECONDS) as response:
                content: bytes = response.read()
                return content.decode()
        except urllib.error.HTTPError as error:
            raise InputError(_told(error)) from error
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            reason = getattr(error, "reason", error)
            raise InputError(f"{self._server} can't be reached ({reason}): start it with neologue serve") from error

    def ask(self, method: str, *path: str, body: object = None, **query: str | int) -> Any:  # noqa: ANN401 - what it gives
        """The same, as the values that the answer's JSON stands for."""
        text = self.text(method, *path, body=body, **query)
        try:
            return json.loads(text)
        except ValueError as error:
            raise InputError(f"{self._server} does not answer as a service of neologue does: check --server") from error


def _told(error: urllib.error.HTTPError) -> str:
    try:
        message = json.loads(error.read())["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return f"the service answered {error.code}: {error.reason}"
    return str(message)
