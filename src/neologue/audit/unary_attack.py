"""An attack on unary reports, where a vote is a bit.

The event of a pair is that the bit of w is 1, that of x is 0, and that the whole report has at most c ones, c being
five standard deviations above the mean. With p = 1/2 it has probability (1-q)/2 for devices that hold w, and q/2 for
those that hold x, all but the same as without c. But because of c, the average over all pairs of a report on the rarer
side is never above c/m, with m candidates that are not held, instead of 1. That is what lets a few thousand reports
bound an average of q/2: without such a limit, it could always come from rare reports full of ones, none of them seen.
"""

import math
from collections.abc import Sequence

import numpy as np

from neologue.audit.attack import DEVIATIONS, UNLUCKY, Attack, AttackResult, Chance, Columns, Held
from neologue.audit.coincidences import Coincidence, fingerprint, overlaps, repeats, ties
from neologue.audit.mean_bounds import largest_mean, least_mean, margin
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_payload
from neologue.randomizers.unary import Unary


class UnaryAttack(Attack):
    """Looks at the bits of all candidates, held or not."""

    noise_votes = 64

    def __init__(self, randomizer: Unary) -> None:
        self.code = randomizer.code
        self.candidates, self.bound = randomizer.candidates, randomizer.bound
        self.noise = float(randomizer.channel.q)
        self.others = self.candidates - self.bound
        """How many candidates a device does not hold."""
        mean = self.others * self.noise + self.bound / 2
        deviation = math.sqrt(self.others * self.noise * (1 - self.noise) + self.bound / 4)
        self.most_ones = min(self.candidates, math.ceil(mean + DEVIATIONS * deviation))
        self.largest = min(1.0, self.most_ones / self.others)
        """The most that a report can add to the average of the rarer side."""

    @property
    def words(self) -> int:
        """Every candidate."""
        return self.candidates

    def look(self, layer: Layer, held: Sequence[Held], reports: Sequence[bytes]) -> Columns:
        """The ones of each report among the candidates held and among the others, and what two in a row share.

        A service refuses reports with more ones than an honest device sends. The attack reads them: who sends them is
        audited, too.
        """
        votes = [self.code.decode_any(read_payload(layer, report)) for report in reports]
        noise = [ones[~np.isin(ones, own)] for ones, own in zip(votes, held, strict=True)]
        counts = [len(ones) for ones in noise]
        shared = []
        for k in range(0, len(reports) - 1, 2):
            # Only places that neither device holds: a word would show as an agreement.
            first, second = noise[k][~np.isin(noise[k], held[k + 1])], noise[k + 1][~np.isin(noise[k + 1], held[k])]
            either = len(np.union1d(held[k], held[k + 1]))
            shared.append((np.isin(first, second).sum(), len(first), len(second), self.candidates - either))
        return {
            "held": np.array([len(ones) for ones in votes], np.int64) - counts,
            "noise": np.array(counts, np.int64),
            "print": np.array([fingerprint(ones.tobytes()) for ones in noise], np.int64),
            "shared": np.array(shared, np.int64).reshape(-1, 4),
        }

    def evidence(self, seen: Columns, risk: float) -> AttackResult:
        """The mean share of pairs whose word held has its vote and the other not, against the reverse."""
        held, noise = seen["held"], seen["noise"]
        counted = held + noise <= self.most_ones
        pairs = self.bound * self.others
        right = counted * held * (self.others - noise)
        wrong = counted * (self.bound - held) * noise
        least = least_mean(right / pairs, 1.0, risk / 2)
        largest = largest_mean(wrong / pairs, self.largest, risk / 2)
        return AttackResult(
            "a vote for the one word and none for the other",
            Chance(int(right.sum()), pairs * len(held), max(0.0, least)),
            Chance(int(wrong.sum()), pairs * len(held), largest),
            max(0.0, math.log(least / largest)) if least > 0 else 0.0,
        )

    def coincidences(self, seen: Columns) -> list[Coincidence]:
        """Noise that comes again, and counts that agree because bits share a coin."""
        # Two reports of equal noise agree at least wherever neither device holds anything.
        alike = (self.noise**2 + (1 - self.noise) ** 2) ** max(0, self.candidates - 2 * self.bound)
        return [
            repeats("reports whose noise is that of another", seen["print"], alike),
            overlaps("noise bits that two reports in a row share", *seen["shared"].T),
            ties("two reports in a row with as many votes for words held", seen["held"], self.bound, 0.5),
            ties("two reports in a row with as many noise bits", seen["noise"], self.others, self.noise),
        ]

    def likely_bound(self, reports: int, epsilon: float, risk: float) -> float:
        """From the means and variances of both sides, which depend on each other through the votes for words held."""
        noise = 1 / (math.exp(epsilon) + 1)
        spread = noise * (1 - noise) / self.others
        square, cross = (1 + 1 / self.bound) / 4, (1 - 1 / self.bound) / 4
        right, wrong = (1 - noise) / 2, noise / 2
        right_variance = square * ((1 - noise) ** 2 + spread) - right**2
        wrong_variance = square * (noise**2 + spread) - wrong**2
        covariance = cross * (noise * (1 - noise) - spread) - right * wrong
        least = right - margin(math.sqrt(right_variance), 1.0, reports, risk / 2)
        largest = wrong + margin(math.sqrt(wrong_variance), self.largest, reports, risk / 2)
        if least <= 0:
            return 0.0
        variance = right_variance / least**2 + wrong_variance / largest**2 - 2 * covariance / (least * largest)
        return math.log(least / largest) - UNLUCKY * math.sqrt(variance / reports)
