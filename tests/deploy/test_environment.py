"""A service in the environment that requirements/serve.lock makes: it has all that it needs, and loads nothing else."""

import json
import os
import signal
import subprocess
import tomllib
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

from service.campaigns import definition
from service.serving import PATIENCE, Served, free_port, wait_until
from service.test_operations import SMALL, Devices
from wheels import ROOT, run

from .conftest import locked

ABSENT = {"duckdb", "matplotlib", "pandas", "pyarrow", "ray", "pytest", "pillow", "contourpy"}
"""What no service brings: readers of files, plots, clusters, tests."""
COMMANDS_ALONE = {"rich", "markdown-it-py", "mdurl", "pygments", "psutil"}
"""What commands beside the service need: tables on a terminal, and how much memory a simulation may take."""

# What a whole service does, and then the modules it has loaded.
SERVE = dedent(
    """
    import atexit, json, sys

    def tell():
        with open(sys.argv[1], "w") as file:
            json.dump(sorted(sys.modules), file)

    atexit.register(tell)
    from neologue.cli import main

    main(["serve", "--database", sys.argv[2], "--port", sys.argv[3], "--patience", "0.3"])
    """
)


@pytest.fixture(scope="module")
def loaded(service_python: Path, tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The modules of a service that has run a campaign to its release and shown its pages."""
    folder, port = tmp_path_factory.mktemp("serving"), free_port()
    modules, log = folder / "modules.json", folder / "log"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with log.open("wb") as written:
        command = [str(part) for part in (service_python, "-c", SERVE, modules, folder / "service.db", port)]
        process = subprocess.Popen(command, stdout=written, stderr=written, cwd=folder, env=environment)
    try:
        address = f"http://127.0.0.1:{port}"

        def is_ready() -> bool:
            assert process.poll() is None, log.read_text()
            try:
                return Served(address, "").ask("GET", "/readyz").status == 200
            except OSError:
                return False

        wait_until(is_ready)
        token = next(line for line in log.read_text().splitlines() if line.startswith("operator token")).split()[-1]
        service = Served(address, token)
        body = msgspec.to_builtins(definition(rehearsal=True, name="spring", **SMALL))
        assert service.ask("POST", "/v1/campaigns", body).status == 201
        english = {"name": "english", "devices": 20_000, "language": "en", "accept_weak_privacy": True}
        assert service.ask("POST", "/v1/campaigns", english).status == 201, "built-in words are there"
        assert service.ask("POST", "/v1/campaigns/spring/start").status == 200
        devices = Devices(service, "spring")
        devices.issue(SMALL["devices"])
        devices.run()
        for path in ("words", "release", "review", "influence/3"):
            assert service.ask("GET", f"/v1/campaigns/spring/{path}").status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0, log.read_text()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
    return set(json.loads(modules.read_text()))


def test_a_service_loads_no_plots_no_duckdb_and_nothing_of_simulations(loaded: set[str]) -> None:
    assert {"neologue.service.worker", "starlette", "numba", "dp_accounting"} <= loaded
    assert not {name.partition(".")[0] for name in loaded} & (ABSENT | {"PIL", "selenium"})
    rooms = {name.split(".")[1] for name in loaded if name.startswith("neologue.")}
    assert not rooms & {"simulation", "fleet", "studies", "audit", "populations", "device"}


def test_the_environment_of_a_service_has_no_plots_and_no_duckdb() -> None:
    assert not set(locked("serve.lock")) & ABSENT
    assert {"duckdb", "matplotlib"} <= set(locked("discover.lock"))


def test_what_a_service_installs_is_what_it_loads_or_what_commands_need(loaded: set[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    direct = [*project["dependencies"], *project["optional-dependencies"]["server"]]
    names = {name.split(">")[0].split("[")[0].replace("-", "_") for name in direct}
    unused = names - {name.partition(".")[0] for name in loaded}
    assert unused <= COMMANDS_ALONE


def test_reading_a_file_without_duckdb_names_the_extra(service_python: Path, tmp_path: Path) -> None:
    (tmp_path / "typed.csv").write_text("user,word\nanna,yeet\n")
    command = [str(service_python), "-m", "neologue", "discover", "typed.csv"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=PATIENCE)
    assert done.returncode == 2
    assert 'duckdb, which is not installed: get it with pip install "neologue[files]"' in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_every_command_shows_its_help_in_the_environment_of_a_service(service_python: Path, tmp_path: Path) -> None:
    for command in ("serve", "doctor", "backup", "token", "campaign", "ledger", "sandbox", "fleet"):
        assert "Usage" in run(service_python, "-m", "neologue", command, "--help", cwd=tmp_path).stdout
