"""All keys rotate in the middle of a campaign, over HTTP, with real devices that pinned the first ones."""

import json
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.cli import main
from neologue.device.client import Client
from neologue.device.policy import Policy
from neologue.fleet.fleet import simulated_policy
from neologue.protocol.succession import recovery_digest
from neologue.release.signature import write_public_key
from sending import AT_ONCE
from service.campaigns import definition
from service.serving import Process, Served, free_port, served, wait_until
from service.test_fleet import SECONDS, WORDS, typed

__all__ = ["typed"]

DEVICES = 520
"""Enough for four layers of 104, so that keys can be replaced in the second."""
WEATHER = ("--lost", "0.02", "--restarts", "0.3")


def neologue(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "neologue", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)


def test_all_keys_rotate_in_the_middle_of_a_campaign(typed: tuple[str, ...], url: str, tmp_path: Path) -> None:
    """Devices follow two rotations of the operator's key; what they send, and what they were given, holds."""
    out, workers = tmp_path / "out", "2" if url.startswith("postgresql") else "1"
    process = Process(url, tmp_path, free_port(), "--workers", workers, "--requests-per-second", "1000000")
    with ExitStack() as stack:
        process.start()
        stack.callback(process.kill)
        service = Served(process.address, process.token)
        first = service.ask("GET", "/v1/key").json["operator"]
        drawn = definition(devices=DEVICES, batch=8, reserve=0.2, rehearsal=True)
        assert service.ask("POST", "/v1/campaigns", msgspec.to_builtins(drawn)).status == 201
        there = ("--server", service.address, "--token", service.token, "--campaign", "small")
        arguments = ["fleet", *typed, "--devices", str(DEVICES), *there, *WEATHER, "--out", str(out)]
        running = subprocess.Popen([sys.executable, "-m", "neologue", *arguments], stderr=subprocess.PIPE, text=True)
        stack.callback(running.kill)

        def reports(layer: int) -> int:
            layers = service.ask("GET", "/v1/campaigns/small/layers").json
            return int(layers[layer]["reports"]) if len(layers) > layer else 0

        for layer, purposes in enumerate((("operator", "ticket", "issuer"), ("operator",))):
            wait_until(lambda layer=layer: reports(layer) > 0 or running.poll() is not None)
            for purpose in purposes:
                assert service.ask("POST", f"/v1/keys/{purpose}/rotate").status == 200
        before = len(service.ask("GET", "/v1/campaigns/small/layers").json)
        _, told = running.communicate(timeout=SECONDS)
        assert running.returncode == 0, told
        layers = service.ask("GET", "/v1/campaigns/small/layers").json
        assert before < len(layers), "rotated too late to be in the middle"
        public = service.ask("GET", "/v1/key").json
        assert neologue("key", *there[:4], "show", "--out", str(tmp_path / "k")).returncode == 0
        lines = [entry["action"] for entry in service.ask("GET", "/v1/audit").json]
        assert [line for line in lines if "key" in line] == [
            "rotate operator key",
            "rotate issuer key",
            "rotate ticket key",
            "rotate operator key",
        ]
    release = json.loads((out / "release.json").read_text())
    assert {word["word"] for word in release["words"]} <= set(WORDS)
    assert release["signature"]["key"] == public["operator"] != first
    write_public_key(bytes.fromhex(first), tmp_path / "first.pub")
    certify = ("certify", str(out / "release.json"), "--verify", str(tmp_path / "first.pub"))
    done = neologue(*certify, "--succession", str(tmp_path / "k"))
    assert (done.returncode, "signature verified" in done.stdout) == (0, True), done.stdout
    assert neologue(*certify).returncode == 1, "the first key alone has not signed it"


# Over HTTP, by the command line, with a recovery key


@pytest.fixture
def pinned(url: str, tmp_path: Path) -> tuple[str, Path]:
    return url, tmp_path / "recovery.key"


