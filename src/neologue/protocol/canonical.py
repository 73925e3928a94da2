"""Canonical JSON, for documents that are identified by their digest."""

import json
from collections.abc import Mapping


def canonical(document: Mapping[str, object]) -> bytes:
    """JSON in UTF-8: keys sorted, no white space, nothing escaped but what JSON must."""
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Half of a surrogate pair is not a character, but gets a digest; such a document can't be read back.
    return text.encode("utf-8", "surrogatepass")
