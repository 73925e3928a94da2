"""The image and the compose file, by linters and schemas. No engine has built or run them here."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from neologue.service.http_server import RESERVED
from neologue.service.ops.settings import Settings
from wheels import ROOT

DEPLOY = ROOT / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]


def check(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name(program)), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def test_hadolint_finds_nothing_in_the_dockerfile(tmp_path: Path) -> None:
    done = check("hadolint", DEPLOY / "Dockerfile")
    assert (done.returncode, done.stdout) == (0, ""), done.stdout
    (tmp_path / "Dockerfile").write_text("FROM python:latest\nRUN cd /tmp && pip install x\n")
    assert check("hadolint", tmp_path / "Dockerfile").returncode == 1


def test_everything_that_the_dockerfile_copies_is_there() -> None:
    lines = (DEPLOY / "Dockerfile").read_text("utf-8").splitlines()
    copied = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert copied
    assert all((ROOT / path).exists() for paths in copied for path in paths)


def test_the_image_runs_as_nobody_who_could_do_harm() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    last = text.rpartition("\nFROM ")[2]
    assert "\nUSER 10001:10001\n" in last
    assert "\nHEALTHCHECK " in last
    assert "--require-hashes -r requirements/serve.lock" in text
    assert "curl" not in text


def test_the_compose_file_keeps_to_the_compose_specification(tmp_path: Path) -> None:
    done = check("check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    assert done.returncode == 0, done.stdout
    wrong = tmp_path / "compose.yaml"
    wrong.write_text((DEPLOY / "compose.yaml").read_text("utf-8").replace("read_only: true", "read_onely: true"))
    assert check("check-jsonschema", "--builtin-schema", "vendor.compose-spec", wrong).returncode == 1


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_confined_and_limited(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["ulimits"]["core"] == 0
    assert service["mem_limit"] == service["memswap_limit"], "no swap"
    assert {"cpus", "pids_limit", "restart"} <= service.keys()
    assert "healthcheck" in service or "build" in service, "the image has its own"
    assert "user" in service or "build" in service
    assert not service.get("privileged")


def test_the_proxy_alone_is_reached_from_outside() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["proxy"]
    inner = {name for name, network in COMPOSE["networks"].items() if network.get("internal")}
    assert all(set(service["networks"]) <= inner for name, service in SERVICES.items() if name != "proxy")
    assert "postgres" not in SERVICES["proxy"].get("depends_on", {})
    assert not set(SERVICES["proxy"]["networks"]) & set(SERVICES["postgres"]["networks"])


def test_secrets_are_files_and_in_no_environment() -> None:
    assert set(COMPOSE["secrets"]) == {"certificate", "private_key", "postgres_password", "database", "wrapping_key"}
    said = [str(value) for service in SERVICES.values() for value in service.get("environment", {}).values()]
    assert said
    assert not [value for value in said if "$" in value or "://" in value]
    assert SERVICES["neologue"]["environment"] == {
        "NEOLOGUE_DATABASE": "@/run/secrets/database",
        "NEOLOGUE_WRAPPING_KEY": "file:/run/secrets/wrapping_key",
    }
    assert {"database", "wrapping_key"} <= set(SERVICES["neologue"]["secrets"])


def test_a_worker_has_descriptors_for_all_its_connections() -> None:
    assert SERVICES["neologue"]["ulimits"]["nofile"] >= Settings.connections + RESERVED
