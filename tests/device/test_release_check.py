"""A device finds the layer that it answered in a release, or says what is wrong; older answers tell less."""

import json
import sqlite3
from collections.abc import Callable, Collection
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from invitations import OPERATOR, STRANGER, campaign_id, policy
from layers import small_layer
from neologue.device.release_check import ReleaseCheck, check_release
from neologue.device.storage.spending_record import AnsweredCampaign, SpendingRecord
from neologue.errors import ParameterError, ReleaseError
from neologue.masking.rules import GroupRules
from neologue.masking.terms import Promise
from neologue.protocol.invitation import invite
from neologue.release.signature import sign_document

LAYER = small_layer(["ab", "ca"])
KEY = OPERATOR.public_key().public_bytes_raw()
RULES = GroupRules(groups=1000)
PROMISE = RULES.promise((bytes(32),))


def only(*operators: bytes) -> Callable[[bytes | None], Collection[bytes]]:
    """Keys that nothing has replaced."""
    return lambda operator: operators if operator is None else {operator}


def release(**changes: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a device looks at in a release."""
    return {
        "format": 3,
        "campaign": campaign_id(1).hex(),
        "parameters": {"epsilon": 3.0, "words_per_user": 4},
        "layers": [{"digest": "00" * 32}, {"digest": LAYER.digest.hex()}],
        "measurement": None,
        "exposure": {"disk": 100, "server": 1, "masked": None},
    } | changes


def signed(document: dict[str, Any], key: Any = OPERATOR) -> bytes:  # noqa: ANN401
    return json.dumps(sign_document(document, key)).encode()


@pytest.fixture
def record(tmp_path: Path) -> SpendingRecord:
    return SpendingRecord(tmp_path / "account.db", clock=lambda: 20_000)


def answers(record: SpendingRecord, masked: Promise | None = None) -> list[AnsweredCampaign]:
    """What a device has recorded that answered the layer."""
    record.answer(invite(campaign_id(1), LAYER, OPERATOR, masked), {"abc": 1}, policy())
    return record.answers()


def test_the_layer_is_found_among_those_of_the_release_or_as_its_measurement(record: SpendingRecord) -> None:
    answered = answers(record)
    assert check_release(signed(release()), answered, only()) == ReleaseCheck(())
    measured = release(layers=[], measurement={"digest": LAYER.digest.hex()})
    assert check_release(signed(measured), answered, only()) == ReleaseCheck(())


def test_a_layer_may_ask_for_fewer_words_than_the_first(record: SpendingRecord) -> None:
    fewer = release(parameters={"epsilon": 3.0, "words_per_user": 5})
    assert check_release(signed(fewer), answers(record), only()) == ReleaseCheck(())


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "its layer left out": ({"layers": [{"digest": "00" * 32}]}, "is not among those of the release"),
    "another ε": ({"parameters": {"epsilon": 2.0, "words_per_user": 4}}, "told an ε 3, and the release states 2"),
    "another B": ({"parameters": {"epsilon": 3.0, "words_per_user": 1}}, "words per user: 4, and the release states 1"),
    "masks that it was not promised": ({"exposure": {"masked": asdict(RULES)}}, "other masks"),
    "another campaign": ({"campaign": campaign_id(2).hex()}, "has answered nothing in the campaign"),
    "no campaign": ({"campaign": None}, "names no campaign"),
}


@pytest.mark.parametrize("lie", LIES)
def test_what_a_release_says_otherwise_is_named(lie: str, record: SpendingRecord) -> None:
    changes, said = LIES[lie]
    (objection,) = check_release(signed(release(**changes)), answers(record), only()).objections
    assert said in objection


@pytest.mark.parametrize(
    ("masked", "holds"),
    [
        (None, False),
        (RULES, True),
        (replace(RULES, smallest=75), False),
        (replace(RULES, corruption=3), False),
        (replace(RULES, dropout=10), False),
    ],
)
def test_masks_are_those_that_were_promised(record: SpendingRecord, masked: GroupRules | None, holds: bool) -> None:
    document = release(exposure={"disk": 100, "server": 1, "masked": masked and asdict(masked)})
    assert (check_release(signed(document), answers(record, PROMISE), only()).objections == ()) is holds


def test_the_operator_who_asked_must_have_signed(record: SpendingRecord) -> None:
    answered = answers(record)
    for key in (STRANGER.public_key().public_bytes_raw(), KEY):
        assert check_release(signed(release(), STRANGER), answered, only(key)).objections != ()
    (objection,) = check_release(json.dumps(release()).encode(), answered, only()).objections
    assert "is not signed" in objection
    changed = json.loads(signed(release())) | {"words": []}
    assert check_release(json.dumps(changed).encode(), answered, only()).objections != ()


def test_an_answer_of_an_earlier_version_is_checked_as_far_as_it_goes(record: SpendingRecord, tmp_path: Path) -> None:
    answers(record)
    with closing(sqlite3.connect(tmp_path / "account.db")) as db:
        db.executescript(
            "CREATE TABLE before AS SELECT campaign, layer, epsilon, day FROM answers; DROP TABLE answers;"
            "ALTER TABLE before RENAME TO answers; PRAGMA user_version = 2"
        )
    (answer,) = SpendingRecord(tmp_path / "account.db").answers()
    assert (answer.layer, answer.operator, answer.bound) == (LAYER.digest, None, None)
    unnoted = ("who asked", "B", "masks")
    assert check_release(signed(release()), [answer], only(KEY)) == ReleaseCheck((), unnoted)
    left_out = check_release(signed(release(layers=[])), [answer], only(KEY))
    assert (len(left_out.objections), left_out.not_compared) == (1, unnoted)
    for stated in (2.0, 3.1):
        other = release(parameters={"epsilon": stated, "words_per_user": 4})
        (objection,) = check_release(signed(other), [answer], only(KEY)).objections
        assert objection == f"this device spent an ε of 3, and the release states {stated}"
    with pytest.raises(ParameterError, match="give the operator's public key"):
        check_release(signed(release()), [answer], only())


@pytest.mark.parametrize(
    "rules",
    [
        {"size": 2000, "smallest": 1000, "corruption": 5.5},
        {"groups": 1.5},
        {"size": 10**9},
        {"size": "100"},
        {"risk": "1e-6"},
        {"people": 1},
    ],
    ids=str,
)
def test_masks_that_can_not_be_are_refused(rules: dict[str, Any], record: SpendingRecord) -> None:
    document = release(exposure={"disk": 100, "server": 1, "masked": rules})
    with pytest.raises(ReleaseError, match="not what a campaign publishes"):
        check_release(signed(document), answers(record, PROMISE), only())


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"format": 2}', b'{"format": 3, "format": 3}', signed(release(layers=7)), b"\xff" * 9],
)
def test_what_is_no_release_is_refused(content: bytes, record: SpendingRecord) -> None:
    with pytest.raises(ReleaseError):
        check_release(content, answers(record), only())
