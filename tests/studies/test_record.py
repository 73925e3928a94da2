"""The record of a study under way: what was kept comes back, and nothing of another study does."""

from pathlib import Path

import pytest

from neologue.errors import JournalError
from neologue.studies.record import Record

IDENTITY: dict[str, object] = {"study": "compare", "seeds": (1, 2)}


def test_what_was_kept_comes_back_in_order(tmp_path: Path) -> None:
    record = Record(tmp_path / "r", IDENTITY, resume=False)
    assert list(record.recall()) == []
    for number in (10, 2):
        record.keep(number, {"number": number})
    again = Record(tmp_path / "r", IDENTITY, resume=True)
    assert [result["number"] for result in again.recall()] == [2, 10]
    again.close()
    assert not (tmp_path / "r").exists()


def test_nothing_is_made_before_a_run_is_finished(tmp_path: Path) -> None:
    Record(tmp_path / "r", IDENTITY, resume=False)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changed", "resume", "message"),
    [
        ({}, False, "has an unfinished study; continue it with --resume"),
        ({"study": "paper"}, True, "another run: study is not the same"),
        ({"seeds": (1,)}, True, "another run: seeds is not the same"),
    ],
)
def test_a_record_is_good_for_its_own_study_alone(
    tmp_path: Path, changed: dict[str, object], resume: bool, message: str
) -> None:
    Record(tmp_path / "r", IDENTITY, resume=False).keep(1, {})
    with pytest.raises(JournalError, match=message):
        Record(tmp_path / "r", IDENTITY | changed, resume=resume)


def test_there_has_to_be_something_to_go_on_with(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="has no unfinished study"):
        Record(tmp_path / "r", IDENTITY, resume=True)


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    Record(tmp_path / "r", IDENTITY, resume=False).keep(3, {})
    (tmp_path / "r" / "run-00003.json").write_text("{", "utf-8")
    with pytest.raises(JournalError, match=r"run-00003\.json is damaged; delete it"):
        list(Record(tmp_path / "r", IDENTITY, resume=True).recall())
