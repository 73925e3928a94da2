"""Where the files of a log are read from: the address of a service, or a folder that it was exported to."""

import http.client
import urllib.error
import urllib.request
from pathlib import Path
from typing import Final

from neologue.errors import LaterError, LogError
from neologue.one_address import send_request
from neologue.transparency.tiles import MOST_FILE_BYTES, Fetch
from neologue.transparency.trust import SCHEMES

SECONDS: Final = 30.0
CAMPAIGNS: Final = "campaigns"
DOCUMENTS: Final = "documents"


def open_log(place: str) -> Fetch:
    """Reads files of the log at a URL or in a folder; a LogError if there is no such file, else a LaterError."""
    if place.startswith(SCHEMES):
        return lambda path: _get(f"{place.rstrip('/')}/{path}")
    folder = Path(place)
    if not folder.is_dir():
        raise LogError(f"{place} is neither a folder nor an http address: name where the log is")
    return lambda path: _read(folder, path)


def campaign_tree(fetch: Fetch, campaign: bytes) -> Fetch:
    """Reads the files of the tree of a campaign."""
    return lambda path: fetch(f"{CAMPAIGNS}/{campaign.hex()}/{path}")


def document_path(digest: bytes) -> str:
    """Where the document with this digest is."""
    return f"{DOCUMENTS}/{digest.hex()}"


def _get(address: str) -> bytes:
    try:
        with send_request(urllib.request.Request(address), SECONDS) as answer:
            content = answer.read(MOST_FILE_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        if error.code == 404:
            raise LogError(f"the log has no file {address}: it is cut, or elsewhere") from None
        raise LaterError(f"{address} can't be read now ({error.code}); try again") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise LaterError(f"{address} can't be reached ({type(error).__name__}); try again") from None
    return _checked(content, address)


def _read(folder: Path, path: str) -> bytes:
    place = folder / path
    try:
        if not place.is_file():
            raise FileNotFoundError
        with place.open("rb") as file:
            return _checked(file.read(MOST_FILE_BYTES + 1), str(place))
    except OSError:
        raise LogError(f"the log has no file {place}: it is cut, or elsewhere") from None


def _checked(content: bytes, place: str) -> bytes:
    if len(content) > MOST_FILE_BYTES:
        raise LogError(f"{place} is longer than a file of a log")
    return content
