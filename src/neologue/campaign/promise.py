"""The promise of a central ε: how many reports a layer needs to keep it, and how many users a planned layer gets.

The release costs what its costliest layer costs, and more reports hide more. So the promise is kept if no layer is
decided with fewer reports than it needs, however many devices stay away.
"""

import math
from functools import lru_cache
from typing import Final

from neologue.campaign.parameters import Parameters
from neologue.errors import ParameterError
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import candidates_matter, central_epsilon

ROOM: Final = 0.05
"""The share of a planned layer's users who may stay away: with the others alone, it still keeps the promise."""
CLOSE_TO_PROMISE: Final = 1.001
"""Planned layers are larger by this factor than need be, as what a promise needs is not found to the last report."""
WITH_DROPOUTS: Final = (1 - ROOM) / CLOSE_TO_PROMISE
"""The share of a planned layer that counts when it is asked whether it keeps a promise."""
SLACK: Final = 1e-5
"""By this share of ε a layer costs less than promised, because the figure of several layers is rounded once more."""
CLOSE: Final = 1.0005
"""The number of reports is found up to this factor, and never too small."""
MOST_REPORTS: Final = 1 << 31
LARGEST_STEP: Final = 50.0
"""e to the power of it is far beyond the most reports: a promise may be so small that a larger power overflows."""


def fewest_reports(parameters: Parameters, candidates: int) -> int:
    """The fewest reports from which a layer on so many candidates is decided; with fewer nothing of it is released."""
    if parameters.promised_epsilon is None or parameters.epsilon is None or parameters.drawn:
        # Where slots are drawn, layers count planned numbers, with which the promise is kept from the beginning.
        return parameters.smallest_layer
    needed = _fewest(
        parameters.randomizer,
        candidates if candidates_matter(parameters.randomizer) else 1,
        parameters.epsilon,
        parameters.words_per_user,
        parameters.delta,
        parameters.colluders,
        parameters.promised_epsilon,
        parameters.promised_unit,
    )
    return max(parameters.smallest_layer, needed)


def fewest_users(parameters: Parameters, candidates: int) -> int:
    """The fewest users that a layer is planned with: more than decide it, if a central ε is promised."""
    fewest = fewest_reports(parameters, candidates)
    return fewest if parameters.promised_epsilon is None else math.ceil(fewest / (1 - ROOM))


def too_few_users(parameters: Parameters, users: int, first_layer: int, least: int) -> ParameterError:
    """The refusal of a campaign whose first layer can't keep what it promises."""
    return ParameterError(
        f"{users:,} users are too few to promise a central ε of {parameters.promised_epsilon} for one "
        f"{parameters.promised_unit} with a local ε of {parameters.epsilon:g}: a layer needs {least:,}, and the first "
        f"gets {first_layer:,}; take more users, a smaller local ε or fewer words per user",
        parameter="users",
    )


@lru_cache(maxsize=1024)
def _fewest(
    randomizer: str,
    candidates: int,
    epsilon: float,
    words_per_user: int,
    delta: float,
    colluders: float,
    promised: float,
    unit: str,
) -> int:
    def excess(reports: int) -> float:
        """How many times the promise a layer of so many reports costs, as a logarithm."""
        layer = Collection(randomizer, epsilon, words_per_user, (Batch(reports, candidates),))
        spent = central_epsilon(layer.in_sums_of(None, colluders), delta, unit)
        return math.log(max(spent, 1e-12) / (promised * (1 - SLACK)))

    breaks, keeps, reports = 0, MOST_REPORTS, 1
    while breaks < keeps - 1 and keeps > CLOSE * breaks:
        over = excess(reports)
        breaks, keeps = (breaks, reports) if over <= 0 else (reports, keeps)
        # Four times as many reports halve the central ε, once there are many; a little more, to bracket the promise.
        guess = reports * math.exp(min(2 * over, LARGEST_STEP)) * (CLOSE ** (-0.25 if over <= 0 else 0.25))
        reports = math.ceil(min(guess, MOST_REPORTS))
        if not breaks < reports < keeps:
            reports = math.ceil(math.sqrt(max(breaks, 1) * keeps))
            reports = min(max(reports, breaks + 1), keeps - 1)
    if keeps == MOST_REPORTS:
        raise ParameterError(
            f"no number of reports keeps a central ε of {promised:g} for one {unit} with a local ε of {epsilon:g}: "
            "promise more, or choose a smaller local ε or fewer words per user",
            parameter="promised_epsilon",
        )
    return keeps
