"""What the central ε of a layer costs to compute, by each theorem, and by dp-accounting where that can do it too."""

import math
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from dp_accounting.pld import privacy_loss_distribution
from scipy.stats import binom

from benchmarks.measure import Measured, Part, Ratio, Work, cpu_seconds, in_turn, ratio
from benchmarks.setting import DELTA, Setting
from neologue.privacy.binomial_pair import plausible
from neologue.privacy.bound import Bound
from neologue.privacy.shuffling import blanket, blanket_floor, blanket_group, clones_2021, clones_2023, closed_form
from neologue.privacy.sums import LEFT_OUT, Sums, joint, sums_group, sums_only
from neologue.randomizers.unary import Unary

SUMS, GENERIC_SUMS = "unary, a word: sums", "unary, a word: dp-accounting, nobody else holds it"
JOINT, GENERIC_JOINT = "unary, a user: joint", "unary, a user: dp-accounting composes our law of a word"


def measure(setting: Setting) -> Part:
    """Measure all of them in turn; what each finds stands beside it."""
    measured = in_turn(_works(setting), setting.rounds)
    return Part(
        title=f"Accountants: a cohort of {setting.layer_size:,} with {setting.words} words each, δ = {DELTA:g}",
        measured=list(measured.values()),
        ratios=list(_ratios(measured)),
    )


def _works(setting: Setting) -> Iterator[Work]:
    selection, unary, users, contributions = setting.selection, setting.unary, setting.layer_size, setting.layer_reports
    epsilon = selection.epsilon
    bounds: dict[str, Callable[[], Bound | float]] = {
        "subset selection, a word: closed form": lambda: closed_form(epsilon, contributions, DELTA),
        "subset selection, a word: clones of 2021": lambda: clones_2021(epsilon, contributions, DELTA),
        "subset selection, a word: clones of 2023": lambda: clones_2023(epsilon, contributions, DELTA),
        "subset selection, a word: blanket": lambda: blanket(selection, contributions, DELTA),
        "subset selection, a word: floor": lambda: blanket_floor(selection, contributions, DELTA),
        "subset selection, a user: group": lambda: blanket_group(selection, contributions, DELTA),
        SUMS: lambda: sums_only(unary, users, DELTA),
        GENERIC_SUMS: lambda: generic_word(unary, users),
        "unary, a word: floor": lambda: Sums.of(unary, users).floor(DELTA),
        "unary, a user: group": lambda: sums_group(unary, users, DELTA),
        JOINT: lambda: joint(unary, users, DELTA),
        GENERIC_JOINT: lambda: generic_user(unary, users),
    }
    for what, bound in bounds.items():
        yield Work(what, 1, "bounds", cpu_seconds(bound), _found(bound()))


def _found(bound: Bound | float) -> str:
    epsilon = bound.epsilon if isinstance(bound, Bound) else bound
    return "does not hold here" if epsilon is None else f"ε = {epsilon:.4g}"


def generic_word(unary: Unary, users: int) -> float:
    """A replaced word by dp-accounting alone, from tables of the votes, if nobody else holds the two candidates."""
    p, q = float(unary.channel.p), float(unary.channel.q)
    low, high = plausible(users - 1, q, LEFT_OUT)
    votes = binom.pmf(np.arange(low, high + 1), users - 1, q)
    here, one_less = np.append(votes, 0.0), np.insert(votes, 0, 0.0)
    holds, lacks = (
        {place: math.log(chance) for place, chance in enumerate(law.tolist()) if chance > 0}
        for law in ((1 - p) * here + p * one_less, (1 - q) * here + q * one_less)
    )
    step = Sums.of(unary, users).step
    given_up, taken_up = (
        privacy_loss_distribution.from_two_probability_mass_functions(
            lower, upper, value_discretization_interval=step, symmetric=False
        )
        for lower, upper in ((lacks, holds), (holds, lacks))
    )
    return float(given_up.compose(taken_up).get_epsilon_for_delta(DELTA))


def generic_user(unary: Unary, users: int) -> float:
    """A whole user by dp-accounting's composition of our law of a word."""
    return float(Sums.of(unary, users).word.self_compose(unary.bound).get_epsilon_for_delta(DELTA))


def _ratios(measured: Mapping[str, Measured]) -> Iterator[Ratio]:
    yield ratio(measured[SUMS], measured[GENERIC_SUMS])
    yield ratio(measured[JOINT], measured[GENERIC_JOINT])
