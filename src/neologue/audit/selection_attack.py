"""An attack on Subset Selection reports, where a vote is a place in a subset of exactly d.

Let α be the mean probability that a word's own subset contains it. The event of a pair is that the subset contains w
and not x. Because a subset has d of s elements, whoever made it, the mean probability of this is α(s-d)/(s-1) for
devices that hold w, and (1-α)d/(s-1) for those that hold x: the rarer side is known from the other, and ε ≥
ln(α(s-d)/((1-α)d)). γ, which stands for a word that a device lacks, is drawn like any word.

For a report of one word this assumes nothing. Of B words, the report does not say whose a subset is; there, the average
number of words held in a subset is α + (B-1)(d-α)/(s-1), if each subset speaks of one word alone and their order is
random. The coincidences below look for what would break that.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from neologue.audit.attack import DEVIATIONS, UNLUCKY, Attack, AttackResult, Chance, Columns, Held
from neologue.audit.coincidences import Coincidence, fingerprint, matches, overlaps, repeats, ties
from neologue.audit.mean_bounds import least_mean, least_share, margin
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_payload
from neologue.randomizers.expansion import SEED_BYTES
from neologue.randomizers.subset_selection import SubsetSelection

SEED_BITS = 8 * SEED_BYTES

Bools = NDArray[np.bool_]


class SelectionAttack(Attack):
    """Looks at the subsets of all words of a report, and at how they were moved."""

    noise_votes = 4

    def __init__(self, randomizer: SubsetSelection) -> None:
        self.randomizer = randomizer
        self.bound, self.size, self.domain = randomizer.bound, randomizer.subset_size, randomizer.domain
        self.truth = float(randomizer.channel.p)
        self.crowd = (self.bound - 1) / (self.domain - 1)
        mean, deviation = self._votes(self.truth)
        self.most_votes = math.ceil(self.bound * (mean + DEVIATIONS * deviation))
        """More votes for words held than this count as this many; that can only lower the bound."""

    @property
    def words(self) -> int:
        """Every candidate and γ."""
        return self.domain

    def look(self, layer: Layer, held: Sequence[Held], reports: Sequence[bytes]) -> Columns:
        """The votes for words held, where in their subsets they are, and which draws of a report or two agree."""
        rows, hits, offsets, prints = [], [], [], []
        for own, report in zip(held, reports, strict=True):
            moved = self.randomizer.decode(read_payload(layer, report))
            subsets = (self.randomizer.expand(moved.seed) + moved.offsets[:, None]) % self.domain
            inside = np.isin(subsets, own)
            votes = inside.sum(axis=1)
            rows.append((votes.sum(), (votes > 0).sum(), *self._draws(inside, votes), _twins(moved.offsets)))
            hits.append(votes > 0)
            offsets.append(moved.offsets)
            prints.append((fingerprint(moved.seed), _rank(subsets[0], inside[0], own)))
        pairs = range(0, len(reports) - 1, 2)
        both = [(hits[k] & hits[k + 1], hits[k], hits[k + 1], offsets[k] == offsets[k + 1]) for k in pairs]
        return {
            "report": np.array(rows, np.int64).reshape(-1, 5),
            "print": np.array(prints, np.int64).reshape(-1, 2),
            "shared": np.array([[sums.sum() for sums in pair] for pair in both], np.int64).reshape(-1, 4),
        }

    def _votes(self, own: float) -> tuple[float, float]:
        """The mean and standard deviation, over reports, of the average number of words held in a subset."""
        other = (self.size - own) / (self.domain - 1)
        variance = own * (1 - own) + (self.bound - 1) * other * (1 - other)
        return own + (self.bound - 1) * other, math.sqrt(variance / self.bound)

    def _draws(self, inside: Bools, votes: Held) -> tuple[int, int]:
        """Of subsets 1 and 2, 3 and 4, … with one word held each: how many there are, and at the same place in both."""
        positions = inside.argmax(axis=1)
        first, second = slice(0, self.bound - 1, 2), slice(1, self.bound, 2)
        single = (votes[first] == 1) & (votes[second] == 1)
        return int(single.sum()), int((single & (positions[first] == positions[second])).sum())

    def evidence(self, seen: Columns, risk: float) -> AttackResult:
        """The share of words that their own subset contains, from the votes for all words held."""
        votes = np.minimum(seen["report"][:, 0], self.most_votes)
        total, of = int(votes.sum()), len(votes) * self.bound
        if self.bound == 1:
            least = least_share(total, of, risk)
        else:
            least = self._own(least_mean(votes / self.bound, self.most_votes / self.bound, risk))
        return AttackResult(
            "a subset with the one word and without the other",
            Chance(total, of, max(0.0, least)),
            Chance(max(0, of - total) * self.size, of * (self.domain - 1), self._rarer(least)),
            self._epsilon(least),
        )

    def _own(self, votes: float) -> float:
        """α, at least, from the average number of words held in a subset."""
        return (votes - self.crowd * self.size) / (1 - self.crowd)

    def _rarer(self, own: float) -> float:
        return (1 - max(0.0, own)) * self.size / (self.domain - 1)

    def _epsilon(self, own: float) -> float:
        if own <= 0:
            return 0.0
        return max(0.0, math.log(own * (self.domain - self.size) / (max(1e-300, 1 - own) * self.size)))

    def coincidences(self, seen: Columns) -> list[Coincidence]:
        """Seeds, offsets and hits that come again in the next report or the next subset, and words in a fixed place."""
        reports = len(seen["report"])
        _, hits, singles, same_place, twins = seen["report"].T
        shared, first, second, same_offset = seen["shared"].T
        without = self._log_without()
        hit = 1 - (1 - self.truth) * math.exp(without)
        found = [
            repeats("reports whose seed is that of another", seen["print"][:, 0], 2.0**-SEED_BITS),
            matches(
                "offsets equal in two reports in a row",
                int(same_offset.sum()),
                len(first) * self.bound,
                1 / self.domain,
            ),
            ties("two reports in a row with as many subsets that hold a word", hits, self.bound, hit),
        ]
        if self.bound == 1:
            return found
        positions = np.full_like(first, self.bound)
        ranks = seen["print"][:, 1]
        most = int(np.bincount(ranks[ranks >= 0], minlength=1).max())
        share = self.truth / self.bound + (1 - 1 / self.bound) * float(self.randomizer.channel.q)
        first_place = matches("the first subset holds one and the same word, by its rank", most, reports, share)
        return [
            *found,
            overlaps("subsets that hold a word in two reports in a row", shared, first, second, positions),
            matches(
                "offsets equal in two subsets of a report",
                int(twins.sum()),
                reports * (self.bound // 2),
                1 / self.domain,
            ),
            matches(
                "words at one place in two subsets of a report",
                int(same_place.sum()),
                int(singles.sum()),
                1 / self.size,
            ),
            # The rank was chosen as the one seen most often, of B.
            Coincidence(
                first_place.what, most, reports, first_place.expected, min(1.0, self.bound * first_place.chance)
            ),
        ]

    def _log_without(self) -> float:
        """The logarithm of the probability that a subset without its own word has none of the B-1 others either."""
        n, others, d = self.domain - 1, self.bound - 1, self.size
        if n - others < d:
            return -math.inf
        return (
            math.lgamma(n - others + 1) - math.lgamma(n - others - d + 1) - math.lgamma(n + 1) + math.lgamma(n - d + 1)
        )

    def likely_bound(self, reports: int, epsilon: float, risk: float) -> float:
        """From the mean and the variance of the votes for words held."""
        odds = self.size * math.exp(epsilon)
        own = odds / (odds + self.domain - self.size)
        if self.bound == 1:
            unlucky = reports * own - UNLUCKY * math.sqrt(reports * own * (1 - own))
            return self._epsilon(least_share(math.floor(unlucky), reports, risk))
        mean, deviation = self._votes(own)
        unlucky = mean - UNLUCKY * deviation / math.sqrt(reports)
        return self._epsilon(self._own(unlucky - margin(deviation, self.most_votes / self.bound, reports, risk)))


def _twins(offsets: Held) -> int:
    """How many of subsets 1 and 2, 3 and 4, … are moved equally far."""
    even = len(offsets) // 2 * 2
    return int((offsets[:even:2] == offsets[1:even:2]).sum())


def _rank(subset: Held, inside: Bools, own: Held) -> int:
    """Which of the words held, in order, a subset contains; -1 unless it is a single one."""
    return int(np.searchsorted(own, subset[inside][0])) if inside.sum() == 1 else -1
