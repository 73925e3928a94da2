"""SFP, the Sequence Fragment Puzzle: fragments of words, each with a hash of its word by which the pieces fit together.

Apple's Differential Privacy Team, Learning with privacy at scale, 2017: the method that finds new words on Apple's
keyboards. A device picks one of its words, in proportion to how often it was typed, and sends, once, a Count Mean
Sketch of two neighbouring characters at a random even position together with an 8-bit hash of the word, a sketch of the
whole word, and the position. The server finds the frequent fragments at each position, joins those with the same hash,
and looks the joined words up in the other sketch. The ε is divided between the two sketches. Sketches have m = 1,024
columns.

What differs here, in favour of SFP. The server keeps the fragments that noise does not explain, instead of the T most
frequent (T = 20 in the comparison of Zhu et al. 2020, which can't find more than 20 words); it also checks the hash of
a joined word, and drops words that noise explains. Words may be as long as in the comparison, not 10 characters. Sums
are drawn with a separate hash function for each report, and independently for each fragment: exact for one fragment,
while any two would really have a correlation of 1/m.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from neologue.campaign.profiles import NEOLOGUE
from neologue.discovery.selection.significant import NullLaw
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.populations.streams import Stream, generator
from neologue.privacy.shuffling import clones_2023
from neologue.randomizers.channel import Channel
from neologue.studies.baselines.oracles import CountMeanSketch, Integers, draw_votes
from neologue.studies.baselines.user_samples import one_word
from neologue.studies.method import Advance, Found, Task, ignore_progress, rank_words
from neologue.studies.privacy_grant import Privacy, PrivacyGrant

FRAGMENT = 2
PIECES = 256
"""The number of values of the hash by which fragments are joined."""
MOST_FRAGMENTS = 1 << 26
MOST_JOINED = 1 << 18
"""The most beginnings of words that are extended, those with the most votes; this bounds the memory."""
USERS_PER_POSITION = 100


@dataclass(frozen=True)
class FragmentPuzzle:
    """SFP with Count Mean Sketches."""

    name: ClassVar[str] = "sfp"
    citation: ClassVar[str] = "Differential Privacy Team of Apple, Learning with privacy at scale, 2017"
    trust: ClassVar[str] = "local"
    columns: int = 1024
    fragment_share: float = 0.7
    """The share of ε for the fragment; the rest is for the whole word. With a million users 0.7 finds most."""
    false_fragments: float = 0.5
    false_words: float = NEOLOGUE.parameters.false_words

    def fewest_users(self, task: Task) -> int:
        """Enough for each position in a word."""
        return USERS_PER_POSITION * _fragments_per_word(task)

    def discover(self, task: Task, budget: PrivacyGrant, seed: int, advance: Advance = ignore_progress) -> Found:
        """Ask all users at once, then join their fragments."""
        epsilon = budget.local_epsilon(lambda local: clones_2023(local, task.users, budget.delta).epsilon or 0.0)
        piecewise = CountMeanSketch(epsilon * self.fragment_share, self.columns)
        whole = CountMeanSketch(epsilon * (1 - self.fragment_share), self.columns)
        rng = generator(Stream.BASELINES, seed)
        speakers = one_word(task, (0, task.users), seed, advance, by_use=True)
        spelt = _codes(task)
        joined = self._join_fragments(task, spelt, speakers, piecewise, rng)
        texts = [text for text in _texts(task.alphabet, joined) if task.counts(text)]
        index_of_word = {word: position for position, word in enumerate(texts)}
        index = np.array([index_of_word.get(word, -1) for word in task.words.tolist()], np.int64)
        votes = draw_votes(whole.channel, len(texts), index, speakers, task.users, rng)
        kept = _significant(whole.channel, votes, task.users, self.false_words)
        counts = whole.channel.estimate(votes[kept], task.users)
        spent = clones_2023(epsilon, task.users, budget.delta).epsilon
        return Found(
            words=rank_words(dict(zip((texts[position] for position in kept), counts.tolist(), strict=True))),
            rounds=1,
            bytes_per_device=1 + piecewise.report_bytes + whole.report_bytes,
            users_asked=task.users,
            privacy=Privacy(
                local_item=epsilon,
                local_user=epsilon,
                central_item=spent,
                central_user=spent,
                delta=budget.delta,
                basis="one word a user, reported once, the two sketches composed; centrally, if reports are shuffled: "
                "Theorem 3.2 of Feldman, McMillan and Talwar 2023",
            ),
        )

    def _join_fragments(
        self, task: Task, spelt: Integers, speakers: Integers, sketch: CountMeanSketch, rng: Generator
    ) -> Integers:
        """The symbols of all words whose fragments were found and whose hash matches."""
        size, positions = task.alphabet.size, _fragments_per_word(task)
        pieces = _word_hash(spelt)
        # Every user picks a position, even without words.
        at_position = rng.multinomial(speakers, [1 / positions] * positions)
        wordless = rng.multinomial(task.users - speakers.sum(), [1 / positions] * positions)
        joined, votes_of = np.zeros((PIECES, 0), np.int64), np.full(PIECES, task.users)
        piece_of = np.arange(PIECES)
        for position in range(positions):
            pair = spelt[:, FRAGMENT * position : FRAGMENT * (position + 1)]
            index = (pieces * size + pair[:, 0]) * size + pair[:, 1]
            reports = int(at_position[:, position].sum() + wordless[position])
            votes = draw_votes(sketch.channel, PIECES * size**2, index, at_position[:, position], reports, rng)
            fragments = _significant(sketch.channel, votes, reports, self.false_fragments)
            rows, picked = _matches(piece_of, joined, fragments, size)
            symbols = np.column_stack(np.divmod(fragments[picked] % size**2, size))
            joined = np.column_stack([joined[rows], symbols])
            piece_of = piece_of[rows]
            votes_of = np.minimum(votes_of[rows], votes[fragments[picked]])
            # A finished word must have the hash of its fragments; beginnings beyond the limit are dropped.
            fits = (joined[:, -1] > 0) | (_word_hash(_pad(joined, spelt.shape[1])) == piece_of)
            fits &= votes_of >= _fewest_votes(votes_of[fits])
            joined, piece_of, votes_of = joined[fits], piece_of[fits], votes_of[fits]
        return np.asarray(joined[_word_hash(joined) == piece_of])


def _fragments_per_word(task: Task) -> int:
    """The number of fragments of the longest word."""
    if PIECES * task.alphabet.size**FRAGMENT > MOST_FRAGMENTS:
        raise ParameterError(
            f"an alphabet of {task.alphabet.size} symbols has {PIECES * task.alphabet.size**FRAGMENT:,} fragments with "
            f"their hashes, more than the {MOST_FRAGMENTS:,} that sfp looks through; leave it out"
        )
    return -(-task.depth // FRAGMENT)


def _codes(task: Task) -> Integers:
    """The symbols of the words that count, 0 beyond their ends."""
    width = _fragments_per_word(task) * FRAGMENT
    return task.alphabet.codes(task.words.astype(f"U{width}").view(np.uint32).reshape(len(task.words), width))


def _pad(symbols: Integers, width: int) -> Integers:
    return np.pad(symbols, ((0, 0), (0, width - symbols.shape[1])))


def _word_hash(symbols: Integers) -> Integers:
    """The hash of each word, which all its fragments carry: the upper bits of a polynomial in its symbols."""
    mixed = np.zeros(len(symbols), np.uint64)
    for column in symbols.T.astype(np.uint64):
        mixed = (mixed ^ column) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return ((mixed * np.uint64(0xBF58476D1CE4E5B9)) >> np.uint64(56)).astype(np.int64)


def _matches(piece_of: Integers, joined: Integers, fragments: Integers, size: int) -> tuple[Integers, Integers]:
    """Pairs of beginnings and fragments that fit: with the same hash, and only the end after an end."""
    pieces, pairs = np.divmod(fragments, size**2)
    starts = np.searchsorted(pieces, np.arange(PIECES + 1))
    sizes = np.diff(starts)[piece_of]
    rows = np.repeat(np.arange(len(piece_of)), sizes)
    picked = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + starts[piece_of][rows]
    over = joined[rows, -1] == 0 if joined.shape[1] else np.zeros(len(rows), np.bool_)
    begins = pairs[picked] // size > 0
    goes_on = np.where(over, pairs[picked] == 0, begins | (pairs[picked] == 0) if joined.shape[1] else begins)
    return rows[goes_on], picked[goes_on]


def _fewest_votes(votes: Integers) -> int:
    """The fewest votes with which a beginning is still extended."""
    return int(np.partition(votes, -MOST_JOINED)[-MOST_JOINED]) if len(votes) > MOST_JOINED else 0


def _significant(channel: Channel, votes: Integers, reports: int, level: float) -> Integers:
    """The values, in order, whose votes noise does not explain."""
    if not len(votes):
        return np.empty(0, np.int64)
    null = NullLaw.of(reports, float(channel.q), int(votes.max()))
    return null.benjamini_hochberg(votes, level).index


def _texts(alphabet: Alphabet, symbols: Integers) -> Iterator[str]:
    points: NDArray[np.uint32] = np.concatenate([[0], alphabet.points]).astype(np.uint32)[symbols]
    yield from np.ascontiguousarray(points).view(f"U{max(1, symbols.shape[1])}").ravel().tolist()
