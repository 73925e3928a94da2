"""`neologue witness` as a person runs it: a process on loopback, and what it shows afterwards."""

import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from neologue.cli.main import main
from neologue.transparency.checkpoint import log_verifier
from neologue.transparency.signed_note import NoteKey
from service.serving import free_port, wait_until
from witness.test_witness import FORKED, HONEST, KEY, ORIGIN, request

pytestmark = pytest.mark.service

LOG = str(log_verifier(KEY))
NAME = "witness.example/w1"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A witness in a process of its own."""
    port = free_port()
    arguments = ["witness", "run", str(tmp_path / "witness.db"), "--name", NAME, "--log", LOG, "--port", str(port)]
    with subprocess.Popen([sys.executable, "-m", "neologue", *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        line = process.stderr.readline()
        assert NoteKey.parse(line.rpartition(": ")[2]).name == NAME
        wait_until(lambda: process.poll() is not None or _status(f"http://127.0.0.1:{port}") == 200)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


def _status(address: str, body: bytes | None = None) -> int:
    try:
        with urllib.request.urlopen(address, body, timeout=30) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except OSError:
        return 0


def show(folder: Path) -> tuple[int, str]:
    done = CliRunner().invoke(main, ["witness", "show", str(folder / "witness.db")])
    return done.exit_code, done.output


def test_a_witness_cosigns_over_http_and_keeps_a_fork(address: str, tmp_path: Path) -> None:
    ask = f"{address}/add-checkpoint"
    assert _status(ask, request(HONEST[:3], 0)) == 200
    assert _status(f"{address}/checkpoints/{ORIGIN}") == 200
    assert _status(f"{address}/checkpoints/none") == 404
    assert _status(ask, b"x" * 100_000) == 413
    code, shown = show(tmp_path)
    assert (code, f"co-signed {ORIGIN} up to 3 entries" in shown) == (0, True)
    assert _status(ask, request(FORKED[:3], 3)) == 409
    code, shown = show(tmp_path)
    assert (code, f"FORKED {ORIGIN}" in shown) == (1, True)
    assert _status(ask, request(HONEST[:5], 3)) == 409, "for ever"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["run", "w.db", "--name", "a", "--log", "nonsense"], "not a verifier key"),
        (["run", "w.db", "--log", LOG], "give it a name"),
        (["run", "w.db", "--name", "two words", "--log", LOG], "neither spaces"),
        (["run", "w.db", "--name", "a", "--log", f"{LOG}@ftp://a"], "http"),
        (["show", "w.db"], "there is no witness"),
    ],
)
def test_a_mistake_is_one_sentence_and_leaves_nothing_behind(
    arguments: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["witness", *arguments])
    assert done.exit_code == 2
    assert complaint in done.output
    assert not list(tmp_path.iterdir())
