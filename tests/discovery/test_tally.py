"""Tallies: sums of votes."""

import numpy as np

from neologue.discovery.tally import Tally


def test_a_tally_counts_votes_with_repetition_and_reports_without_any() -> None:
    tally = Tally.of(4, map(np.array, ([0, 2], [2, 2, 3], np.empty(0, np.int64))))
    assert tally.votes.tolist() == [1, 0, 3, 1]
    assert tally.reports == 3
    assert Tally.of(2, []).reports == 0
