"""A driver: what opens a device for the kit, lets it take steps, and says what its owner says.

A device in another language has a program that does so, one JSON object a line (docs/conformance.md).
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final, Protocol

from neologue.errors import ConformanceError

WINDOW: Final = (0.0, 0.01)
"""The seconds in which a device draws the moment of sending, so that nobody waits for the usual window."""


class UnsupportedError(Exception):
    """The device leaves out what the protocol leaves to it."""


@dataclass(frozen=True)
class Step:
    """What a device says after a step."""

    state: str
    again: float | None
    """Seconds until the next step; None if there is none."""


@dataclass(frozen=True)
class WitnessPolicy:
    """What the policy of a device demands of witnesses; keys in hexadecimal."""

    logs: tuple[str, ...]
    witnesses: tuple[str, ...]
    quorum: int


@dataclass(frozen=True)
class DeviceSetup:
    """What a device is opened with."""

    folder: str
    server: str
    operator: str
    """The public key of the operator whom its owner trusts, in hexadecimal."""
    credential: str
    words: Mapping[str, int]
    trust: WitnessPolicy | None = None
    patience: float | None = None
    """The seconds that a whole answer may take; the usual ones if it is None."""
    window: tuple[float, float] = WINDOW

    def told(self) -> dict[str, object]:
        """As a driver is told."""
        return {name: value for name, value in asdict(self).items() if value is not None}


class Driver(Protocol):
    """One device at a time, in a folder that outlives it."""

    def open(self, setup: DeviceSetup) -> None:
        """Open the device of a folder; its owner has agreed, it joins the campaign, and words are typed.

        An UnsupportedError if the device has no such policy.
        """

    def tick(self) -> Step:
        """Take one step."""

    def owner(self, says: str) -> None:
        """Its owner says "opt out", "opt in", "forget me" or "leave"."""

    def close(self) -> None:
        """Close the device, as an app does that ends."""

    def crash(self) -> bool:
        """Let the device die as it is; whether that can be done."""


class CommandDriver:
    """A device behind a program."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = [*command]
        self._process: subprocess.Popen[str] | None = None

    def open(self, setup: DeviceSetup) -> None:
        """Open the device of a folder."""
        self._ask("open", **setup.told())

    def tick(self) -> Step:
        """Take one step."""
        told = self._ask("tick")
        try:
            return Step(str(told["state"]), None if told["again"] is None else float(told["again"]))
        except (TypeError, KeyError, ValueError):
            raise ConformanceError(f"the driver answers a tick with {told!r}, not with a state and again") from None

    def owner(self, says: str) -> None:
        """Its owner says something."""
        self._ask("owner", says=says)

    def close(self) -> None:
        """Close the device."""
        self._ask("close")

    def crash(self) -> bool:
        """Kill the program."""
        if self._process is not None:
            self._process.kill()
            self._end()
        return True

    def end(self) -> None:
        """Let the program end."""
        if self._process is not None and self._process.stdin:
            with suppress(OSError):
                self._process.stdin.close()
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.wait()
            for stream in (process.stdin, process.stdout):
                # What a program that has ended did not read is nobody's concern.
                with suppress(OSError):
                    if stream:
                        stream.close()

    def _ask(self, do: str, **given: object) -> Any:  # noqa: ANN401 - whatever the driver says
        if self._process is None:
            try:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
                )
            except OSError as error:
                raise ConformanceError(f"can't start {self._command[0]}: {error.strerror}") from error
        assert self._process.stdin
        assert self._process.stdout
        try:
            print(json.dumps({"do": do, **given}), file=self._process.stdin, flush=True)
            told = json.loads(self._process.stdout.readline())
        except (OSError, ValueError) as error:
            raise ConformanceError(f"the driver gave no answer in JSON to {do!r} ({type(error).__name__})") from None
        if do == "open" and isinstance(told, dict) and "unsupported" in told:
            raise UnsupportedError(str(told["unsupported"]))
        if not isinstance(told, dict) or "result" not in told:
            raise ConformanceError(f"the driver failed at {do!r}: {told}")
        return told["result"]
