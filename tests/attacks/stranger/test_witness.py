"""Strangers who ask a witness, without which devices answer nothing: bounded as a service is, and never silent."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from click.testing import CliRunner

from neologue.cli.main import main
from neologue.transparency.checkpoint import log_verifier
from neologue.witness.witness_file import WitnessFile
from service.serving import Served, wait_until
from witness.test_witness import HONEST, KEY, request

from .wire import answer, connect, head, is_closed, send

SILENT = 150
"""More connections than a witness had room for once."""


@pytest.fixture
def witness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """A witness as `neologue witness run` starts it, in a thread of this process."""
    started: list[uvicorn.Server] = []

    def run(app: Any, **options: Any) -> None:  # noqa: ANN401 - whatever the command gives
        started.append(uvicorn.Server(uvicorn.Config(app, **{**options, "port": 0})))

    monkeypatch.setattr("uvicorn.run", run)
    monkeypatch.setattr("neologue.service.ops.logs.configure", lambda: None)
    arguments = [str(tmp_path / "w.db"), "--name", "witness.example/w1", "--log", str(log_verifier(KEY)), "--port", "0"]
    done = CliRunner().invoke(main, ["witness", "run", *arguments])
    assert done.exit_code == 0, done.output
    thread = threading.Thread(target=started[0].run)
    thread.start()
    try:
        wait_until(lambda: started[0].started or not thread.is_alive())
        yield Served(f"http://127.0.0.1:{started[0].servers[0].sockets[0].getsockname()[1]}", "")
    finally:
        started[0].should_exit = True
        thread.join()


def test_no_stranger_silences_a_witness(witness: Served) -> None:
    with ExitStack() as lines:
        for _ in range(SILENT):
            send(lines.enter_context(connect(witness)), b"POST /add-checkpoint HTTP/1.1\r\nHost:")
        reply = witness.ask("POST", "/add-checkpoint", request(HONEST[:3], 0))
        assert reply.status == 200, "it co-signs, whoever keeps it waiting"


def test_an_endless_header_to_a_witness_is_cut(witness: Served) -> None:
    with connect(witness) as line:
        send(line, b"GET / HTTP/1.1\r\nA: ")
        assert not all(send(line, 65_536 * b"a") for _ in range(200))
        assert is_closed(line)
    assert witness.ask("GET", "/").status == 200


def test_who_asks_what_a_witness_has_cosigned_waits_for_nobody_who_writes(witness: Served, tmp_path: Path) -> None:
    """Nor does whoever writes wait for them: they take no lock."""
    with WitnessFile(tmp_path / "w.db").transaction(), connect(witness) as line:
        send(line, head("GET", "/"))
        status, heard = answer(line)
        assert (status, b"witness.example/w1" in heard) == (200, True)
