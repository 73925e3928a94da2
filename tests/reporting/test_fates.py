"""What became of words that were missed."""

import numpy as np

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, strings
from neologue.reporting.discovery.fates import fates
from neologue.simulation.trie_trace import LayerTrace, VotedCandidates


def layer() -> LayerTrace:
    """A layer that extends a and b by two symbols, and keeps the word "ab" alone."""
    candidates = Candidates(Alphabet("ab"), strings(["a", "b"]), 2)
    kept = candidates.index(strings(["ab"]))
    dropped = candidates.index(strings(["ba"]))
    return LayerTrace(
        pass_number=1,
        number=1,
        length=1,
        extension=2,
        reports=100,
        noise=1.0,
        deviation=1.0,
        gain=0.5,
        kept=VotedCandidates(candidates, kept, np.array([40]), np.array([10])),
        dropped=VotedCandidates(candidates, dropped, np.array([7]), np.array([10])),
    )


def test_a_word_with_too_few_votes_and_one_far_from_being_kept_have_different_ends() -> None:
    told = fates([layer()], {"ab": 50, "ba": 12, "aaa": 30}, {"ab"}, most=10)
    assert [(fate.word, fate.asked, fate.votes, fate.needed) for fate in told] == [
        ("aaa", True, None, None),
        ("ba", True, 7, 10),
    ]
