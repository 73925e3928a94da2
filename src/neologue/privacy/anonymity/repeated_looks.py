"""The votes that a word needs which is looked at again and again, as layer after layer adds to them.

The sums of a word's votes after one layer, after two and so on belong together: what is below its threshold at one look
rarely leaps over the next. So the chance with which few holders ever pass is computed as a whole, from the law of sums
that have not passed yet, and each look may use what its part of the chance allows. `docs/privacy/anonymity.md` proves
it.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from neologue import binom
from neologue.privacy.binomial_pair import plausible_range
from neologue.privacy.bound import ROUNDING
from neologue.randomizers.channel import Channel

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-18
"""What is left out at the ends of a law."""
EARLY_SHARE = 0.05
"""The part of a chance that all looks but the last share: what they find, the last would nearly always find, too."""


def share_chance(chance: float, looks: int) -> tuple[float, ...]:
    """A chance as so many looks share it, most of it for the last."""
    early = looks - 1
    return (*([chance * EARLY_SHARE / early] * early), chance * (1 - EARLY_SHARE)) if early else (chance,)


@lru_cache(maxsize=4096)
def fewest_summed_votes(
    channel: Channel, contributions: tuple[int, ...], holders: int, chances: tuple[float, ...]
) -> int:
    """The fewest votes at the last of some looks at which so many holders first pass with at most its chance.

    Each look adds a layer with so many contributions. Holders are in the first ones, from where they add to every sum.
    """
    low, law, left_out = 0, np.ones(1), 0.0
    fewest = 0
    for layer, chance in zip(contributions, chances, strict=True):
        held = min(holders, layer)
        holders -= held
        for trials, each in ((held, float(channel.p)), (layer - held, float(channel.q))):
            first, votes = _law(trials, each)
            low, law = low + first, np.convolve(law, votes)
            left_out += NEGLIGIBLE
        passing = np.cumsum(law[::-1])[::-1]
        rare = (passing + left_out) * (1 + ROUNDING) <= chance
        # `rare` grows with the votes, and with more than the law has there is nothing but what was left out.
        place = int(np.argmax(rare)) if rare.any() else len(law)
        fewest, law = low + place, law[:place]
    return fewest


def _law(trials: int, chance: float) -> tuple[int, Floats]:
    """The chances of the plausible numbers of votes, and the first of these numbers."""
    low, high = plausible_range(trials, chance, NEGLIGIBLE)
    return low, binom.pmf(np.arange(low, high + 1), trials, chance)
