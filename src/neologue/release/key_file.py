"""The file of a service's public keys: the key in force and how it came to be, as `GET /v1/key` gives them."""

import json
from pathlib import Path
from typing import Final

from neologue.errors import SignatureError

_LARGEST_FILE: Final = 1 << 17


def read_succession(path: Path) -> bytes:
    """The succession document in such a file; nothing of it is verified."""
    with path.open("rb") as file:
        content = file.read(_LARGEST_FILE)
    try:
        return bytes.fromhex(json.loads(content)["succession"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SignatureError(
            f"{path} has no succession of an operator's keys: write it with `neologue key show --out`"
        ) from error
