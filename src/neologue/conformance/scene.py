"""A scene of a check: a device, the service that it talks to, and what may be said of both."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.conformance.driver import DeviceSetup, Driver, Step, WitnessPolicy
from neologue.conformance.scripted_service import ScriptedService, running
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NEVER
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import ExtendingLayer, LikelyLayer
from neologue.protocol.submission import Submission

OPERATOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))
WORDS = {"abcab": 3, "caca": 1}


class BrokenRuleError(Exception):
    """The device does not do what a rule says."""


def extending_layer(**changes: Any) -> ExtendingLayer:  # noqa: ANN401 - checked by the layer
    """A layer that a device with the usual policy answers, with some of what it says changed."""
    told: dict[str, Any] = {
        "alphabet": Alphabet("abc"),
        "frontier": strings(["ab", "ca"]),
        "extension": 6,
        "depth": 8,
    }
    return ExtendingLayer(**_COMMON | told | changes)


def likely_layer() -> LikelyLayer:
    """A layer of likely strings that a device with the usual policy answers."""
    alphabet = Alphabet("abc")
    spelling = SpellingCosts(alphabet, ("", "\0"), np.array([0, 1]), ("\0abc", "ac"), np.array([2, 2, 3, 2, 1, 3]))
    rounds = (RootRound(strings([""]), np.array([0]), np.array([NEVER]), 16, 16),)
    asked = LikelyCandidates(spelling, rounds)
    return LikelyLayer(**_COMMON, alphabet=alphabet, depth=8, asked=asked)


def closed_layer() -> ClosedLayer:
    """A list of words that a device with the usual policy answers if it is in a log."""
    listed = strings(["".join(word) for word in product("abc", repeat=5)])
    told = {name: value for name, value in _COMMON.items() if name not in ("pass_number", "number", "sampler")}
    return ClosedLayer(**told | {"epsilon": 3.0}, alphabet=Alphabet("abc"), words=listed, depth=8)


_COMMON: dict[str, Any] = {
    "pass_number": 1,
    "number": 1,
    "layer_size": 1000,
    "mechanism": "unary",
    "epsilon": 5.0,
    "bound": 4,
    "sampler": "random",
    "known": Vocabulary(["cab"]),
}


class Scene:
    """One device in one folder."""

    def __init__(self, driver: Driver, service: ScriptedService, folder: Path) -> None:
        self.driver, self.service, self.folder = driver, service, folder
        self.credential = service.credential()
        self.trust: WitnessPolicy | None = None
        self.patience: float | None = None

    def open(self, words: dict[str, int] | None = None) -> None:
        """Open the device; its words are typed if some are given."""
        operator = OPERATOR.public_key().public_bytes_raw().hex()
        where, server = str(self.folder), self.service.address
        setup = DeviceSetup(where, server, operator, self.credential, words or {}, self.trust, self.patience)
        self.driver.open(setup)

    def restart(self) -> None:
        """Close the device and open it again."""
        self.driver.close()
        self.open()

    def tick(self) -> Step:
        """Take one step."""
        return self.driver.tick()

    def ticks(self, *states: str) -> list[Step]:
        """Take as many steps as there are states, which must be these."""
        steps = [self.tick() for _ in states]
        require([step.state for step in steps] == [*states], f"its states are {[s.state for s in steps]}, not {states}")
        return steps

    def tick_until_done(self, most: int) -> None:
        """Take steps until there is none left, which must be so after a few."""
        require(any(self.tick().again is None for _ in range(most)), f"it has not done its part after {most} steps")

    def require_nothing_sent(self) -> None:
        """No report has left the device."""
        require(not self.service.reports, "it sends a report")

    def require_same_bytes(self) -> None:
        """All reports that left the device are one."""
        different = {Submission.parse(body).report for body in self.service.reports}
        require(len(different) == 1, f"it sends {len(different)} different reports")


def require(holds: bool, complaint: str) -> None:
    """Complain unless something holds."""
    if not holds:
        raise BrokenRuleError(complaint)


@contextmanager
def set_scene(driver: Driver, folder: Path) -> Iterator[Scene]:
    """A service and a device that has not been opened yet; the driver is free again afterwards."""
    with running(ScriptedService(extending_layer(), OPERATOR)) as service:
        yield Scene(driver, service, folder)
