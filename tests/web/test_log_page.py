"""The sentences about a campaign in the log, which claim no more than its entries show."""

from collections import Counter

import pytest

from neologue.transparency.log_entry import Deed
from neologue.web.log_page import campaign_sentences


@pytest.mark.parametrize(
    ("deeds", "told"),
    [
        ([], "The log has its rules. Nobody has been asked anything yet."),
        ([Deed.OPENED], "The log has its rules, and 1 question, of which 0 are closed."),
        (
            [Deed.OPENED] * 2 + [Deed.CLOSED] * 2 + [Deed.RELEASED],
            "2 questions, of which 2 are closed. It has one result.",
        ),
        ([Deed.OPENED, Deed.RELEASED, Deed.RELEASED], "It has 2 results, where there must be one."),
        ([Deed.OPENED, Deed.ABORTED], "It was ended without a result."),
    ],
)
def test_what_entries_show_is_said(deeds: list[Deed], told: str) -> None:
    assert told in " ".join(campaign_sentences(Counter(deeds)))
