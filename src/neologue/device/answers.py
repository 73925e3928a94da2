"""What a service answers, read with suspicion: JSON of a known shape, bytes, and times within reason."""

import json
import math
import re
from typing import Any, Final

from neologue.device.transport import Response
from neologue.errors import LaterError

SOONEST = 1.0
LATEST = 86_400.0
"""However long a server asks a device to wait, it waits from a second to a day."""

_CODE: Final = re.compile(r"[a-z_]{1,32}")


def refusal(response: Response, what: str) -> str:
    """What an answer that is no success has against this device; a LaterError if it is worth another try soon."""
    if response.status >= 500 or response.status in (408, 429) or 300 <= response.status < 400:
        raise LaterError(f"the service answers {response.status} to a {what}: try again later", said(response))
    try:
        code = json_object(response)["error"]["code"]
    except (LaterError, KeyError, TypeError):
        code = None
    # Only what looks like a code is repeated: the rest of the answer could say anything.
    told = f" ({code})" if isinstance(code, str) and _CODE.fullmatch(code) else ""
    return f"the service refuses a {what} of this device with {response.status}{told}"


def json_object(response: Response) -> dict[str, Any]:
    """The JSON object that an answer is."""
    try:
        told = json.loads(response.body)
    except (ValueError, RecursionError):
        raise misunderstood() from None
    if not isinstance(told, dict):
        raise misunderstood()
    return told


def octets(told: dict[str, Any], name: str, length: int) -> bytes:
    """Bytes written in lower-case hexadecimal."""
    value = told.get(name)
    if not isinstance(value, str) or not re.fullmatch(f"[0-9a-f]{{{2 * length}}}", value):
        raise misunderstood()
    return bytes.fromhex(value)


def bounded(seconds: object) -> float:
    """A time to wait as a server says it, within reason."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise misunderstood()
    if isinstance(seconds, float) and math.isnan(seconds):
        raise misunderstood()
    return float(min(max(seconds, SOONEST), LATEST))


def said(response: Response) -> float | None:
    """The time in a Retry-After header; a date is not understood, and nothing is lost by that."""
    text = response.retry_after or ""
    return bounded(int(text)) if re.fullmatch(r"[0-9]{1,9}", text, re.ASCII) else None


def misunderstood() -> LaterError:
    """That an answer makes no sense."""
    return LaterError("the service's answer can't be understood: try again later")
