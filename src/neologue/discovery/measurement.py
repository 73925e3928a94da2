"""How much of what users hold a release covers, and how many hold each of its words: measured, not guessed.

The list of words was fixed before any of these users was asked, so no figure here is pushed up by selection.

**What is estimated.** Of m words that count, a user samples min(B, m) at random (or fewer, with a rate below 1): I of
them on the list, t not. The coverage measured is E I / (E I + E t) over all users. If nobody has more than B words to
sample from, that is the share of all pairs of a user and a word they hold, as a simulation scores it. If some have,
they count with B words instead of m, and where those who hold many words hold rarer ones, it is too high. A rate so
small that hardly anybody has more than B words drawn makes it right again, and leaves fewer words to tell it by.

**The interval of the coverage** is that of Fieller (1954): all R for which (1-R)·Î - R·Ô is within 1.96 standard
deviations of 0, where Î and Ô estimate how many sampled words of n reports are on the list and how many are not. The
variance has two parts. What the randomizers add follows from their probabilities. What the choice of users adds is
n·E e² at most, e = (1-R)·I - R·t. Sums can't tell it, for who holds what together is what they hide. But I ≤ B - t, so
that E I² ≤ B·E I - E It, and E e² ≤ (1-R)²·B·E I + R²·E t². So the interval holds the coverage at least 95 times of
100, and is wider than if users were asked in the open.

**The interval of a word** inverts the law of its votes, as in `estimates`, each word by itself: about 5 % of them miss.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.estimates import Estimates, VoteLaw, estimate_holders
from neologue.discovery.tally import Tally
from neologue.language.candidates import strings
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.collection import Batch
from neologue.protocol.closed_layer import ClosedLayer
from neologue.randomizers.channel import Channel
from neologue.randomizers.closed import ClosedDomain, Totals, closed_domain

SPREAD = 1.959964
"""Standard deviations on each side that hold 95 % of a normal law."""


@dataclass(frozen=True)
class MeasuredWord:
    """A released word, and how many users of the campaign would count it, going by those who measured.

    They hold the word and have it in a random sample of at most B of all their new words. It is divided by the rate, so
    that everybody who holds the word counts if samples are never full.
    """

    word: str
    votes: int
    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Share:
    """A share between 0 and 1, with an interval that holds it at least 95 times of 100."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class Measurement:
    """What users who took no part in a discovery say of its words."""

    asked: int
    """How many were to measure, whether or not a word was released."""
    reports: int
    candidates: int
    """The elements of a report: the words, and those for words outside the list; 0 if there was nothing to ask."""
    rate: float
    decided: bool
    """Whether enough reports came; if not, nothing of the measurement is released."""
    other_votes: tuple[int, ...] = ()
    """For the words outside the list: of unary, for the samples with at least 1, 2, … B of them."""
    coverage: Share | None = None
    """None if no word at all comes through the noise."""
    words: tuple[MeasuredWord, ...] = ()
    """In the order of the list."""
    digest: str | None = None
    """The hex digest of the document that its devices were given; None if nobody was asked."""


def closed_layer(campaign: Campaign, words: Iterable[str], measuring: Measuring) -> ClosedLayer:
    """What those who measure are asked, to count the words that a campaign has found."""
    return ClosedLayer(
        layer_size=measuring.users,
        alphabet=campaign.alphabet,
        words=strings(sorted(words)),
        depth=campaign.parameters.depth,
        mechanism=campaign.parameters.randomizer,
        epsilon=campaign.epsilon,
        bound=campaign.parameters.words_per_user,
        known=campaign.known,
        targets=campaign.targets,
        rate=measuring.rate,
        form=campaign.form,
    )


