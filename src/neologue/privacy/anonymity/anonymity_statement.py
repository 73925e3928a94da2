"""What a release states of words that few people report: k, unique words, and what protects them in each layer.

`docs/privacy/anonymity.md` has the proofs, and `docs/privacy/statement.md` describes every field.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from neologue.privacy.anonymity.thresholds import MOST_VOTED_LAWS, AnonymityPromise, expected_kept, kept_chance
from neologue.privacy.bound import round_up
from neologue.privacy.collection import Batch
from neologue.randomizers.randomizer import Randomizer

if TYPE_CHECKING:
    from neologue.privacy.statement import LayerShown

K_COVERS = (
    "over all layers, passes and looks of the release together: released words, and prefixes "
    "that devices are told, each by the users whose reports to the layers that judge it speak of it; made-up votes "
    "count as holders"
)
UNIQUE_COVERS = (
    "over all layers, passes and looks of the campaign together: a word that one user alone reports to the "
    "layers that judge it, and every beginning of it that this user alone reports, in whatever devices are told, in "
    "the release, and in what pages, logs and metrics show; not in the sums that the service works on"
)

RandomizerOf = Callable[[Batch], Randomizer[Any]]
"""The randomizer that the devices of a batch used."""


def anonymity_statement(
    promise: AnonymityPromise,
    layers: Sequence["LayerShown"],
    randomizer_of: RandomizerOf,
    frontier: int | None,
) -> dict[str, object]:
    """The parts of a privacy statement about what few report.

    `frontier` is the most candidates kept in a layer if those with the most votes are, whatever their number.
    """
    decided = [_DecidedLayer(promise, layer, randomizer_of(layer.batch), frontier) for layer in layers]
    certain = [layer.k() for layer in decided]
    k = min(certain, default=promise.k)
    return {
        "k_anonymity": _k_anonymity(promise, decided, certain, k, frontier),
        "unique_words": _unique_words(promise, decided),
        "thresholds": [layer.row(k) for layer in decided],
    }


@dataclass(frozen=True)
class _DecidedLayer:
    """A layer with everything that its anonymity follows from."""

    promise: AnonymityPromise
    shown: "LayerShown"
    randomizer: Randomizer[Any]
    frontier: int | None

    @property
    def reports(self) -> int:
        return self.shown.batch.reports

    @property
    def candidates(self) -> int:
        return self.shown.batch.candidates

    def has_votes(self, needed: int) -> bool:
        """Whether everything that was shown has so many votes."""
        return not self.shown.kept or self.shown.fewest_votes >= needed

    def k(self) -> int:
        """The k that the layer's threshold enforces, or that follows from keeping the most voted; 0 if none."""
        enough = self.has_votes(self.promise.votes_for_k(self.randomizer.channel, self.reports))
        enforced = self.promise.k if enough else 0
        law = MOST_VOTED_LAWS[self.randomizer.name]
        if self.frontier is None or law is None:
            return enforced
        return max(enforced, law.k(self.randomizer, self.reports, self.frontier, self.promise.chance))

    def row(self, k: int) -> dict[str, object]:
        """The votes needed of what is new, and with which chance anything has its votes that should not."""
        channel, promise = self.randomizer.channel, self.promise

        def reached_by(holders: int) -> float:
            return min(1.0, round_up(max(self._chance(holders, *judged) for judged in self._judgements())))

        return {
            "reports": self.reports,
            "candidates": self.candidates,
            "votes_for_k": promise.votes_for_k(channel, self.reports),
            "votes_for_unique": promise.votes_for_unique(channel, self.reports),
            "nobody": reached_by(0),
            "one_user": reached_by(1),
            "below_k": reached_by(k - 1) if k else None,
        }

    def _judgements(self) -> Iterator[tuple[tuple[Batch, ...], int]]:
        """By the votes of which layers something is judged here, and the fewest that it needs.

        What is asked about for the first time by those of this layer, what a layer before asked about by all since.
        """
        channel, following = self.randomizer.channel, self.shown.following
        batches = (*self.shown.earlier, self.shown.batch)
        for first in range(len(batches)):
            judging = batches[first:]
            reports = tuple(batch.reports for batch in judging)
            needed = self.promise.summed_votes_needed(channel, reports, following)
            if len(judging) == 1:  # words that are judged once more need more votes than prefixes
                needed = min(needed, self.promise.votes_needed(channel, self.reports))
            yield judging, needed

    def _chance(self, holders: int, judging: Sequence[Batch], votes: int) -> float:
        """That a candidate which so many users of some layers report has so many votes in them."""
        contributions = self.randomizer.channel.trials(sum(batch.reports for batch in judging))
        held = min(holders, contributions)
        return float(kept_chance(self.randomizer.channel, contributions, held, np.array([votes]))[0])

    def expected_below(self, k: int) -> float:
        """At most how many strings that fewer than k users report are kept, on average."""
        most = self.candidates if self.frontier is None else min(self.candidates, self.frontier)
        return min(float(most), sum(self._expected_of(k, *judged) for judged in self._judgements()))

    def _expected_of(self, k: int, judging: Sequence[Batch], votes: int) -> float:
        """The same of what the first of some layers asked about, by the votes of all of them."""
        reports = sum(batch.reports for batch in judging)
        held = reports * self.randomizer.bound
        return expected_kept(self.randomizer.channel, reports, judging[0].candidates, held, k, votes)


