"""A check: one thing that a device does, or must not do, by rules of docs/protocol.md."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from neologue.conformance.scene import Scene

HOUR: Final = 3600.0
DAY: Final = 86_400.0
CHECK_IN: Final = "/v1/check-in"
REPORTS: Final = "/v1/reports"


@dataclass(frozen=True)
class Check:
    """One thing that a device does, or must not do."""

    rules: tuple[str, ...]
    sentence: str
    run: Callable[[Scene], None]


CHECKS: Final[list[Check]] = []
"""All checks, in the order in which they are made."""


def check(*rules: str) -> Callable[[Callable[[Scene], None]], Callable[[Scene], None]]:
    """Enter a check; its sentence is that of the function."""

    def enter(run: Callable[[Scene], None]) -> Callable[[Scene], None]:
        CHECKS.append(Check(rules, (run.__doc__ or "").partition("\n")[0].removesuffix("."), run))
        return run

    return enter
