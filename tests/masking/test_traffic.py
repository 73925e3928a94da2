"""The bytes that are foreseen are those that are sent."""

from dataclasses import replace

import pytest

from groups import Run, name, some_terms
from neologue.aggregation.masked_group import Stage
from neologue.masking.terms import MOST_ENTRIES, MaskingGroup
from neologue.masking.traffic import download_bytes, entries_within, upload_bytes


@pytest.mark.parametrize(("devices", "votes", "entries"), [(5, 1, 100), (40, 3, 77)])
def test_as_many_are_sent_as_are_foreseen(devices: int, votes: int, entries: int) -> None:
    terms = some_terms(entries, votes)
    run = Run(terms, [[0] * entries] * devices)
    sent, received = 0, len(bytes(terms))
    while run.server.stage is not Stage.OVER:
        received += len(run.server.message_for(name(0)) or b"")
        answers = run.answers()
        sent += len(answers[name(0)])
        for device, answer in answers.items():
            run.server.receive(device, answer)
        run.server.advance()
    group = MaskingGroup(terms, devices)
    assert (sent, received) == (upload_bytes(group), download_bytes(group))


@pytest.mark.parametrize("upload", [6000, 50_001, 1_000_000])
def test_no_more_entries_fit(upload: int) -> None:
    group = MaskingGroup(some_terms(votes=3), 40)
    most = entries_within(upload, group)
    assert upload_bytes(MaskingGroup(replace(group.terms, entries=most), 40)) <= upload
    assert upload_bytes(MaskingGroup(replace(group.terms, entries=most + 1), 40)) > upload


def test_some_budgets_have_room_for_nothing_or_for_all() -> None:
    group = MaskingGroup(some_terms(), 40)
    assert entries_within(1000, group) == 0
    assert entries_within(1 << 40, group) == MOST_ENTRIES
