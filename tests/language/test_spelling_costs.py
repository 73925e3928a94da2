"""How large a character model may be: what would make a vector of megabytes."""

import numpy as np
import pytest

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.spelling_costs import MOST_CONTEXTS, MOST_ENTRIES, SpellingCosts


@pytest.mark.parametrize("characters", [3, 100])
def test_more_contexts_than_tables_hold_are_refused(characters: int) -> None:
    alphabet = Alphabet("".join(chr(0x4E00 + number) for number in range(characters)))
    most = min(MOST_CONTEXTS, MOST_ENTRIES // alphabet.size)
    contexts = tuple(map(str, range(most + 1)))
    with pytest.raises(ParameterError, match=f"at most {most:,} contexts"):
        SpellingCosts(alphabet, contexts, np.zeros(most + 1, np.int64), ("",) * (most + 1), np.empty(0, np.int64))
