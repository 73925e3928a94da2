"""The kit: runs every check on a device, each in a folder of its own, and says what came of them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from neologue.conformance.checks import CHECKS, Check
from neologue.conformance.driver import Driver, UnsupportedError
from neologue.conformance.scene import BrokenRuleError, set_scene
from neologue.errors import ConformanceError


@dataclass(frozen=True)
class Verdict:
    """What came of one check."""

    check: Check
    complaint: str | None = None
    """What is wrong; None if nothing is."""
    left_out: str | None = None
    """What the device does not do, so that it can't be judged by this; None if it was judged."""

    def __str__(self) -> str:
        mark = "FAIL" if self.complaint else "skip" if self.left_out else "ok  "
        told = f"{mark} {', '.join(self.check.rules):<24} {self.check.sentence}"
        reason = self.complaint or self.left_out
        return told if reason is None else f"{told}\n     {reason}"


def judge(make_driver: Callable[[], Driver], folder: Path, checks: Sequence[Check] = CHECKS) -> Iterator[Verdict]:
    """Judge the devices that a driver opens, one check after the other."""
    driver = make_driver()
    for number, each in enumerate(checks):
        complaint = left_out = None
        with set_scene(driver, folder / f"{number:02}") as scene:
            try:
                each.run(scene)
            except UnsupportedError as error:
                left_out = str(error)
            except (BrokenRuleError, ConformanceError) as error:
                complaint = str(error)
            try:
                driver.close()
            except ConformanceError:
                # A device that broke down leaves a driver that can't be used again.
                driver.crash()
        yield Verdict(each, complaint, left_out)
