"""Whom to trust, as a policy file says it."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue.errors import LogError
from neologue.transparency.checkpoint import Checkpoint, log_verifier, operator_origin, sign_checkpoint
from neologue.transparency.signed_note import COSIGNATURE, NoteKey, cosign_note
from neologue.transparency.trust import AHEAD, Trust

PRIVATE = [Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32) for number in range(4)]
LOG, *WITNESSES = PRIVATE
NAMES = ["w1.example", "w2.example", "w3.example"]
KEYS = [
    NoteKey(name, COSIGNATURE, private.public_key().public_bytes_raw())
    for name, private in zip(NAMES, WITNESSES, strict=True)
]
LOG_KEY = LOG.public_key().public_bytes_raw()
POLICY = f"""
# two of three
log {log_verifier(LOG_KEY)} http://127.0.0.1/log
witness one {KEYS[0]} http://127.0.0.1:1
witness two {KEYS[1]}
\twitness three {KEYS[2]}
group all-of-them 2 one two three
quorum all-of-them
"""


def test_a_policy_file_is_read() -> None:
    trust = Trust.parse(POLICY)
    assert trust.quorum == 2
    assert [server.key for server in trust.witnesses] == KEYS
    assert trust.witnesses[0].url == "http://127.0.0.1:1"
    assert trust.logs[0].key == log_verifier(LOG_KEY)


def test_so_many_witnesses_must_have_cosigned() -> None:
    trust = Trust.parse(POLICY)
    note = sign_checkpoint(Checkpoint(operator_origin(LOG_KEY), 1, bytes(32)), LOG)
    one = note.with_signatures([cosign_note(note.text, NAMES[0], WITNESSES[0], 1000)])
    with pytest.raises(LogError, match="only these have: w1"):
        trust.check(one)
    # The same witness twice is one witness, and one whose clock is off counts for nothing.
    twice = one.with_signatures([cosign_note(note.text, NAMES[0], WITNESSES[0], 1001)])
    with pytest.raises(LogError, match="2 of 3"):
        trust.check(twice)
    ahead = one.with_signatures([cosign_note(note.text, NAMES[1], WITNESSES[1], 2001 + AHEAD)])
    with pytest.raises(LogError, match="2 of 3"):
        trust.check(ahead, now=2000)
    trust.check(ahead)
    trust.check(one.with_signatures([cosign_note(note.text, NAMES[2], WITNESSES[2], 1000)]), now=2000)


@pytest.mark.parametrize(
    ("policy", "complaint"),
    [
        ("", "no quorum"),
        ("quorum nobody", "line 1"),
        (f"log {KEYS[0]}\nquorum none", "another kind"),
        (f"witness a {KEYS[0]}\nwitness b {KEYS[0]}\nquorum a", "key twice"),
        (f"witness a {KEYS[0]}\ngroup g 2 a\nquorum g", "not '2'"),
        (f"witness a {KEYS[0]}\ngroup g all a\ngroup h any g\nquorum h", "line 3"),
        ("quorum none\nquorum none", "line 2"),
        ("log x\nquorum none", "verifier key"),
    ],
)
def test_a_policy_file_that_can_not_be_used_is_refused(policy: str, complaint: str) -> None:
    with pytest.raises(LogError, match=complaint):
        Trust.parse(policy)


def test_one_witness_or_none_may_be_the_quorum() -> None:
    assert Trust.parse(f"witness a {KEYS[0]}\nwitness b {KEYS[1]}\nquorum b").witnesses[0].key == KEYS[1]
    assert Trust.parse("quorum none").quorum == 0
