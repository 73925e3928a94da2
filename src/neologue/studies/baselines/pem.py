"""PEM, the Prefix Extending Method: groups of users report ever longer prefixes, and the k best of each go on.

Wang, Li and Jha, Locally differentially private heavy hitter identification, IEEE TDSC 2019 (arXiv 1708.06674). Every
user holds one value and reports its prefix once, by Optimal Local Hashing. The paper's analysis: a group extends the k
prefixes kept by as much as the server can afford to estimate, since fewer groups are larger ones.

What differs here, in favour of PEM: prefixes end where characters do instead of after any number of bits, and a word
that has ended is set aside with its estimate instead of being estimated again as padding. The value of a user is one of
the words held, picked in proportion to how often it was typed. As in the paper, the k best are published whatever their
counts; k is the comparison's K, and words that no device would send are left out.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from neologue.language.candidates import Candidates, root
from neologue.populations.streams import Stream, generator
from neologue.studies.baselines.blanket import shuffled_epsilon
from neologue.studies.baselines.longest_extension import longest_extension
from neologue.studies.baselines.oracles import LocalHashing, draw_votes
from neologue.studies.baselines.user_samples import one_word
from neologue.studies.method import Advance, Found, Task, ignore_progress, rank_words
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

SMALLEST_GROUP = 100


@dataclass(frozen=True)
class Pem:
    """PEM with Optimal Local Hashing."""

    name: ClassVar[str] = "pem"
    citation: ClassVar[str] = (
        "Wang, Li and Jha, Locally differentially private heavy hitter identification, IEEE TDSC 2019"
    )
    trust: ClassVar[str] = "local"
    candidates: int = 1 << 24
    """The most prefixes that the server estimates in one group: as many as `neologue` votes on in a layer."""

    def extensions(self, task: Task) -> list[int]:
        """The number of symbols by which each group extends; the first one starts from single characters."""
        characters = task.alphabet.size - 1
        found, length = [], 1
        while length <= task.depth:
            prefixes = characters if length == 1 else task.top
            left = task.depth + 1 - length
            found.append(longest_extension(prefixes, characters, self.candidates, left))
            length += found[-1]
        return found

    def fewest_users(self, task: Task) -> int:
        """Enough for each group."""
        return SMALLEST_GROUP * len(self.extensions(task))

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Ask all groups at once, as no report depends on another group, and evaluate them one after the other."""
        extensions = self.extensions(task)
        group = task.users // len(extensions)

        def central(epsilon: float) -> float:
            return shuffled_epsilon(LocalHashing(epsilon), group, budget.delta)

        epsilon = budget.local_epsilon(central)
        oracle = LocalHashing(epsilon)
        frontier = root(task.alphabet)
        words: dict[str, float] = {}
        for number, extension in enumerate(extensions):
            first = number * group
            speakers = one_word(task, (first, first + group), seed, advance, by_use=True)
            candidates = Candidates(task.alphabet, frontier, extension)
            rng = generator(Stream.BASELINES, seed, number)
            index = candidates.index(task.words)
            votes = draw_votes(oracle.channel, candidates.size, index, speakers, group, rng)
            # Random fractions break ties.
            lots = votes + rng.random(len(votes))
            best = np.sort(np.argpartition(lots, -min(task.top, len(lots)))[-task.top :])
            prefixes, ended = candidates.prefixes(best)
            counts = oracle.channel.estimate(votes[best], group) * (task.users / group)
            words |= task.countable(prefixes[ended], counts[ended])
            frontier = prefixes[~ended]
            if not len(frontier):
                break
        spent = central(epsilon)
        return Found(
            words=rank_words(words)[: task.top],
            rounds=1,
            bytes_per_device=oracle.report_bytes,
            users_asked=len(extensions) * group,
            privacy=Privacy(
                local_item=epsilon,
                local_user=epsilon,
                central_item=spent,
                central_user=spent,
                delta=budget.delta,
                basis="one word a user, reported once; centrally, if the reports of a group are shuffled: the privacy "
                "blanket (Balle et al. 2019) of Optimal Local Hashing",
            ),
        )
