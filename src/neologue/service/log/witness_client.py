"""Asks a witness to co-sign a checkpoint, over HTTP (c2sp.org/tlog-witness)."""

import http.client
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from neologue.errors import LaterError, LogError
from neologue.one_address import send_request
from neologue.transparency.add_checkpoint import PATH, SIZE_MEDIA
from neologue.transparency.checkpoint import parse_size
from neologue.transparency.signed_note import NoteSignature, parse_signatures

SECONDS: Final = 10.0
_MOST_ANSWER_BYTES: Final = 1 << 14


@dataclass(frozen=True)
class Conflict:
    """The witness has co-signed another size last."""

    size: int


class WitnessClient:
    """One witness."""

    def __init__(self, url: str, seconds: float = SECONDS) -> None:
        """Wait so many `seconds` for an answer."""
        self._address, self._seconds = url.rstrip("/") + PATH, seconds

    def add_checkpoint(self, request: bytes) -> Sequence[NoteSignature] | Conflict:
        """The co-signatures of a checkpoint; a LaterError if it can't be asked now, a LogError if it refuses."""
        media = {"Content-Type": "text/plain; charset=utf-8"}
        wanted = urllib.request.Request(self._address, request, media, method="POST")
        try:
            with send_request(wanted, self._seconds) as answer:
                content = answer.read(_MOST_ANSWER_BYTES + 1)
        except urllib.error.HTTPError as error:
            with error:
                return self._refused(error)
        except (OSError, http.client.HTTPException) as error:
            raise LaterError(f"the witness at {self._address} gives no answer ({type(error).__name__})") from None
        return tuple(parse_signatures(content.decode("utf-8", "replace")))

    def _refused(self, error: urllib.error.HTTPError) -> Conflict:
        try:
            content = error.read(_MOST_ANSWER_BYTES).decode("utf-8", "replace").strip()
        except (OSError, http.client.HTTPException):
            raise LaterError(f"the witness at {self._address} answers {error.code}, and not why") from None
        if error.code == 409 and error.headers.get_content_type() == SIZE_MEDIA:
            try:
                return Conflict(parse_size(content))
            except ValueError:
                pass
        if error.code >= 500 or error.code == 429:
            raise LaterError(f"the witness at {self._address} can't answer now ({error.code})")
        raise LogError(f"the witness at {self._address} refuses to co-sign ({error.code}): {content[:500]}")
