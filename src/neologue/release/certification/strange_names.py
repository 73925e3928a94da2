"""What a release says under names that no release has: no claim of its statement covers that."""

from collections.abc import Iterator, Mapping

from neologue.protocol.signed_document import signature_said
from neologue.release.codec import ReleaseDocument, written_again
from neologue.release.older_formats import FORMAT_WITH_SCORE

LONGEST_NAME = 40
"""A stranger's names are shown no longer."""


def strange_names(
    document: ReleaseDocument, privacy: Mapping[str, object], planting: Mapping[str, object]
) -> Iterator[str]:
    """Objections to every name, at any level, that a release of its format with these claims does not have."""
    signature = document.whole.get("signature")
    written = written_again(document, privacy, planting) | {
        "digest": document.digest,
        "signature": None if signature is None else signature_said("", ""),
    }
    said = dict(document.whole)
    if document.format == FORMAT_WITH_SCORE:
        said.pop("score", None)  # `wrong_circumstances` judges it
    for place in dict.fromkeys(_unwritten(said, written, "")):
        yield f"it has {place}, which no release of format {document.format} has and no privacy statement covers"


def _unwritten(stated: object, written: object, place: str) -> Iterator[str]:
    """The places of what is stated and would not be written; all rows of a list are one place."""
    if isinstance(stated, Mapping) and isinstance(written, Mapping):
        for name, inner in stated.items():
            here = f"{place}.{_shown(name)}" if place else _shown(name)
            if name in written:
                yield from _unwritten(inner, written[name], here)
            else:
                yield here
    elif isinstance(stated, list) and isinstance(written, list | tuple):
        for one, other in zip(stated, written, strict=False):
            yield from _unwritten(one, other, f"{place}[]")
    elif isinstance(stated, Mapping | list) or (isinstance(written, Mapping | list | tuple) and stated is not None):
        yield f"something else in the place of {place}"


def _shown(name: str) -> str:
    shown = name if name.isidentifier() else repr(name)
    return shown if len(shown) <= LONGEST_NAME else shown[:LONGEST_NAME] + "…"
