"""A model of how users type: how much, and with which favourite words.

Every parameter is taken from a published source, and none was fitted to a result of ours.

How much. Users of text messages send or receive 10 messages a day in the median and 41.5 on average (Smith,
Americans and Text Messaging, Pew Research Center 2011); half of them are taken as sent. A log-normal with
that median and mean has σ = √(2 ln 4.15) = 1.69. A message has 17.2 words (Tagg, A corpus linguistics study
of SMS text messaging, Birmingham 2009).

Favourites. A user's rate of a word is its share in the language times a gamma variable of the user's own, so that
counts are negative binomial, as words in documents are (Church and Gale, Poisson mixtures, 1995): the rates of one user
form a gamma process of concentration A. A user who types n words then draws A·ln(1 + n/A) times from the language on
average, and types each draw again and again. A is set so that the median user, at 5160 words in 60 days, draws
44·n^0.49 = 2902 times, which is Heaps' law for RCV1 (Manning, Raghavan and Schütze, Introduction to Information
Retrieval, 2008, section 5.1.1). Draws repeat: in English that median user has 1335 different words, known ones
included, fewer than Heaps' law says; no A would reach it with these frequencies.

Restricted to words outside a dictionary, with a share ρ of all typed words, this is again a gamma process, of
concentration ρA, and it can be drawn without drawing every typed word: a user with m such words typed on
average holds Poisson(ρA·ln(1 + m/ρA)) draws from the language's frequencies, each typed a logarithmic number
of times with parameter m/(m + ρA) (Quenouille 1949); a word drawn twice adds up.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from neologue.populations.alias_table import build_alias_table
from neologue.populations.holdings import Holdings
from neologue.populations.random64 import Random64, seed_generators
from neologue.populations.streams import Stream, generator
from neologue.populations.typing_kernel import draw_users

MEDIAN_MESSAGES_A_DAY = 10 / 2
MEAN_TO_MEDIAN = 41.5 / 10
WORDS_PER_MESSAGE = 17.2
HEAPS_DAYS = 60
HEAPS_FACTOR, HEAPS_EXPONENT = 44.0, 0.49

MEDIAN_WORDS_A_DAY = MEDIAN_MESSAGES_A_DAY * WORDS_PER_MESSAGE
VOLUME_SIGMA = math.sqrt(2 * math.log(MEAN_TO_MEDIAN))


def concentration() -> float:
    """A: the concentration at which the median user draws as often in 60 days as Heaps' law has different words."""
    from scipy.optimize import brentq  # slow to import

    words = MEDIAN_WORDS_A_DAY * HEAPS_DAYS
    draws = HEAPS_FACTOR * words**HEAPS_EXPONENT
    return float(brentq(lambda a: a * math.log1p(words / a) - draws, 1.0, 1e9))


@dataclass(frozen=True)
class TypingModel:
    """The law of the words outside the dictionary that one user holds."""

    share: float
    """ρ: the share of these words among all typed."""
    concentration: float
    """ρA."""
    days: int
    table: Random64
    shares: NDArray[np.float64]
    """Each word's share of the draws."""

    @classmethod
    def of(cls, shares: NDArray[np.float64], days: int) -> "TypingModel":
        """The model for words with these shares of all typed words, over a number of days."""
        total = float(shares.sum())
        return cls(total, total * concentration(), days, build_alias_table(shares / total), shares / total)

    def draws(self, deviations: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean number of draws of users whose volume is this many standard deviations above the median."""
        typed = MEDIAN_WORDS_A_DAY * self.days * self.share * np.exp(VOLUME_SIGMA * deviations)
        return self.concentration * np.log1p(typed / self.concentration)

    def draw(self, users: int, *seed: int, counted: bool) -> Holdings:
        """The holdings of a number of users; drawing with counts takes a few times as long."""
        volumes, words, times = (
            generator(Stream.VOLUMES, *seed),
            seed_generators(Stream.WORDS, *seed),
            seed_generators(Stream.TIMES, *seed),
        )
        log_median = math.log(MEDIAN_WORDS_A_DAY * self.days * self.share)
        drawn = draw_users(
            volumes, words, times, users, log_median, VOLUME_SIGMA, self.concentration, self.table, counted
        )
        return Holdings(*drawn)
