"""A library: layers and lists of known words by their digest, each fetched, checked and read once."""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Final, TypeVar

from neologue.device.policy import Policy
from neologue.errors import DocumentError, OversizeError, PolicyError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import LARGEST_DOCUMENT, read_known, read_layer, with_known
from neologue.protocol.layer import Layer

Fetch = Callable[[str, int], bytes]
"""Gives the bytes at a path of the service, at most so many; or raises a LaterError."""

Admit = Callable[[Layer | ClosedLayer], None]
"""Refuses a layer, by a PolicyError, before its known words are fetched."""

Digest = TypeVar("Digest")
Read = TypeVar("Read")

_LAYERS: Final = 4
_LISTS: Final = 2
_FILES: Final = 4


class Library:
    """A few layers and lists in memory, and their documents in a folder if one is given.

    `known` is a list of known words that the app comes with, as the service serves it: it is not fetched.
    Many clients of one process may share it, from any thread: documents are the same for all of them.
    """

    def __init__(self, folder: Path | None = None, known: bytes | None = None) -> None:
        self._folder = folder
        self._shipped = {} if known is None else {("known", hashlib.sha256(known).hexdigest()): known}
        self._layers: OrderedDict[bytes, Layer | ClosedLayer] = OrderedDict()
        self._lists: OrderedDict[str, Vocabulary] = OrderedDict()
        self._lock = Lock()

    def layer(self, digest: bytes, fetch: Fetch, policy: Policy, admit: Admit) -> Layer | ClosedLayer:
        """The layer with this digest, fetched if it is not here; or a DocumentError if what comes is another.

        Only the known words of a layer that was admitted are fetched, and only as many as the policy takes are read.
        """
        with self._lock:
            if digest not in self._layers:
                layer = read_layer(self._content("layers", digest.hex(), LARGEST_DOCUMENT, fetch))
                admit(layer)
                known = self._known_words(layer.known.digest, fetch, policy)
                _keep(self._layers, digest, with_known(layer, known), _LAYERS)
            self._layers.move_to_end(digest)
            return self._layers[digest]

    def clear(self) -> None:
        """Forget all, also what is in the folder."""
        with self._lock:
            self._layers.clear()
            self._lists.clear()
            for file in self._files():
                file.unlink(missing_ok=True)

    def _known_words(self, digest: str, fetch: Fetch, policy: Policy) -> Vocabulary:
        if digest not in self._lists:
            try:
                content = self._content("known", digest, policy.largest_known, fetch)
            except OversizeError:
                raise PolicyError(policy.known_complaint) from None
            policy.check_known(content)
            _keep(self._lists, digest, read_known(content), _LISTS)
        self._lists.move_to_end(digest)
        return self._lists[digest]

    def _content(self, kind: str, digest: str, most: int, fetch: Fetch) -> bytes:
        """The bytes with a digest, from the app, from the folder or from the service."""
        shipped = self._shipped.get((kind, digest))
        if shipped is not None:
            return shipped
        file = None if self._folder is None else self._folder / f"{kind}-{digest}"
        if file is not None:
            with suppress(OSError):
                content = file.read_bytes()
                if hashlib.sha256(content).hexdigest() == digest:
                    return content
        content = fetch(f"/v1/{kind}/{digest}", most)
        if hashlib.sha256(content).hexdigest() != digest:
            raise DocumentError(f"what the service gave for {kind}/{digest} has another digest and is not used")
        if file is not None:
            # A library that can't be written only costs another fetch.
            with suppress(OSError):
                self._store(file, content)
        return content

    def _store(self, file: Path, content: bytes) -> None:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        draft = file.with_name(f"{file.name}.{os.getpid()}")
        draft.write_bytes(content)
        draft.replace(file)
        for surplus in sorted(self._files(), key=lambda kept: kept.stat().st_mtime_ns)[:-_FILES]:
            surplus.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return [] if self._folder is None else list(self._folder.glob("*-*"))


def _keep(kept: OrderedDict[Digest, Read], digest: Digest, read: Read, most: int) -> None:
    """Add an item, and drop the least recently used one if there are too many."""
    kept[digest] = read
    if len(kept) > most:
        kept.popitem(last=False)
