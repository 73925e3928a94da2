"""The commands of docs/service.md work as they stand, from an empty folder to certified words."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from .serving import free_port

pytestmark = [pytest.mark.service, pytest.mark.slow]

PAGE = (Path(__file__).parents[2] / "docs" / "service.md").read_text("utf-8")
RUN_IT = PAGE.partition("## Run it\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"^```sh\n(.*?)^```$", RUN_IT, re.MULTILINE | re.DOTALL)
PORT = "8080"
SECONDS = 600


def first_token(log: Path, service: "subprocess.Popen[bytes]") -> str:
    """What the service prints, once it listens."""
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline and service.poll() is None:
        text = log.read_text()
        if "running on" in text:
            return text.partition("operator token, shown this once: ")[2].split()[0]
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def test_from_zero_to_words(tmp_path: Path) -> None:
    port = str(free_port())
    serve = f"exec {BLOCKS[0].strip()} --port {port}"
    script = "set -e\n" + "".join(BLOCKS[1:]).replace(f":{PORT}", f":{port}")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NEOLOGUE_")}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    log = tmp_path / "log"
    with log.open("wb") as written:
        service = subprocess.Popen(["bash", "-c", serve], cwd=tmp_path, env=environment, stderr=written)
    try:
        script = script.replace("NEOLOGUE_TOKEN=…", f"NEOLOGUE_TOKEN={first_token(log, service)}")
        assert "…" not in script
        done = subprocess.run(
            ["bash", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        service.terminate()
        service.wait()
    assert "Certified: all" in done.stdout
    assert "spring: running, 180,000 users of 200,000 devices" in done.stdout
    assert "the ledger keeps count of 2 populations" in done.stdout
    assert len((tmp_path / "credentials.txt").read_text().split()) == 2000
    assert (tmp_path / "found" / "words.csv").read_text().count("\n") > 5
