"""A service with three witnesses over HTTP, one of which is down and one of which was lied to."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest
import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette

from neologue.device import Client, Policy
from neologue.fleet.fleet import simulated_policy
from neologue.service.log.log_files import file_paths, read_file
from neologue.service.ops.service_keys import load_keys
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.transparency.add_checkpoint import AddCheckpoint
from neologue.transparency.checkpoint import log_verifier, open_checkpoint, operator_origin
from neologue.transparency.log_source import open_log
from neologue.transparency.trust import Server, Trust
from neologue.witness.following import look
from neologue.witness.witness import Witness
from neologue.witness.witness_app import witness_app
from neologue.witness.witness_file import Fork, WitnessFile
from sending import AT_ONCE
from service.campaigns import definition
from service.serving import free_port, served, wait_until
from witness.test_witness import note_of, request


@dataclass
class Running:
    """A witness that is served."""

    file: WitnessFile
    core: Witness
    address: str
    forks: list[Fork]

    @property
    def line(self) -> str:
        """The line of a policy file."""
        return f"witness {self.file.name} {self.file.key} {self.address}\n"


@contextmanager
def serving(app: Starlette) -> Iterator[str]:
    """An application on loopback, at its address."""
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_config=None))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        wait_until(lambda: server.started or not thread.is_alive())
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def running(folder: Path, name: str, log_key: bytes) -> Iterator[Running]:
    """A witness of a log."""
    file, forks = WitnessFile(folder / f"{name}.db", name), list[Fork]()
    core = Witness(file, [log_verifier(log_key)], time.time, forks.append)
    with serving(witness_app(core, file, [Server(log_verifier(log_key))], 60.0)) as address:
        yield Running(file, core, address, forks)


@pytest.fixture
def private(url: str) -> Ed25519PrivateKey:
    """The key of the log of a service, before it serves."""
    database = open_database(url)
    migrate(database)
    keys = load_keys(database, "none")
    database.close()
    return keys.log


@pytest.fixture
def key(private: Ed25519PrivateKey) -> bytes:
    return private.public_key().public_bytes_raw()


def policy_file(folder: Path, lines: str, names: list[str]) -> str:
    file = folder / "witnesses"
    file.write_text(f"{lines}group them 2 {' '.join(names)}\nquorum them\n")
    return str(file)


def test_devices_are_asked_with_one_of_three_witnesses_down(url: str, key: bytes, tmp_path: Path) -> None:
    with ExitStack() as stack:
        first, second = (stack.enter_context(running(tmp_path, f"w{n}.example", key)) for n in (1, 2))
        down = WitnessFile(tmp_path / "w3.db", "w3.example")
        lines = f"{first.line}{second.line}witness w3.example {down.key} http://127.0.0.1:{free_port()}\n"
        file = policy_file(tmp_path, lines, ["w1.example", "w2.example", "w3.example"])
        evidence = tmp_path / "evidence"
        evidence.write_text('{"kind": "sev-snp"}')
        service = stack.enter_context(served(url, wrapping_key="none", witnesses=file, evidence=str(evidence)))
        body = msgspec.to_builtins(definition(rehearsal=True, devices=3000))
        assert service.ask("POST", "/v1/campaigns", body).status == 201
        assert service.ask("POST", "/v1/campaigns/small/start").status == 200
        operator = bytes.fromhex(service.ask("GET", "/v1/key").json["operator"])
        base = simulated_policy(operator)
        limits = {name: getattr(base, name) for name in ("largest_closed_vote_ratio", "largest_silence_ratio")}
        policy = Policy(
            **limits,
            operators=base.operators,
            fewest_noise_votes=0.0,
            smallest_layer_size=1,
            logs=frozenset({key}),
            witnesses=frozenset(each.key.public for each in (first.file, second.file, down)),
            quorum=2,
        )
        credentials = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 40}).body.decode().split()
        devices = []
        for number, credential in enumerate(credentials):
            made = Client(tmp_path / str(number), service.address, policy, sending_time=AT_ONCE)
            devices.append(stack.enter_context(made))
            made.join(credential)
        # Until the layer is open and two have co-signed it, all are told to wait.
        wait_until(lambda: any(device.tick().state in ("received", "final") for device in devices))
        assert any((tmp_path / str(number) / "checkpoints.db").exists() for number in range(len(devices)))
        log = open_log(f"{service.address}/log")
        _, note = open_checkpoint(log("checkpoint"), operator_origin(key), key)
        assert Trust.parse(Path(file).read_text()).cosigners(note) == ["w1.example", "w2.example"]
        for witness in (first, second):
            assert look(witness.core, operator_origin(key), log)
            assert not witness.forks
        reply = service.ask("GET", "/log/tile/entries/000.p/1")
        assert "immutable" in reply.headers["cache-control"]
        assert reply.headers["access-control-allow-origin"] == "*"
        assert service.ask("GET", "/log/checkpoint").headers["cache-control"] == "public, max-age=2"
        assert service.ask("GET", "/log/tile/0/9").status == 404
        shown = service.ask("GET", "/log/evidence")
        assert (shown.body, shown.headers["cache-control"]) == (evidence.read_bytes(), "public, max-age=2")


def test_nobody_is_asked_when_one_witness_is_down_and_one_was_lied_to(
    url: str, key: bytes, private: Ed25519PrivateKey, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        honest, lied_to = (stack.enter_context(running(tmp_path, f"w{n}.example", key)) for n in (1, 2))
        # Somebody with the log's key has shown one of them another log.
        lie = [b"another", b"log"]
        shown = AddCheckpoint.parse(request(lie, 0, operator_origin(key)))
        forged = AddCheckpoint(0, shown.path, bytes(note_of(lie, operator_origin(key), private)))
        assert lied_to.core.add_checkpoint(bytes(forged)).status == 200
        down = WitnessFile(tmp_path / "w3.db", "w3.example")
        lines = f"{honest.line}{lied_to.line}witness w3.example {down.key} http://127.0.0.1:{free_port()}\n"
        file = policy_file(tmp_path, lines, ["w1.example", "w2.example", "w3.example"])
        service = stack.enter_context(served(url, wrapping_key="none", witnesses=file))
        assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(definition(rehearsal=True))).status == 201
        assert service.ask("POST", "/v1/campaigns/small/start").status == 200
        credential = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 1}).body.decode().strip()
        origin = operator_origin(key)

        def cosigned(witness: Running) -> int:
            with witness.file.transaction() as rows:
                newest = rows.newest(origin)
            return newest[0].size if newest else 0

        # The honest one goes on until it has the entries of a campaign whose first layer is open.
        wait_until(lambda: cosigned(honest) >= 5)
        assert service.ask("POST", "/v1/check-in", {"credential": credential}).json["state"] == "wait"
        assert cosigned(lied_to) == 2
        assert service.ask("GET", "/log/checkpoint").status == 404, "nothing has a quorum"
        # What the log shows everybody contradicts what it was shown: it says so, for ever.
        with closing(open_database(url)) as database, database.reading() as db:
            exported = {path: read_file(db, path) or b"" for path in file_paths(db)}
        assert not look(lied_to.core, origin, exported.__getitem__)
        assert len(lied_to.forks) == 1
        assert "was forked" in lied_to.core.add_checkpoint(bytes(forged)).body
        assert look(honest.core, origin, exported.__getitem__)
