"""The proof beside an invitation: it proves its layer of its campaign at its index, to those who know the keys."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from neologue.errors import LogError
from neologue.transparency.inclusion_proof import InclusionProof
from neologue.transparency.log_entry import Deed, LogEntry
from transparency.logs import log_of_layers

LOG = log_of_layers(3)
PROOF = bytes(LOG.proof(1))
ENTRY = LOG.layer(1)
WITNESSES = [witness.public_key().public_bytes_raw() for witness in LOG.witnesses]


def check(content: bytes, entry: LogEntry = ENTRY, quorum: int = 2, now: float = 2000.0) -> None:
    InclusionProof.parse(content).check(entry, [LOG.key], WITNESSES, quorum, now)


def test_a_layer_is_proved() -> None:
    proof = InclusionProof.parse(PROOF)
    assert bytes(proof) == PROOF
    log, (operator, campaign) = proof.check(ENTRY, [bytes(32), LOG.key], WITNESSES, 3, 2000.0)
    assert log == LOG.key
    assert (operator.size, campaign.size) == (len(LOG.operator), 3)
    assert len(PROOF) < 2048


def test_another_layer_document_is_not_proved() -> None:
    """A layer for one device, at an index where everybody else is asked something else."""
    with pytest.raises(LogError, match="not in a log"):
        check(PROOF, LogEntry(Deed.OPENED, bytes(32), ENTRY.campaign, layer=1))


def test_another_promise_is_not_proved() -> None:
    with pytest.raises(LogError, match="not in a log"):
        check(PROOF, LogEntry(Deed.OPENED, ENTRY.digest, ENTRY.campaign, layer=1, promise=bytes(32)))


def test_the_log_of_somebody_else_is_not_known() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32)).public_key().public_bytes_raw()
    with pytest.raises(LogError, match="not in a log"):
        InclusionProof.parse(PROOF).check(ENTRY, [other], WITNESSES, 1, 2000.0)


def test_too_few_witnesses_are_refused() -> None:
    with pytest.raises(LogError, match="1 of the 3 witnesses"):
        check(bytes(LOG.proof(1, cosigners=1)))
    with pytest.raises(LogError, match="0 of the 2 witnesses"):
        InclusionProof.parse(PROOF).check(ENTRY, [LOG.key], [bytes(32), WITNESSES[0][:31] + b"\0"], 1, 2000.0)


def test_a_witness_whose_clock_is_off_counts_for_nothing() -> None:
    with pytest.raises(LogError, match="0 of the 3 witnesses"):
        check(PROOF, now=1000 - 86_401)


@given(st.data())
def test_no_changed_byte_passes(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(PROOF) - 1))
    tampered = PROOF[:place] + bytes([PROOF[place] ^ data.draw(st.integers(1, 255))]) + PROOF[place + 1 :]
    with pytest.raises(LogError):
        check(tampered, quorum=3)


@given(st.binary(max_size=400))
def test_no_bytes_do_more_than_raise_a_log_error(content: bytes) -> None:
    with pytest.raises(LogError):
        check(content)
    with pytest.raises(LogError):
        check(PROOF[: len(content)])


def test_entries_are_read_as_they_were_written() -> None:
    for entry in (ENTRY, LogEntry(Deed.KNOWN, bytes(32)), LogEntry(Deed.CLOSED, campaign=bytes(16), layer=0)):
        assert LogEntry.parse(bytes(entry)) == entry


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"deed":"campaign started"}',
        b'{"deed":"words known","digest":"00"}',
        b'{"deed":"words known", "digest":"' + b"00" * 32 + b'"}',
        b'{"deed":"something else","digest":"' + b"00" * 32 + b'"}',
        b'{"campaign":"' + b"00" * 16 + b'","deed":"layer closed","layer":true}',
    ],
)
def test_what_is_no_entry_is_refused(content: bytes) -> None:
    with pytest.raises(LogError, match="none that this neologue knows"):
        LogEntry.parse(content)