def test_a_stolen_key_is_revoked_and_devices_go_on_with_its_successor(pinned: tuple[str, Path], tmp_path: Path) -> None:
    url, recovery = pinned
    with served(url, wrapping_key="none" if url.startswith("postgresql") else None) as service:

        def key(*arguments: str) -> str:
            given = ["key", "--server", service.address, "--token", service.token, *arguments]
            done = CliRunner().invoke(main, given, catch_exceptions=False)
            assert done.exit_code == 0, done.output
            return done.stdout.strip()

        made = CliRunner().invoke(main, ["keygen", "--recovery", str(recovery)])
        digest = made.stdout.strip()
        key("recovery", f"{recovery}.pub")
        told = service.ask("GET", "/v1/key").json
        assert told["recovery"] == digest
        stolen = bytes.fromhex(told["operator"])
        body = msgspec.to_builtins(definition(rehearsal=True))
        assert service.ask("POST", "/v1/campaigns", body).status == 201
        credential = service.ask("POST", "/v1/campaigns/small/credentials", {"count": 1}).body.decode().strip()
        base = simulated_policy(stolen)
        policy = Policy(
            **{name: getattr(base, name) for name in ("largest_closed_vote_ratio", "largest_silence_ratio")},
            fewest_noise_votes=0.0,
            smallest_layer_size=1,
            operators=base.operators,
            recovery={stolen: bytes.fromhex(digest)},
        )
        with Client(tmp_path / "device", service.address, policy, sending_time=AT_ONCE) as client:
            client.join(credential)
            assert client.tick().state == "wait", "the campaign is a draft"
            # Signed on a machine without a network, and carried over.
            successor = key("prepare")
            statement = tmp_path / "statement"
            statement.write_text(
                key("sign-revocation", "--recovery", str(recovery), "--key", stolen.hex(), "--successor", successor)
            )
            key("revoke", "--statement", str(statement))
            assert service.ask("GET", "/v1/key").json["operator"] == successor
            assert client.tick().state == "wait", "it meets the revocation while it waits"
            assert client._operator_keys.apply(policy).operators == {bytes.fromhex(successor)}
        key("rotate", "operator")
        key("revoke", "--recovery", str(recovery))
        assert service.ask("GET", "/v1/key").json["operator"] not in (stolen.hex(), successor)
        assert "recovery key: " + digest in key("show")
        states = [each["state"] for each in json.loads(key("show", "--json"))["keys"] if each["purpose"] == "operator"]
        assert sorted(states) == ["in force", "replaced", "replaced", "replaced"]
        assert states[-1] == "in force"


def test_what_is_wrong_is_said_with_exit_code_2(url: str, tmp_path: Path) -> None:
    other = Ed25519PrivateKey.generate()
    CliRunner().invoke(main, ["keygen", str(tmp_path / "other.key")])
    with served(url) as service:
        there = ["key", "--server", service.address, "--token", service.token]
        digest = recovery_digest(other.public_key().public_bytes_raw()).hex()
        assert service.ask("POST", "/v1/keys/recovery", {"digest": digest}).status == 200
        (tmp_path / "statement").write_text("not hexadecimal")
        for arguments, why in (
            (["revoke"], "give --recovery to sign a revocation here, or --statement"),
            (
                ["revoke", "--recovery", str(tmp_path / "other.key")],
                "not signed by the recovery key that is",
            ),
            (["revoke", "--recovery", str(tmp_path / "other.key"), "--key", "zz"], "64 hexadecimal digits, not 'zz'"),
            (["revoke", "--recovery", str(tmp_path / "other.key.pub")], "is not a private key that can be used"),
            (["revoke", "--statement", str(tmp_path / "statement")], "the request can't be used"),
            (["recovery", str(tmp_path / "other.key.pub")], "is registered, and devices that pin it"),
            (["show", "--out", str(tmp_path / "other.key")], "is never overwritten"),
        ):
            done = CliRunner().invoke(main, [*there, *arguments])
            assert (done.exit_code, why in done.stderr) == (2, True), done.stderr
        assert service.ask("GET", "/v1/key").json["succession"] == ""
        token = service.ask("POST", "/v1/tokens", {"name": "ann", "role": "analyst"}).json["token"]
        for method, path in (("GET", "keys"), ("POST", "keys/operator/rotate"), ("POST", "keys/successor")):
            assert service.ask(method, f"/v1/{path}", token=token).status == 403
            assert service.ask(method, f"/v1/{path}", token="nobody").status == 401
        assert service.ask("POST", "/v1/keys/moon/rotate").status == 400
