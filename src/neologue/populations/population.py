"""Populations of users: recorded ones, or ones drawn from a language's real frequencies."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from neologue.campaign.campaign import MOST_USERS
from neologue.errors import DataError, ParameterError
from neologue.language import builtin
from neologue.language.alphabet import Alphabet, normalise
from neologue.language.vocabulary import Vocabulary
from neologue.language.word_form import AS_TYPED, WordForm
from neologue.populations.counting import Users
from neologue.populations.holdings import MOST_TIMES, Holdings, merge_pairs
from neologue.populations.record_table import FRAME, Columns
from neologue.populations.records import Extent, Records, form_all, read_frame, read_records
from neologue.populations.streams import SecretSeed
from neologue.populations.table_files import table_name
from neologue.populations.typing_model import TypingModel
from neologue.populations.user_keys import fingerprint, keys_of, ranks
from neologue.protocol.limits import check_whole

CHUNK = 1 << 13


class Population(ABC):
    """A number of users in random order, each of whom holds some words of a lexicon."""

    users: int
    words: list[str]
    description: str
    """One exact line for whoever has the data."""
    public_description: str
    """One line for a release, which no word of a user changes."""
    rows: int = 0
    """The rows that were read, if any were."""
    old_rows: int = 0
    """Of these, the ones that are older than the days that count."""
    simulated: bool = False
    """Whether the users are made up; if not, they may be real people."""
    known: Vocabulary = Vocabulary.empty()
    """The default known words of a campaign."""
    alphabet: Alphabet | None = None
    """The alphabet that suits the words, if there is one."""

    def __repr__(self) -> str:
        return f"<Population: {self.public_description}>"

    @abstractmethod
    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """The holdings of the users from `start` to before `stop`; at most a chunk of them.

        Without `counted`, the counts may be wrong.
        """

    @property
    @abstractmethod
    def digest(self) -> str:
        """SHA-256 of what all users hold, and of their order."""

    @property
    def source(self) -> Users:
        """The part of the population that another process needs to draw its users."""
        return self

    def holders(self) -> NDArray[np.int64]:
        """How many users hold each word."""
        total = np.zeros(len(self.words), np.int64)
        for start, stop in self.spans(0, self.users):
            total += np.bincount(self.draw(start, stop, counted=False).words, minlength=len(total))
        return total

    def in_form(self, form: WordForm) -> "Population":
        """The same users with their words in a form; the empty word stands for all of which nothing is left."""
        if all(form.of(word) == word for word in self.words):
            return self
        raise ParameterError(f"the words of {self.public_description} are in another form; read them in this one")

    def secretly_ordered(self, seed: SecretSeed) -> "Population":
        """The same users in an order that nobody can compute without the seed.

        Users who are made up, each by the same law, have no order that would tell anything.
        """
        if self.simulated:
            return self
        raise ParameterError(f"the order of {self.public_description} can't be made secret; read them without a seed")

    def spans(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Cut a range of users into pieces for `draw`, at boundaries that do not depend on the range."""
        while start < stop:
            end = min(stop, (start // CHUNK + 1) * CHUNK)
            yield start, end
            start = end

    @staticmethod
    def embedded(
        language: str = "en",
        users: int = 1_000_000,
        *,
        known: Vocabulary | None = None,
        targets: Collection[str] | None = None,
        days: int = 60,
        seed: int = 0,
    ) -> "EmbeddedPopulation":
        """Simulated users who write a language with its real word frequencies.

        They hold only words that a campaign could find: those outside `known`, or those in `targets`.
        """
        vocabulary = builtin.vocabulary(language) if known is None else known
        typed = typed_words(language)
        if targets is None:
            held = {word: typed[word] for word, known in zip(typed, vocabulary.known(typed), strict=True) if not known}
        else:
            held = {word: typed[word] for word in set(targets).intersection(typed)}
        return EmbeddedPopulation(language, users, dict(sorted(held.items())), vocabulary, days, seed)

    @staticmethod
    def from_file(
        path: Path | str | Sequence[Path | str],
        columns: Columns | None = None,
        *,
        days: int = 60,
        users: int | None = None,
        seed: int = 0,
        form: WordForm = AS_TYPED,
    ) -> "RecordedPopulation":
        """The users of a CSV, TSV, JSON lines or Parquet file, or of several, or `users` of them drawn at random.

        The seed decides the order in which they are asked, which is no secret and does not depend on their words.
        """
        paths = [Path(path)] if isinstance(path, Path | str) else list(map(Path, path))
        records = read_records(paths, columns or Columns(), days=days, form=form)
        return RecordedPopulation(records, files_label(paths), users, seed)

    @staticmethod
    def from_frame(
        frame: object,
        columns: Columns | None = None,
        *,
        days: int = 60,
        users: int | None = None,
        seed: int = 0,
        form: WordForm = AS_TYPED,
    ) -> "RecordedPopulation":
        """The users of a table of pandas, Polars, Arrow, or of anything with the Arrow PyCapsule interface.

        It has a row for each user and word, as a file has for `from_file`.
        """
        records = read_frame(frame, columns or Columns(), days=days, form=form)
        return RecordedPopulation(records, FRAME, users, seed)

    @staticmethod
    def from_words(users: Mapping[str, Mapping[str, int]], *, seed: int = 0) -> "RecordedPopulation":
        """Users given in memory: how often each one typed each word; the seed decides the order they are asked in."""
        forms = {word: normalise(word) for held in users.values() for word in held}
        lexicon = sorted(set(forms.values()) - {""})
        if not lexicon:
            raise DataError(f"{len(users)} users hold no word at all; give at least one")
        index_of = {word: number for number, word in enumerate(lexicon)}
        names = list(users)
        keys = keys_of(names)
        order = np.lexsort((keys[:, 1], keys[:, 0]))
        rows: list[dict[int, int]] = []
        for user in (names[number] for number in order):
            row: dict[int, int] = {}
            for word, times in users[user].items():
                if not 1 <= times <= MOST_TIMES or times != int(times):
                    raise DataError(f"a user typed a word {times} times; give whole numbers from 1 to {MOST_TIMES:,}")
                if forms[word]:
                    row[index_of[forms[word]]] = min(MOST_TIMES, row.get(index_of[forms[word]], 0) + times)
            rows.append(row)
        holdings = Holdings(
            np.cumsum([0, *map(len, rows)], dtype=np.int64),
            np.array([word for row in rows for word in row], np.int32),
            np.array([times for row in rows for times in row.values()], np.int32),
        )
        records = Records(lexicon, keys[order], holdings, rows=len(holdings.words), dropped=0)
        return RecordedPopulation(records, "memory", None, seed)


@dataclass(frozen=True, eq=False)
class TypingUsers:
    """Users drawn from a typing model, a chunk at a time."""

    model: TypingModel
    users: int
    seed: int

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """The holdings of the users of a part of a chunk."""
        chunk = start // CHUNK
        first = chunk * CHUNK
        drawn = self.model.draw(min(CHUNK, self.users - first), self.seed, chunk, counted=counted)
        return drawn.rows(start - first, stop - first)


class EmbeddedPopulation(Population):
    """Simulated users who type words with the frequencies of their language, each with their own favourites."""

    simulated = True

    def __init__(
        self, language: str, users: int, shares: Mapping[str, float], known: Vocabulary, days: int, seed: int
    ) -> None:
        check_whole("users", users, 1, MOST_USERS)
        if not shares:
            raise DataError(
                f"no word of the built-in {language} list could be found; give fewer known words or other targets"
            )
        self.users = users
        self.words = list(shares)
        self.known = known
        self.alphabet = builtin.alphabet(language)
        self._language = language
        self._shares = shares
        self.model = TypingModel.of(np.array(list(shares.values())), days)
        self._seed = seed
        self._typists = TypingUsers(self.model, users, seed)
        self.description = self.public_description = (
            f"{users:,} simulated users who write {language} with wordfreq's real frequencies and hold some of "
            f"{len(self.words):,} words, {self.model.share:.1%} of all typed"
        )

    def in_form(self, form: WordForm) -> "EmbeddedPopulation":
        """The same users; the shares of words that become one are summed, which a gamma process permits."""
        words, ids = form_all(self.words, form)
        if words is self.words:
            return self
        shares = np.bincount(ids, np.array(list(self._shares.values())), len(words)).tolist()
        formed = dict(zip(words, shares, strict=True))
        return EmbeddedPopulation(self._language, self.users, formed, self.known, self.model.days, self._seed)

    @property
    def source(self) -> Users:
        """The users without their lexicon."""
        return self._typists

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """The holdings of these users; a user holds the same words whatever the range."""
        return self._typists.draw(start, stop, counted=counted)

    @property
    def digest(self) -> str:
        """SHA-256 of the model that the users are drawn from, and of their number."""
        drawn = (self.users, self.model.days, self._seed, self.model.share)
        return _digest(self.words, np.array(drawn), self.model.shares)


class RecordedPopulation(Population):
    """Recorded users in a random order that the seed determines; nobody is drawn twice."""

    def __init__(self, records: Records, name: str, users: int | None, seed: int) -> None:
        self.users, self.public_description, self.description = describe_records(records.extent, name, users)
        self.words = records.words
        self.rows, self.old_rows = records.rows, records.dropped
        self._holdings, self._keys = records.holdings, records.keys
        self._order_by(seed)

    def _order_by(self, seed: int) -> None:
        self._order_seed, self._ranks = seed, ranks(self._keys, seed)
        self._order = np.argsort(self._ranks, kind="stable")[: self.users]

    def secretly_ordered(self, seed: SecretSeed) -> "RecordedPopulation":
        """The same users, ordered by this seed unless they are by a secret one already."""
        if isinstance(self._order_seed, SecretSeed):
            return self
        ordered = copy(self)
        ordered._order_by(seed)
        return ordered

    def in_form(self, form: WordForm) -> "RecordedPopulation":
        """The same users in the same order, with the counts of words that become one summed."""
        words, ids = form_all(self.words, form)
        if words is self.words:
            return self
        held, formed = self._holdings, copy(self)
        owners = np.repeat(np.arange(held.users), np.diff(held.starts))
        pairs, counts = merge_pairs(owners * len(words) + ids[held.words], held.counts)
        formed.words, formed._holdings = words, Holdings.from_pairs(pairs, counts, held.users, len(words))
        return formed

    def draw(self, start: int, stop: int, *, counted: bool = True) -> Holdings:
        """The holdings of these users."""
        return self._holdings.take(self._order[start:stop])

    @property
    def digest(self) -> str:
        """SHA-256 of what the users hold, and of their order."""
        return recorded_digest(self.words, self.users, fingerprint(self._ranks, self._holdings))


def describe_records(extent: Extent, name: str, users: int | None) -> tuple[int, str, str]:
    """The number of recorded users that are taken, by default all, and the public and the exact description."""
    taken = extent.users if users is None else users
    if not 1 <= taken <= extent.users:
        raise ParameterError(
            f"{name} has {extent.users:,} users and nobody is asked twice: take from 1 to all of them, not {taken}"
        )
    aged = f", {extent.dropped:,} rows too old" if extent.dropped else ""
    drawn = f" of {extent.users:,}" if taken < extent.users else ""
    public = f"{taken:,}{drawn} users of {name}"
    return taken, public, f"{public}, {extent.rows:,} rows{aged}, {extent.words:,} words"


def files_label(paths: Sequence[Path]) -> str:
    """The names of files as text, whatever their bytes, without their folders."""
    return os.fsencode(table_name([Path(path.name) for path in paths])).decode("utf-8", "replace")


def recorded_digest(words: list[str], users: int, fingerprint: int) -> str:
    """SHA-256 of a lexicon, the number of users taken, and the fingerprint of all users."""
    return _digest(words, np.array([users, fingerprint], np.uint64))


def _digest(words: list[str], *arrays: NDArray[Any]) -> str:
    digest = hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass"))
    for array in arrays:
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


@cache
def typed_words(language: str) -> dict[str, float]:
    """The words of a language as they are typed, with their shares of all typed words.

    wordfreq folds case. A word that the dictionary has only in another case is typed in that case: "london" in
    wordfreq's list stands for London. What a tokenizer left of a word with an apostrophe ("doesn", "ve"), because the
    dictionary has the whole and not that part, was never typed alone.
    """
    dictionary = builtin.vocabulary(language)
    written = {word.lower(): word for word in sorted(dictionary.words) if word != word.lower()}
    torn = {part for word in dictionary.words if "'" in word for part in word.lower().split("'")}
    typed: dict[str, float] = {}
    for folded, share in builtin.frequencies(language).items():
        # Most words have one case only: the dictionary is asked about the few others.
        word = normalise(folded if folded not in written or folded in dictionary else written[folded])
        if word not in torn or word in dictionary:
            typed[word] = share
    return typed
