"""Votes under masks in Java: the answers and refusals of Python's device, byte for byte, whatever a server sends."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, Final

import numpy as np
import pytest

import groups
from device import test_masked
from device.test_masked import (  # noqa: F401 - they run here with a device in Java
    TestConfirming,
    TestJoining,
    TestMasking,
    TestServer,
    TestSharing,
    TestUnmasking,
)
from masking import test_lying_server
from masking.test_lying_server import TestRosters  # noqa: F401
from neologue.aggregation.group_outcome import GroupSum
from neologue.aggregation.masked_group import Stage
from neologue.device.masked import Ballot, Identity, Member
from neologue.entropy import Entropy
from neologue.errors import MaskingError
from neologue.masking.agreement import ShareRequest, Survivors
from neologue.masking.messages import Delivery
from neologue.masking.roster import Roster
from neologue.masking.terms import Promise, Terms

from .machine import DictatedWords, JavaMachine

SECRETS_BYTES: Final = 1 << 13
NAMES: Final = count()


class Twins(Member):
    """A device in Python that has a twin in Java with the same secrets: they answer and refuse the same."""

    def __init__(
        self,
        java: JavaMachine,
        terms: Terms,
        ballot: Ballot,
        promise: Promise,
        identity: Identity,
        entropy: Entropy | None = None,
    ) -> None:
        secrets = os.urandom(SECRETS_BYTES) if entropy is None else entropy.octets(SECRETS_BYTES)
        self._java, self._name = java, str(next(NAMES))
        advertised = java.ask(
            "member",
            name=self._name,
            secrets=secrets.hex(),
            terms=bytes(terms).hex(),
            promise=bytes(promise).hex(),
            campaign=identity.campaign_id.hex(),
            signing_key=identity.signer.private_bytes_raw().hex(),
            voucher=identity.voucher.hex(),
            layer=ballot.layer.hex(),
            votes=ballot.votes().tolist(),
            most=ballot.most,
        )
        try:
            super().__init__(terms, ballot, promise, identity, DictatedWords(secrets))
        except MaskingError:
            assert advertised == "refused"
            raise
        assert advertised == self.advertise().hex()

    def share(self, message: bytes) -> bytes:
        return self._both(Roster.number, super().share, message)

    def mask(self, message: bytes) -> bytes:
        return self._both(Delivery.number, super().mask, message)

    def confirm(self, message: bytes) -> bytes:
        return self._both(Survivors.number, super().confirm, message)

    def unmask(self, message: bytes) -> bytes:
        return self._both(ShareRequest.number, super().unmask, message)

    def _both(self, number: int, answer: Callable[[bytes], bytes], message: bytes) -> bytes:
        # In Java the message says how it is answered.
        asked = message[1:2] == bytes([number])
        told = self._java.ask("answer", name=self._name, message=message.hex()) if asked else "refused"
        try:
            answered = answer(message)
        except MaskingError:
            assert told == "refused"
            raise
        assert told == answered.hex()
        return answered


@pytest.fixture(autouse=True, scope="module")
def _twins(java: JavaMachine) -> Iterator[None]:
    """The first device of each group has a twin."""

    def member(terms: Terms, ballot: Ballot, promise: Promise, who: Identity, entropy: Entropy | None = None) -> Member:
        first = who == groups.identity(0)
        return (
            Twins(java, terms, ballot, promise, who, entropy) if first else Member(terms, ballot, promise, who, entropy)
        )

    with pytest.MonkeyPatch.context() as patch:
        for module in (groups, test_masked, test_lying_server):
            patch.setattr(module, "Member", member)
        yield


@pytest.mark.parametrize("stage", [Stage.SHARING, Stage.MASKING, Stage.CONFIRMING, Stage.UNMASKING])
def test_a_message_with_a_byte_changed_is_answered_or_refused_as_in_python(stage: Stage) -> None:
    """One that is refused changes nothing, so that the next one is tried on the same device."""
    answers: dict[Stage, Callable[[Any, bytes], bytes]] = {
        Stage.SHARING: Member.share,
        Stage.MASKING: Member.mask,
        Stage.CONFIRMING: Member.confirm,
        Stage.UNMASKING: Member.unmask,
    }
    refused = 0
    run, member, message = test_masked.at(stage)
    changes = [message[:-1], message + b"\0", b"", message[:17]]
    changes += [
        message[:place] + bytes([message[place] ^ 1 << place % 8]) + message[place + 1 :]
        for place in (*range(24), *range(24, len(message), 61))
    ]
    for changed in changes:
        try:
            getattr(member, answers[stage].__name__)(changed)
        except MaskingError:
            refused += 1
        else:
            run, member, message = test_masked.at(stage)
    assert refused > len(changes) / 3
    assert run.answer(test_masked.FIRST)


def test_a_group_with_a_device_in_java_has_the_sum_of_its_votes() -> None:
    dice = np.random.default_rng(5)
    terms = groups.some_terms(entries=300, votes=60, smallest=6, corrupt=1)
    run = groups.Run(terms, [dice.integers(0, 61, 300) for _ in range(12)]).go_to(Stage.OVER)
    assert isinstance(run.members[groups.name(0)], Twins)
    assert isinstance(run.server.outcome, GroupSum)
    assert np.array_equal(run.server.outcome.votes, sum(run.vectors))
