"""Reports on a closed list of words that also count how many words are outside it.

A sample has some words of the list and t others; together they are at most B. What a sum of reports says of the share
of the list needs both, so the others have elements of their own in the domain.

**Unary: a thermometer.** B bits more, of which a device holds the first t. So what it holds is again a set of at most B
elements, and replacing one word of the sample still replaces at most one of them: a listed word by a listed one changes
their two bits; a listed one by another changes its bit and bit t+1 of the thermometer; two others change nothing. The
local promise, and every statement on sums, is that of `neologue.randomizers.unary` for |W| + B candidates. Writing t as
a binary number would not do: from 3 to 4 it changes three bits, and a listed word's makes four.

**Subset Selection: an element `other`.** Each of the B words is an element of its own, whatever the others are, so that
`other` may be among them t times. It is not γ, which says that there is no word.

Both estimators are unbiased, given the samples. With c = p - q, the sums of all listed votes V and of the votes for
others U give Î = (V - E₀V)/c and Ô = (U - E₀U)/c, E₀ being the mean if nobody had a word. Unary votes are independent.
Of Subset Selection, a subset has d elements, so its listed ones are d less those of `other` and γ, and three
probabilities are all that the covariance of V and U needs.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary
from neologue.table import Table

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Totals:
    """How many sampled words of all reports are on the list and how many are not, as estimated, and how surely."""

    listed: float
    others: float
    listed_variance: float
    """The variances and the covariance that the randomizers add, given the samples."""
    others_variance: float
    covariance: float
    others_squares: float
    """The sum over reports of t², or a bound above it."""


@dataclass(frozen=True)
class ClosedDomain(ABC):
    """The elements of a report that stand for the words of a closed list, and those for whatever is outside it."""

    mechanism: ClassVar[type[Randomizer[Any]]]

    listed: int
    epsilon: float
    bound: int

    @property
    @abstractmethod
    def outside(self) -> int:
        """How many elements there are for words outside the list, behind those of the list."""

    @property
    @abstractmethod
    def repeats(self) -> int:
        """How many contributions of one report may hold the same element outside the list."""

    @property
    @abstractmethod
    def is_nested(self) -> bool:
        """Whether a sample that holds an element outside the list also holds all such elements before it."""

    @cached_property
    def randomizer(self) -> Randomizer[Any]:
        """The randomizer of the reports."""
        return self.mechanism(self.listed + self.outside, self.epsilon, self.bound)

    @abstractmethod
    def held(self, listed: Integers, others: int) -> Integers:
        """The elements that a sample holds: those of its listed words, then those of so many others."""

    @abstractmethod
    def totals(self, votes: Integers, reports: int) -> Totals:
        """What the votes of so many reports say of all samples together."""

    def _estimates(self, votes: Integers, reports: int) -> tuple[float, float]:
        """Î and Ô."""
        channel = self.randomizer.channel
        noise = channel.trials(reports) * float(channel.q)
        listed, others = float(votes[: self.listed].sum()), float(votes[self.listed :].sum())
        return (listed - self.listed * noise) / channel.gain, (others - self.outside * noise) / channel.gain


@dataclass(frozen=True)
class Thermometer(ClosedDomain):
    """A closed list in a unary report."""

    mechanism: ClassVar[type[Randomizer[Any]]] = Unary

    @property
    def outside(self) -> int:
        """One bit for each word that a sample can have."""
        return self.bound

    @property
    def repeats(self) -> int:
        """A report has one bit for each element."""
        return 1

    @property
    def is_nested(self) -> bool:
        """Bit j+1 is held only by those who hold bit j."""
        return True

    def held(self, listed: Integers, others: int) -> Integers:
        """The first bits of the thermometer say how many others there are."""
        return np.concatenate([listed, self.listed + np.arange(others)])

    def totals(self, votes: Integers, reports: int) -> Totals:
        """Bits are independent; bit j of the thermometer counts the samples with at least j others."""
        channel = self.randomizer.channel
        listed, others = self._estimates(votes, reports)
        at_least = channel.estimate(votes[self.listed :], reports)
        squares = float((2 * np.arange(1, self.bound + 1) - 1) @ at_least)
        most = self.bound * max(others, 0.0)
        return Totals(
            listed,
            others,
            listed_variance=self._variance(listed, self.listed * reports),
            others_variance=self._variance(others, self.outside * reports),
            covariance=0.0,
            others_squares=min(max(squares, others, 0.0), most),
        )

    def _variance(self, held: float, bits: int) -> float:
        """The variance of an estimate from so many bits, so many of which are held."""
        channel = self.randomizer.channel
        return float(channel.variance(min(max(held, 0.0), bits), bits)) / channel.gain**2


@dataclass(frozen=True)
class SelectionWithOther(SubsetSelection):
    """Subset Selection whose last candidate stands for any word outside the list: a sample may hold it repeatedly."""

    def check_held(self, held: Integers) -> None:
        """Refuse a sample that the privacy statement does not cover."""
        super().check_held(held[held != self.candidates - 1])
        if len(held) > self.bound:
            raise ValueError(f"{len(held)} words held, but a report covers at most {self.bound}")


@dataclass(frozen=True)
class OtherSymbol(ClosedDomain):
    """A closed list in a Subset Selection report."""

    mechanism = SelectionWithOther

    @cached_property
    def randomizer(self) -> SelectionWithOther:
        """The randomizer of the reports."""
        return self.mechanism(self.listed + self.outside, self.epsilon, self.bound)

    @property
    def outside(self) -> int:
        """One element, however many words are outside."""
        return 1

    @property
    def repeats(self) -> int:
        """All words of a sample may be outside the list."""
        return self.bound

    @property
    def is_nested(self) -> bool:
        """There is only one element."""
        return False

    def held(self, listed: Integers, others: int) -> Integers:
        """The same element for each of the others."""
        return np.concatenate([listed, np.full(others, self.listed)])

    def totals(self, votes: Integers, reports: int) -> Totals:
        """A subset's listed elements are d less `other` and γ, if it has them."""
        selection = self.randomizer
        channel, size, domain = selection.channel, selection.subset_size, selection.domain
        p, q, gain = float(channel.p), float(channel.q), channel.gain
        listed, others = self._estimates(votes, reports)
        words = channel.trials(reports)
        on_others = min(max(others, 0.0), words)
        on_listed = min(max(listed, 0.0), words - on_others)
        on_null = words - on_others - on_listed
        # The chance that a subset has both `other` and γ, if the word is one of them and if it is on the list.
        both_own = p * (size - 1) / (domain - 1)
        both_listed = (size - 1) * (p * (size - 2) + (1 - p) * size) / ((domain - 1) * (domain - 2))
        other = on_others * p * (1 - p) + (words - on_others) * q * (1 - q)
        null = on_null * p * (1 - p) + (words - on_null) * q * (1 - q)
        both = (on_others + on_null) * (both_own - p * q) + on_listed * (both_listed - q * q)
        return Totals(
            listed,
            others,
            listed_variance=(other + null + 2 * both) / gain**2,
            others_variance=other / gain**2,
            covariance=-(other + both) / gain**2,
            others_squares=self.bound * max(others, 0.0),
        )


CLOSED_DOMAINS: Table[type[ClosedDomain]] = Table(
    "closed domain for the randomizer",
    "neologue.randomizers.closed",
    {domain.mechanism.name: domain for domain in (Thermometer, OtherSymbol)},
)


def closed_domain(mechanism: str, listed: int, epsilon: float, bound: int) -> ClosedDomain:
    """The domain of a list of so many words for the randomizer of that name."""
    return CLOSED_DOMAINS[mechanism](listed, epsilon, bound)
