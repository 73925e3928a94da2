"""The peers of the comparison: each runs in a process of a separate environment, one round at a time."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.installation import REFUSED
from benchmarks.measure import Round

NAMES = ("multi-freq-ldpy", "pure-ldp", "flwr")
SCRIPT = Path(__file__).with_name("peer_rounds.py")


class PeerError(Exception):
    """A peer did not answer."""


@dataclass(frozen=True)
class Peer:
    """A running peer, or the reason why it does not run."""

    name: str
    version: str | None
    reason: str | None
    process: subprocess.Popen[str] | None

    @property
    def state(self) -> str:
        """What the report says about it."""
        return self.reason or f"measured, version {self.version}"

    def round(self, work: str, domain: int, epsilon: float, reports: int) -> Round:
        """A round of the peer, by its own CPU time; the meaning of the numbers depends on the work."""

        def ask() -> float:
            assert self.process is not None
            asked = {"work": work, "domain": domain, "epsilon": epsilon, "reports": reports}
            return float(str(_ask(self.process, json.dumps(asked))["cpu_seconds"]))

        return ask


@contextmanager
def peers(python: Path) -> Iterator[dict[str, Peer]]:
    """Start all peers, and end them afterwards."""
    found = {name: _start(name, python) for name in NAMES}
    try:
        yield found
    finally:
        for peer in found.values():
            if peer.process:
                _end(peer.process)


def _start(name: str, python: Path) -> Peer:
    refused = known_refusals(python)
    if name in refused:
        return Peer(name, None, f"not installed: {refused[name]}", None)
    if not python.exists():
        return Peer(name, None, "not installed: there is no environment of peers, which `make bench` makes", None)
    process = subprocess.Popen(
        [python, "-W", "ignore", SCRIPT, name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        first = _ask(process)
    except PeerError as error:
        first = {"reason": f"does not run: {error}"}
    if "version" in first:
        return Peer(name, str(first["version"]), None, process)
    _end(process)
    return Peer(name, None, str(first["reason"]), None)


def known_refusals(python: Path) -> Mapping[str, str]:
    """Which distributions could not be installed for this Python, and why."""
    written = python.parent.parent / REFUSED
    return dict(json.loads(written.read_text("utf-8"))) if written.exists() else {}


def _ask(process: subprocess.Popen[str], line: str | None = None) -> dict[str, object]:
    """Send a process a line, if one is given, and read the next line of its answer."""
    assert process.stdin is not None
    assert process.stdout is not None
    if line is not None:
        process.stdin.write(line + "\n")
        process.stdin.flush()
    answer = process.stdout.readline()
    if not answer:
        raise PeerError(f"it ended with code {process.wait()} and no answer")
    return dict(json.loads(answer))


def _end(process: subprocess.Popen[str]) -> None:
    """A process that is sent no more lines ends by itself."""
    process.communicate()
