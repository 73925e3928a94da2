"""The device for Java is judged by the conformance kit, as any other."""

from pathlib import Path

from neologue.conformance.driver import CommandDriver
from neologue.conformance.kit import judge

from .machine import JavaMachine, java_command


def test_it_keeps_to_every_rule(java: JavaMachine, tmp_path: Path) -> None:
    driver = CommandDriver(java_command(java.jar.parent))
    verdicts = list(judge(lambda: driver, tmp_path))
    driver.end()
    assert [str(verdict) for verdict in verdicts if verdict.complaint] == []
