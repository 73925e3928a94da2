"""Layers as the database has them: read from the very documents that their devices read."""

import zlib

from neologue.errors import StorageError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.documents import known_digest, read_known, read_layer
from neologue.protocol.layer import Layer
from neologue.service.campaigns import campaign_store, layer_store
from neologue.service.storage.database import Database


class StoredLayers:
    """Reads layers of a database; the known words of the last one are kept, as the next one mostly has the same."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, Vocabulary] = {}

    def read(self, digest: bytes) -> Layer | ClosedLayer:
        """The layer with this digest."""
        document, digest_of_words, words = self._fetch(digest)
        if words is not None:
            self._known = {digest_of_words: read_known(words)}
        return read_layer(document, self._known[digest_of_words])

    def _fetch(self, digest: bytes) -> tuple[bytes, str, bytes | None]:
        """The document of a layer, the digest of its known words, and these words unless they are at hand."""
        with self._database.reading() as db:
            document = _unpack(layer_store.document_of(db, digest), "a layer", digest)
            known = known_digest(document)
            if known in self._known:
                return document, known, None
            packed = campaign_store.known_of(db, bytes.fromhex(known))
        return document, known, _unpack(packed, "a list of known words", bytes.fromhex(known))


def documents_of(database: Database, campaign: bytes) -> list[bytes]:
    """The documents of all layers of a campaign, in order."""
    with database.reading() as db:
        digests = [layer.digest for layer in layer_store.layers_of(db, campaign)]
        return [_unpack(layer_store.document_of(db, digest), "a layer", digest) for digest in digests]


def _unpack(packed: bytes | None, what: str, digest: bytes) -> bytes:
    if packed is None:
        raise StorageError(f"the database lacks {what} with the digest {digest.hex()}: restore it from a copy")
    return zlib.decompress(packed)
