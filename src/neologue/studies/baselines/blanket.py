"""What shuffling adds to Optimal Local Hashing: its privacy blanket (Balle, Bell, Gascón and Nissim 2019).

A report, of a hash function and a bucket, is with probability b = g(1-p)/(g-1) a uniform one whatever the value, and
otherwise the bucket of the value. Reveal which of the other reports are uniform, and take the rest away. Whether the
one report in question is about x or x' then shows in nothing but how many reports support x alone and x' alone. A
uniform report does either with (1/g)(1 - 1/g) and both with 1/g²; the one in question supports its value alone with
p(1 - 1/g), the other alone with (1 - p)/g, and both with p/g. This is Subset Selection
(`neologue.privacy.shuffling`) in the limit of many candidates, and is evaluated in the same way.
"""

from neologue.privacy.bound import smallest_epsilon
from neologue.privacy.shuffling import SMALLEST_TAIL, TAIL_SHARE, hidden_delta
from neologue.studies.baselines.oracles import LocalHashing


def shuffled_epsilon(oracle: LocalHashing, reports: int, delta: float) -> float:
    """The central ε of one of `reports` shuffled reports."""
    tail = max(SMALLEST_TAIL, delta * TAIL_SHARE)
    return smallest_epsilon(lambda central: _delta(oracle, reports, central, tail), delta, oracle.epsilon)


def _delta(oracle: LocalHashing, reports: int, epsilon: float, tail: float) -> float:
    """An upper bound on δ(ε)."""
    p, one = oracle.truth, 1 / oracle.buckets
    coin = 2 * one * (1 - one) / (1 - one**2)
    up, down = p * (1 - one) / (1 - p * one), (1 - p) * one / (1 - p * one)
    uniform = (1 - p) / (1 - one) * (1 - one**2)
    return (1 - p * one) * hidden_delta(epsilon, reports - 1, uniform, coin, up, down, tail)
