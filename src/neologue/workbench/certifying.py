"""`certify` for people: check a release in one call."""

from pathlib import Path

from neologue.release.certification.certificate import Certification
from neologue.release.certification.certificate import certify as certify_document
from neologue.release.certification.layer_chain import document_digests
from neologue.release.codec import read_release_file
from neologue.release.layer_archive import NAME, read_documents
from neologue.release.signature import public_key


def certify(
    release: Path | str, *, layers: Path | str | None = None, verify: Path | str | None = None
) -> Certification:
    """Compute every claim of a `release.json` again, from its facts and the documents of its layers.

    `layers` is the archive of these documents, by default `layers.zip` beside the release; `verify` is the public key
    with which it must be signed.

    >>> from tempfile import mkdtemp
    >>> from neologue import Population, certify, discover
    >>> people = Population.from_words({f"user {n}": {"yeet": 3, "the": 9} for n in range(2000)})
    >>> folder = mkdtemp()
    >>> files = discover(people).save(folder)
    >>> certify(f"{folder}/release.json")
    <Certification: passed, ... claims, 0 objections>
    """
    path = Path(release)
    key = None if verify is None else public_key(Path(verify))
    document = read_release_file(path)
    archive = path.parent / NAME if layers is None else Path(layers)
    digests = [digest for digest in document_digests(document).values() if digest is not None]
    return certify_document(document, read_documents(archive, digests), key)
