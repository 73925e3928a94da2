"""The device for Java in a running Java machine; and what is to be done where there is none."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from numpy.typing import NDArray

from neologue.entropy import Entropy

ROOT: Final = Path(__file__).parents[2]
REMEDY: Final = "apt-get install openjdk-17-jdk-headless"


class JavaError(Exception):
    """What a test asked for failed in Java."""


class DictatedWords(Entropy):
    """Gives out bytes that are known before, in Python and in Java."""

    def __init__(self, content: bytes) -> None:
        self._words = iter(np.frombuffer(content, "<u8"))

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.array([next(self._words) for _ in range(count)], np.uint64)


class JavaMachine:
    """One Java machine, which does what tests ask for (devices/java/test/neologue/harness)."""

    def __init__(self, process: "subprocess.Popen[str]", jar: Path) -> None:
        self._process = process
        self.jar = jar

    def ask(self, do: str, **given: object) -> Any:  # noqa: ANN401 - whatever Java says
        """What a command of the harness comes to."""
        assert self._process.stdin
        assert self._process.stdout
        print(json.dumps({"do": do, **given}), file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline())
        if "error" in told:
            raise JavaError(told["error"])
        return told["result"]


def require_java() -> None:
    """Skip, or fail with CI=true, where there is no compiler for Java."""
    if shutil.which("javac") and shutil.which("java"):
        return
    message = f"THE TESTS OF THE DEVICE FOR JAVA DID NOT RUN: no javac is here; get it by `{REMEDY}`"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def java_command(folder: Path) -> list[str]:
    """What runs the harness of a folder; it is a driver of the conformance kit, too."""
    classes = os.pathsep.join(str(folder / part) for part in ("device", "test"))
    return ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp", classes, "neologue.harness.Harness"]


@contextmanager
def running_java(folder: Path) -> Iterator[JavaMachine]:
    """The device, built in a folder, and a machine that runs it."""
    require_java()
    subprocess.run([ROOT / "devices" / "java" / "build", folder], check=True)
    with subprocess.Popen(
        java_command(folder), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
    ) as process:
        yield JavaMachine(process, folder / "neologue-device.jar")
        assert process.stdin
        process.stdin.close()
