"""OptPrefixTree: a prefix tree whose segments and thresholds adapt to what is found.

Chadha, Chen, Duchi, Feldman, Hashemi, Javidbakht, McMillan and Talwar, Differentially private heavy hitter detection
using federated analytics, IEEE SaTML 2024. A device holds many words. It picks one of those that go on from the
prefixes found so far and are not on the deny list, and reports its next prefix as a one-hot vector with randomized bits
(1 kept with 1/2, 0 turned with 1/(e^ε + 1)). The server keeps as many prefixes as it can while the expected share of
noise among them stays at a false positive ratio, and makes the next segment as long as its limit of 10^7 on the
dimension allows. What one run has found goes on the deny list of the next.

What differs here. In its favour: each device answers in only one iteration, with all of the ε, where the paper may
ask it in several and composes; the expected noise is taken from the binomial law instead of the normal one; words,
unlike prefixes, are held to the false positive ratio of the profile `neologue`, so that the two are compared at like
precision. Against it: segments are whole characters, not bits of a code, and no more prefixes are kept than can be
extended by as many characters as K of them can, so that the number of iterations is known in advance.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neologue.campaign.profiles import NEOLOGUE
from neologue.discovery.selection.significant import NullLaw
from neologue.language.candidates import Candidates, extensions, root
from neologue.populations.streams import Stream, generator
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.cost import central_epsilon
from neologue.randomizers.unary import Unary
from neologue.studies.baselines.longest_extension import longest_extension
from neologue.studies.baselines.oracles import Integers, draw_votes
from neologue.studies.baselines.user_samples import one_word
from neologue.studies.method import Advance, Found, Task, ignore_progress, rank_words
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

SMALLEST_LAYER = 100


@dataclass(frozen=True)
class OptPrefixTree:
    """OptPrefixTree with one-hot randomized response and a deny list."""

    name: ClassVar[str] = "opt-prefix-tree"
    citation: ClassVar[str] = (
        "Chadha, Chen, Duchi, Feldman, Hashemi, Javidbakht, McMillan and Talwar, Differentially private heavy hitter "
        "detection using federated analytics, IEEE SaTML 2024"
    )
    trust: ClassVar[str] = "local"
    by_use: bool = False
    """Whether a device picks a word in proportion to its use instead of uniformly; the paper has both."""
    dimension: int = 10_000_000
    runs: int = 1
    """How many trees are grown, each with other users and without the words found before."""
    false_prefixes: float = 0.5
    false_words: float = NEOLOGUE.parameters.false_words

    def iterations(self, task: Task) -> int:
        """The most iterations of a run: one from single characters, then by whole segments and more."""
        left = task.depth - self._extension(task, task.alphabet.size - 1, 1)
        return 1 + max(0, -(-left // self._extension(task, task.top, 1)))

    def fewest_users(self, task: Task) -> int:
        """Enough for each iteration of each run."""
        return SMALLEST_LAYER * self.runs * self.iterations(task)

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Grow one tree after the other."""
        layer_size = task.users // (self.runs * self.iterations(task))

        def collection(epsilon: float) -> Collection:
            return Collection(Unary.name, epsilon, 1, (Batch(layer_size, self.dimension),))

        epsilon = budget.local_epsilon(lambda local: central_epsilon(collection(local), budget.delta, budget.unit))
        words: dict[str, float] = {}
        rounds = longest = 0
        for _ in range(self.runs):
            eligible = ~np.isin(task.words, list(words))
            frontier, length = root(task.alphabet), 1
            while len(frontier) and length <= task.depth:
                candidates = Candidates(task.alphabet, frontier, self._extension(task, len(frontier), length))
                index = np.where(eligible, candidates.index(task.words), -1)
                first = rounds * layer_size
                speakers = one_word(
                    task, (first, first + layer_size), seed, advance, by_use=self.by_use, eligible=index >= 0
                )
                randomizer = Unary(candidates.size, epsilon, 1)
                rng = generator(Stream.BASELINES, seed, rounds)
                votes = draw_votes(randomizer.channel, candidates.size, index, speakers, layer_size, rng)
                kept = self._select(task, candidates, votes, randomizer, layer_size)
                prefixes, ended = candidates.prefixes(kept)
                counts = randomizer.channel.estimate(votes[kept], layer_size) * (task.users / layer_size)
                words |= task.countable(prefixes[ended], counts[ended])
                frontier = prefixes[~ended]
                length += candidates.extension
                longest = max(longest, randomizer.payload_bytes)
                rounds += 1
        return Found(
            words=rank_words(words),
            rounds=rounds,
            bytes_per_device=longest,
            users_asked=rounds * layer_size,
            privacy=Privacy(
                local_item=epsilon,
                local_user=epsilon,
                central_item=central_epsilon(collection(epsilon), budget.delta, "item"),
                central_user=central_epsilon(collection(epsilon), budget.delta, "user"),
                delta=budget.delta,
                basis="one word a user, reported once; centrally, if only the sums of whole cohorts are seen: "
                "neologue's bounds for unary reports on one word",
            ),
        )

    def _extension(self, task: Task, prefixes: int, length: int) -> int:
        return longest_extension(prefixes, task.alphabet.size - 1, self.dimension, task.depth + 1 - length)

    def _select(
        self, task: Task, candidates: Candidates, votes: Integers, randomizer: Unary, layer_size: int
    ) -> Integers:
        """The candidates, in order, that noise does not explain at the false positive ratio of their kind."""
        null = NullLaw.of(layer_size, float(randomizer.channel.q), int(votes.max()))
        passed = []
        for members, level in ((candidates.ended, self.false_words), (~candidates.ended, self.false_prefixes)):
            indices = np.flatnonzero(members)
            passed.append(indices[null.benjamini_hochberg(votes[indices], level).index])
        words, prefixes = passed
        segment = extensions(task.alphabet.size - 1, self._extension(task, task.top, 1))
        most = max(task.top, self.dimension // segment)
        largest = prefixes[np.argsort(-votes[prefixes], kind="stable")[:most]]
        return np.sort(np.concatenate([words, largest]))