def _k_anonymity(
    promise: AnonymityPromise, layers: Sequence[_DecidedLayer], certain: Sequence[int], k: int, frontier: int | None
) -> dict[str, object]:
    """The k for which everything that was published is k-anonymous with certainty α."""
    reasons: dict[str, str] = {}
    if not k:
        reasons["k"] = _why_no_k(promise, layers, certain, frontier)
        reasons["expected_below_k"] = "there is no k"
    printed, none_printed = _printed(promise, layers, frontier)
    if none_printed:
        reasons["printed_lemma"] = none_printed
    return {
        "k": k or None,
        "alpha": promise.alpha,
        "passes": promise.passes,
        "covers": K_COVERS,
        "expected_below_k": round_up(sum(layer.expected_below(k) for layer in layers)) if k else None,
        "printed_lemma": printed,
        "reasons": reasons,
    }


def _why_no_k(
    promise: AnonymityPromise, layers: Sequence[_DecidedLayer], certain: Sequence[int], frontier: int | None
) -> str:
    if not layers:
        return "no layer was decided and no threshold is set"
    first = layers[certain.index(0)]
    later = min((found for found in certain if found), default=0)
    if frontier is not None and first.candidates <= frontier:
        reason = f"the layer on {first.candidates:,} candidates keeps them without a threshold"
    elif not promise.k and (frontier is None or MOST_VOTED_LAWS[first.randomizer.name] is None):
        reason = "no threshold on the votes is set"
    else:
        reason = "no number of holders is too few for what was kept"
    return reason + (f"; in the layers that have one, k is at least {later}" if later else "")


def _unique_words(promise: AnonymityPromise, layers: Sequence[_DecidedLayer]) -> dict[str, object]:
    """The chance with which a word that one user alone reports is shown, and against how many hostile devices."""
    short = [
        number
        for number, layer in enumerate(layers, 1)
        if not layer.has_votes(promise.votes_for_unique(layer.randomizer.channel, layer.reports))
    ]
    reasons = {}
    if not promise.unique_chance:
        reasons["chance"] = "no threshold for it is set"
    elif short:
        reasons["chance"] = f"layer {short[0]} of those decided kept what has fewer votes than it takes"
    return {
        "chance": None if reasons else promise.unique_chance,
        "hostile_devices": 0 if reasons else promise.withstood,
        "covers": UNIQUE_COVERS,
        "reasons": reasons,
    }


def _printed(
    promise: AnonymityPromise, layers: Sequence[_DecidedLayer], frontier: int | None
) -> tuple[int | None, str | None]:
    """What the paper's lemma as printed, about one layer, would certify for the fullest one, and why it does not."""
    of_subsets = "the lemma is about keeping the candidates with the most votes of Subset Selection"
    if frontier is None:
        return None, of_subsets
    if not layers:
        return None, "no layer was decided"
    fullest = max(layers, key=lambda layer: layer.candidates)
    law = MOST_VOTED_LAWS[fullest.randomizer.name]
    if law is None:
        return None, of_subsets
    k = law.printed_k(fullest.randomizer, fullest.reports, frontier, 1 - promise.alpha)
    if k is None:
        return None, f"as printed it certifies no k at α = {promise.alpha:g}: its threshold is too low for the noise"
    return k, None
