"""Whether the votes of a layer can have come from honest devices.

Every limit here holds for every honest population, whatever it holds, so that a layer in which many candidates are held
is as safe from a false alarm as one of pure noise: all limits of a layer together are overstepped by chance at most
once in a million layers. Let n be the contributions (reports for unary, B times as many for Subset Selection). A
candidate that h of them hold has Bin(h, p) + Bin(n-h, q) votes, q ≤ p, and a report holds at most B candidates, each
once. All votes are sums of independent or negatively associated indicators (`docs/privacy/anonymity.md`), for which
Bernstein's inequality holds: such a sum exceeds its mean by t with a chance of at most exp(-t²/(2(σ² + t/3))).

- **Total.** Unary: at least the noise alone, Bin(ns, q), and at most that of reports that hold B candidates each. Of
  Subset Selection every contribution has d votes, of which those for γ are not counted: Bin(n, q) to Bin(n, p) of them.
- **Largest.** A report votes for what it holds with a chance of p alone: a candidate has at most Bin(reports, p) votes
  for it, and noise from the other contributions.
- **Bulk.** Holders push votes up and never down. So at most Bin(s, F(x)) candidates have x votes or fewer, F being the
  law of the votes that noise gives. That is all that can be said for Subset Selection. Of unary, where candidates are
  independent, also of those with at most y votes the part with at most x < y is no more than noise makes it: votes
  grow with the holders in the likelihood ratio order (a Bernoulli variable does with its chance, and adding an
  independent sum of others, whose law is log-concave, keeps the order), so that among these c candidates those with at
  most x are at most Bin(c, F(x)/F(y)). However many candidates are held, they do not hide what became of the rest.
- **Thermometer**, of a closed unary layer: bit j+1 is held only by those who hold bit j, so it has more votes by chance
  alone, and Hoeffding's inequality says how many: t more with a chance of at most exp(-t²/reports).
- **Foretold** (`neologue.discovery.foretold`): what is kept has no far larger share of users than earlier layers said.

One more test looks at the sums in which the votes are stored, in the order in which reports came:

- **Gathered.** Let Y be the votes of one report for a set of kept candidates that the votes of the whole layer name.
  Which reports voted for a candidate is, given its votes and its holders, left to chance, so a report has at most B
  votes for what it holds and no more of noise than Chernoff's inequality allows at the mean of Y: a range r, and a
  variance of at most r times the mean. If the order of reports does not depend on what they say, the votes of a stored
  sum for the set are drawn without replacement, and Bernstein's inequality holds (Hoeffding 1963, section 6). Regions
  sleep at different times, and their people use different words: so a sum may have twice the votes for each report that
  the layer has, before anything is said. The sets are all that was kept, and the half, the quarter and so on of it that
  has the fewest votes: what is planted has no more than it needs. Who plants evenly over time is not found. Reports
  that are made up to fill a sum count in this sum, and not in the layer whose mean it is compared with: they have noise
  alone, so the mean of those who came is rather too high than too low, and so is the limit.

Too many votes spread over all candidates can't be told from words that many hold, as long as the total stays below its
limit, and neither can honest-looking votes for one word: `neologue.release.influence` bounds what those do.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue import binom
from neologue.discovery.tally import Tally
from neologue.privacy.bound import ROUNDING
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.randomizers.channel import Channel
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

FALSE_ALARM = 1e-6
"""The chance that anything is said of an honest layer, at most."""
TESTS = 5
"""Total, largest, bulk, thermometer and foretold share it evenly; gathered, which assumes more, has as much alone."""
DRIFT = 2
"""How many times as many votes for what is kept the reports of some hours may have as those of the whole layer."""
BULK = (1e-4, 1e-3, 0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 0.99)
"""The shares of noise at whose quantiles the bulk is looked at."""

Integers = NDArray[np.int64]


def find_implausible(layer: Layer | ClosedLayer, tally: Tally) -> list[str]:
    """In plain words, how the votes of a layer are unlike those of honest devices; nothing if they are not.

    No sentence names a candidate or the votes of one, for nothing covers those of candidates that are not kept.
    """
    return [*_total(layer, tally), *_largest(layer, tally), *_bulk(layer, tally), *_thermometer(layer, tally)]


def find_gathered(layer: Layer | ClosedLayer, tally: Tally, kept: Integers, parts: Iterable[Tally]) -> list[str]:
    """The same of the sums that the votes are stored in, for the operator: no release tells of sums of few reports.

    The reports of `tally` are those that devices sent; `parts` may have made-up ones besides.
    """
    if not len(kept) or not tally.reports:
        return []
    weakest = kept[np.argsort(tally.votes[kept], kind="stable")]
    sizes = np.unique(-(-len(kept) // 2 ** np.arange(len(kept).bit_length())))
    sums = [(part.reports, np.cumsum(part.votes[weakest])[sizes - 1]) for part in parts]
    nats = -math.log(FALSE_ALARM / 2 / len(sizes))
    means = np.cumsum(tally.votes[weakest])[sizes - 1] / tally.reports
    ranges = [layer.bound + binom.most_indicators(float(mean), nats + math.log(tally.reports)) for mean in means]
    ratio = 0.0
    for reports, votes in sums:
        for seen, mean, most in zip(votes.tolist(), means.tolist(), ranges, strict=True):
            expected = DRIFT * reports * mean
            limit = expected + most * _margin(expected / most, math.exp(-nats) / len(sums))
            ratio = max(ratio, seen / (reports * mean)) if seen > limit else ratio
    if not ratio:
        return []
    return [
        f"Votes for what was kept came together: one of the {len(sums):,} sums that they are stored in has {ratio:.2g} "
        "times as many for each report as the layer. It is as if some devices had agreed on their votes, and on when "
        "to send them."
    ]


@dataclass(frozen=True)
class Plausibility:
    """What can be said of the votes of honest reports of one randomizer."""

    total: Callable[[Any, int, float], tuple[float, float]]
    """The fewest and the most votes of all candidates of so many reports, each overstepped with at most some chance."""
    independent: bool
    """Whether the votes for different candidates are, given what is held; they must be negatively associated anyway."""


def _unary_total(randomizer: Unary, reports: int, level: float) -> tuple[float, float]:
    bits = reports * randomizer.candidates
    held = reports * min(randomizer.bound, randomizer.candidates)
    return _lowest(bits, 0, randomizer.channel, level), _highest(bits, held, randomizer.channel, level)


def _selection_total(randomizer: SubsetSelection, reports: int, level: float) -> tuple[float, float]:
    channel = randomizer.channel
    contributions = channel.trials(reports)
    cast = contributions * randomizer.subset_size
    fewest_null = _lowest(contributions, 0, channel, level)
    most_null = min(_highest(contributions, contributions, channel, level), contributions)
    return cast - most_null, cast - fewest_null


PLAUSIBILITY: Table[Plausibility] = Table(
    "limits of plausible votes for the randomizer",
    "neologue.discovery.plausibility",
    {
        Unary.name: Plausibility(_unary_total, independent=True),
        SubsetSelection.name: Plausibility(_selection_total, independent=False),
    },
)


def _total(layer: Layer | ClosedLayer, tally: Tally) -> Iterator[str]:
    total = int(tally.votes.sum())
    level = FALSE_ALARM / TESTS / 2
    fewest, most = PLAUSIBILITY[layer.randomizer.name].total(layer.randomizer, tally.reports, level)
    if total < fewest:
        yield (
            f"All candidates together lack at least {100 * (1 - total / fewest):.2g} % of the votes that noise alone "
            "gives: some reports have fewer than a device sends."
        )
    if total > most:
        yield (
            f"All candidates together have at least {100 * (total / most - 1):.2g} % more votes than if every device "
            f"held {layer.bound} of them: some reports have more than a device sends."
        )


def _largest(layer: Layer | ClosedLayer, tally: Tally) -> Iterator[str]:
    channel = layer.randomizer.channel
    contributions = channel.trials(tally.reports)
    level = FALSE_ALARM / TESTS / len(tally.votes)
    groups = [(tally.votes, tally.reports)]
    if isinstance(layer, ClosedLayer):
        # A sample may be of words outside the list alone, and these may all have one element.
        listed, repeats = layer.domain.listed, layer.domain.repeats
        groups = [(tally.votes[:listed], tally.reports), (tally.votes[listed:], tally.reports * repeats)]
    limits = [min(_highest(contributions, held, channel, level), contributions) for _, held in groups]
    if any(votes.max(initial=0) > limit for (votes, _), limit in zip(groups, limits, strict=True)):
        yield (
            f"A candidate has more votes than if every device held it: a device votes for what it holds with a chance "
            f"of {float(channel.p):.2g} only, so some reports vote for it on purpose."
        )


def _bulk(layer: Layer | ClosedLayer, tally: Tally) -> Iterator[str]:
    channel = layer.randomizer.channel
    contributions, noise = channel.trials(tally.reports), float(channel.q)
    edges = np.unique(np.asarray(binom.ppf(BULK, contributions, noise), np.int64))
    votes = np.bincount(np.minimum(tally.votes, edges[-1] + 1), minlength=int(edges[-1]) + 2)
    seen = [*np.cumsum(votes)[edges].tolist(), len(tally.votes)]
    expected = [*binom.cdf(edges, contributions, noise).tolist(), 1.0]
    last = len(edges)
    pairs = [
        (low, high)
        for low in range(last)
        for high in range(low + 1, last + 1)
        if high == last or PLAUSIBILITY[layer.randomizer.name].independent
    ]
    level = FALSE_ALARM / TESTS / len(pairs)
    odd = []
    for low, high in pairs:
        part = min(1.0, expected[low] / expected[high] * (1 + ROUNDING)) if expected[high] else 1.0
        if seen[low] > seen[high] * part + _margin(seen[high] * part * (1 - part), level):
            odd.append((part, seen[low] / seen[high]))
    if odd:
        part, found = max(odd, key=lambda shares: shares[1] - shares[0])
        yield (
            f"The votes that noise gives are not those of {tally.reports:,} devices: {100 * found:.3g} % of the "
            f"candidates looked at have as few as at most {100 * part:.3g} % should. It is as if some reports "
            "were empty, or copies of each other."
        )


def _thermometer(layer: Layer | ClosedLayer, tally: Tally) -> Iterator[str]:
    if not isinstance(layer, ClosedLayer) or not layer.domain.is_nested:
        return
    votes = tally.votes[layer.domain.listed :]
    pairs = max(1, len(votes) * (len(votes) - 1) // 2)
    rise = int((votes - np.minimum.accumulate(votes)).max())
    if rise > math.sqrt(tally.reports * math.log(pairs * TESTS / FALSE_ALARM)):
        yield (
            "More reports tell of many words outside the list than of few: no device sets the bits of their number "
            "so, and some reports do it on purpose."
        )


def _lowest(bits: int, held: int, channel: Channel, level: float) -> float:
    """What the votes from so many bits, so many of them held, fall below with a chance of at most `level`."""
    mean, variance = _moments(bits, held, channel)
    return max(0.0, mean - _margin(variance, level))


def _highest(bits: int, held: int, channel: Channel, level: float) -> float:
    """What the votes from so many bits, so many of them held, exceed with a chance of at most `level`."""
    mean, variance = _moments(bits, held, channel)
    return mean + _margin(variance, level)


def _moments(bits: int, held: int, channel: Channel) -> tuple[float, float]:
    p, q = float(channel.p), float(channel.q)
    return held * p + (bits - held) * q, held * p * (1 - p) + (bits - held) * q * (1 - q)


def _margin(variance: float, level: float) -> float:
    """The t at which Bernstein's bound is `level`."""
    nats = -math.log(level)
    return nats / 3 + math.sqrt(nats * nats / 9 + 2 * nats * variance)