def usual_measuring(campaign: Campaign, rate: float = 1.0) -> Measuring:
    """Of a campaign's users as many as a layer would have with one layer more; fewer would make the ε larger."""
    return Measuring(campaign.users // (len(foreseen_collection(campaign).batches) + 1), rate)


def foreseen_batch(campaign: Campaign, measuring: Measuring) -> Batch:
    """What measuring will collect, as far as can be told: as if as many words were found as a layer keeps prefixes."""
    parameters = campaign.parameters
    domain = closed_domain(parameters.randomizer, parameters.frontier, campaign.epsilon, parameters.words_per_user)
    return Batch(parameters.counted_reports(measuring.users), domain.randomizer.candidates)


def nothing_to_measure(measuring: Measuring) -> Measurement:
    """The measurement of a release without words, for which nobody is asked."""
    return Measurement(asked=measuring.users, reports=0, candidates=0, rate=measuring.rate, decided=False)


def evaluate_measurement(layer: ClosedLayer, tally: Tally, campaign: Campaign) -> Measurement:
    """What the votes of a closed layer say, about the users that the campaign is for."""
    candidates, listed = layer.randomizer.candidates, len(layer.words)
    if tally.reports < campaign.fewest_reports(candidates):
        return Measurement(
            layer.layer_size, tally.reports, candidates, layer.rate, decided=False, digest=layer.digest.hex()
        )
    drawn = campaign.parameters.drawn
    share, held = figures(layer.domain, tally, layer.rate, layer.layer_size, campaign.users, drawn=drawn)
    columns = (tally.votes[:listed], held.estimate, held.low, held.high)
    rows = zip(layer.words.tolist(), *(column.tolist() for column in columns), strict=True)
    return Measurement(
        asked=layer.layer_size,
        reports=tally.reports,
        candidates=candidates,
        rate=layer.rate,
        decided=True,
        other_votes=tuple(tally.votes[listed:].tolist()),
        coverage=share,
        words=tuple(MeasuredWord(*row) for row in rows),
        digest=layer.digest.hex(),
    )


def figures(
    domain: ClosedDomain, tally: Tally, rate: float, asked: int, users: int, *, drawn: bool = False
) -> tuple[Share | None, Estimates]:
    """The coverage, and each listed word's holders: a function of the votes of so many asked, beside so many users.

    Those asked are drawn from all of these together, so many of them or, if slots are `drawn`, so many on average. What
    is found of all is stated for the users alone.
    """
    votes, everybody = tally.votes[: domain.listed], users + asked
    law = VoteLaw(thin(domain.randomizer.channel, rate), tally.reports, everybody, asked if drawn else None)
    held = estimate_holders(law, votes, np.zeros_like(votes))
    part = users / everybody
    return (
        coverage(domain.totals(tally.votes, tally.reports), domain.bound),
        Estimates(part * held.estimate, part * held.low, part * held.high),
    )


def thin(channel: Channel, rate: float) -> Channel:
    """The channel of a word that comes into a sample with a chance of `rate` alone."""
    return Channel(channel.q + Fraction(rate) * (channel.p - channel.q), channel.q, channel.contributions)


def coverage(totals: Totals, bound: int) -> Share | None:
    """The share of sampled words that are on the list; None if the words sampled do not come through the noise."""
    listed, others = totals.listed, totals.others
    together = listed + others
    if together <= 0:
        return None
    # The variance of (1-R)·Î - R·Ô is at most (1-R)²·a - 2R(1-R)·b + R²·c.
    a = totals.listed_variance + bound * max(listed, 0.0)
    b = totals.covariance
    c = totals.others_variance + totals.others_squares
    # (Î - R·(Î+Ô))² ≤ z²·variance, as a quadratic in R.
    z = SPREAD**2
    second = together**2 - z * (a + 2 * b + c)
    first = listed * together - z * (a + b)
    zeroth = listed**2 - z * a
    root = first**2 - second * zeroth
    estimate = min(max(listed / together, 0.0), 1.0)
    if second <= 0 or root < 0:
        return Share(estimate, 0.0, 1.0)
    low, high = ((first + sign * math.sqrt(root)) / second for sign in (-1, 1))
    return Share(estimate, min(max(low, 0.0), estimate), max(min(high, 1.0), estimate))
