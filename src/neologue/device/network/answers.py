"""Parsing of a service's answers, which may be hostile: JSON of a known shape, bytes, and bounded delays."""

import json
import math
import re
from typing import Any, Final

from neologue.device.network.transport import Response
from neologue.errors import LaterError

SOONEST = 1.0
LATEST = 86_400.0
"""Bounds on how long a device waits, whatever a server asks."""

_CODE: Final = re.compile(r"[a-z_]{1,32}")


def refusal(response: Response, what: str) -> str:
    """The reason why the service refuses; a LaterError if another try soon may help."""
    if response.status >= 500 or response.status in (408, 429) or 300 <= response.status < 400:
        raise LaterError(
            f"the service answers {response.status} to a {what}: try again later", retry_after_seconds(response)
        )
    try:
        code = json_object(response)["error"]["code"]
    except (LaterError, KeyError, TypeError):
        code = None
    # Quotes nothing but a code: the rest of the answer could be anything.
    reason = f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
    return f"the service refuses a {what} of this device with {response.status}{reason}"


def json_object(response: Response) -> dict[str, Any]:
    """The JSON object in the body of an answer."""
    try:
        reply = json.loads(response.body)
    except (ValueError, RecursionError):
        raise bad_answer() from None
    if not isinstance(reply, dict):
        raise bad_answer()
    return reply


def hex_bytes(reply: dict[str, Any], name: str, length: int) -> bytes:
    """Bytes written in lower-case hexadecimal."""
    value = reply.get(name)
    if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{2 * length}}}", value):
        raise bad_answer()
    return bytes.fromhex(value)


def optional_hex_bytes(reply: dict[str, Any], name: str) -> bytes | None:
    """Bytes of any length in lower-case hexadecimal; None if there are none."""
    value = reply.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch("(?:[0-9a-f]{2})*", value):
        raise bad_answer()
    return bytes.fromhex(value)


def clamp_delay(seconds: object) -> float:
    """The delay that a server asks for, within the bounds."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise bad_answer()
    if isinstance(seconds, float) and math.isnan(seconds):
        raise bad_answer()
    return float(min(max(seconds, SOONEST), LATEST))


def retry_after_seconds(response: Response) -> float | None:
    """The delay in a Retry-After header; None if there is none, or a date."""
    text = response.retry_after or ""
    return clamp_delay(int(text)) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else None


def bad_answer() -> LaterError:
    """The error for an answer that can't be understood."""
    return LaterError("the service's answer can't be understood: try again later")
