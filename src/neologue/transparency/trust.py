"""Whom to trust: logs and witnesses by their keys, and how many witnesses must have co-signed (c2sp.org/tlog-policy).

    log VKEY [URL]
    witness NAME VKEY [URL]
    group NAME all|any|NUMBER NAME…
    quorum NAME|none

Of that format, groups of groups are not known here.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Self

from neologue.errors import LogError
from neologue.transparency.signed_note import COSIGNATURE, ED25519, Note, NoteKey

SCHEMES: Final = ("http://", "https://")
_NOBODY: Final = "none"


@dataclass(frozen=True)
class Server:
    """A log or a witness: its key and, if it is known, where it is."""

    key: NoteKey
    url: str | None = None

    def __post_init__(self) -> None:
        if self.url is not None and not self.url.startswith(SCHEMES):
            raise LogError(f"{self.key.name} must be at an http or https address, not {self.url[:200]!r}")


@dataclass(frozen=True)
class Trust:
    """The logs, the witnesses, and how many of these must have co-signed a checkpoint."""

    logs: tuple[Server, ...] = ()
    witnesses: tuple[Server, ...] = ()
    quorum: int = 0

    @classmethod
    def parse(cls, text: str) -> Self:
        """Whom a policy file trusts; a LogError that names the line that can't be used."""
        logs: list[Server] = []
        witnesses: dict[str, Server] = {}
        groups: dict[str, tuple[int, frozenset[str]]] = {_NOBODY: (0, frozenset())}
        chosen: tuple[int, frozenset[str]] | None = None
        for number, line in enumerate(text.splitlines(), 1):
            match line.split():
                case [] | [("#"), *_]:
                    pass
                case [first, *_] if first.startswith("#"):
                    pass
                case ["log", key, *url] if len(url) < 2:
                    logs.append(_server(key, url, ED25519))
                case ["witness", name, key, *url] if len(url) < 2 and name not in groups:
                    witnesses[name] = _server(key, url, COSIGNATURE)
                    groups[name] = (1, frozenset({name}))
                case ["group", name, wanted, *names] if name not in groups and names and set(names) <= set(witnesses):
                    groups[name] = (_threshold(wanted, len(set(names))), frozenset(names))
                case ["quorum", name] if chosen is None and name in groups:
                    chosen = groups[name]
                case _:
                    raise LogError(f"line {number} of the trust policy can't be used: {line.strip()[:200]!r}; mend it")
        keys = [server.key.public for server in (*logs, *witnesses.values())]
        if len(set(keys)) < len(keys):
            raise LogError("the trust policy names a key twice: each log and each witness has its own")
        if chosen is None:
            raise LogError("the trust policy has no quorum: add a line `quorum` with the name of a group, or none")
        quorum, members = chosen
        counted = tuple(server for name, server in witnesses.items() if name in members)
        return cls(tuple(logs), counted, quorum)

    def check(self, note: Note, now: float | None = None) -> None:
        """Raise a LogError unless enough of the witnesses have co-signed a note; with `now`, none in the future."""
        signed = self.cosigners(note, now)
        if len(signed) < self.quorum:
            names = ", ".join(signed) or "none"
            raise LogError(
                f"{self.quorum} of {len(self.witnesses)} witnesses must have co-signed the log, and of those known "
                f"here only these have: {names}; wait for others, and do not rely on it"
            )

    def cosigners(self, note: Note, now: float | None = None) -> list[str]:
        """The names of the witnesses that have co-signed a note."""
        found = ((server.key.name, note.cosignature_by(server.key)) for server in self.witnesses)
        return [name for name, cosignature in found if cosignature and is_past(cosignature.time, now)]


AHEAD: Final = 86_400
"""How many seconds the clock of a witness may be ahead of ours."""


def is_past(time: int, now: float | None) -> bool:
    """Whether a time is not in the future, by a clock that may be some hours off."""
    return now is None or time <= now + AHEAD


def _server(key: str, url: Iterable[str], kind: int) -> Server:
    parsed = NoteKey.parse(key)
    if parsed.type != kind:
        raise LogError(f"{parsed.name} has the key of another kind of server: logs have type 1, and witnesses type 4")
    return Server(parsed, next(iter(url), None))


def _threshold(wanted: str, members: int) -> int:
    named = {"any": 1, "all": members}
    number = named.get(wanted) or (int(wanted) if wanted.isascii() and wanted.isdigit() else 0)
    if not 1 <= number <= members:
        raise LogError(f"a group of {members} witnesses needs all, any or 1 to {members} of them, not {wanted[:50]!r}")
    return number
