"""The one form in which something is written down where its digest matters."""

import json
from collections.abc import Mapping


def canonical(told: Mapping[str, object]) -> bytes:
    """JSON in UTF-8: keys sorted, no white space, nothing escaped but what JSON must."""
    text = json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half of a surrogate pair is no character, but it has a digest; nobody can read such a document back.
    return text.encode("utf-8", "surrogatepass")
