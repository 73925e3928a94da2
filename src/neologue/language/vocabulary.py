"""The known words V, which nobody needs to report because they are already in the dictionary."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from unicodedata import normalize

from neologue.errors import LanguageError
from neologue.language.alphabet import normalise
from neologue.language.word_form import AS_TYPED, WordForm

REMEMBERED_OPINIONS = 1 << 20
"""How many answers of `accepts` are cached; a server asks about the same words in every pass."""


class Vocabulary:
    """The known words, immutable: `word in vocabulary` also permits the case forms that Hunspell permits.

    `accepts` decides about words that are not in the set (a compound, a number). It takes the word in NFC, and its
    answers are cached. `rules` identifies it in the digest. The words are in a `form`.
    """

    def __init__(
        self,
        words: Iterable[str],
        accepts: Callable[[str], bool] | None = None,
        source: str = "given words",
        rules: str = "",
        form: WordForm = AS_TYPED,
    ) -> None:
        self._words = frozenset(map(normalise, words)) - {""}
        self._opinion = accepts
        self._accepts = None if accepts is None else lru_cache(REMEMBERED_OPINIONS)(accepts)
        self._source = source
        self._rules = rules
        self._form = form
        self._in_forms: dict[WordForm, Vocabulary] = {}

    def __reduce__(self) -> tuple[type[Vocabulary], tuple[object, ...]]:
        """Pickle without the cached answers."""
        return Vocabulary, (self._words, self._opinion, self._source, self._rules, self._form)

    @classmethod
    def empty(cls) -> Vocabulary:
        """A vocabulary that knows nothing, so that every word is new."""
        return cls((), source="no words")

    @classmethod
    def builtin(cls, language: str) -> Vocabulary:
        """The built-in known words of a language."""
        from neologue.language import builtin

        return builtin.vocabulary(language)

    @classmethod
    def from_file(cls, path: Path | str) -> Vocabulary:
        """Read a file with one word per line (UTF-8, optionally gzipped), or a Hunspell pair (.dic or .aff)."""
        path = Path(path)
        if path.suffix in {".dic", ".aff"}:
            from neologue.language import hunspell

            return hunspell.read(path)
        vocabulary = cls(_lines(path), source=os.fsencode(path.name).decode("utf-8", "replace"))
        if not len(vocabulary):
            raise LanguageError(f"{path} has no words; give a file with one word per line")
        return vocabulary

    def with_words(self, words: Iterable[str], source: str) -> Vocabulary:
        """The same vocabulary with more words, from another source."""
        return Vocabulary(
            self._words.union(words), self._opinion, f"{self._source} and {source}", self._rules, self._form
        )

    def in_form(self, form: WordForm) -> Vocabulary:
        """The same words in another form; made once, so that its cached answers serve every campaign."""
        if form == self._form:
            return self
        if form not in self._in_forms:
            opinion = self._opinion and _OpinionOnForms(self._opinion)
            self._in_forms[form] = Vocabulary(map(form.of, self._words), opinion, self._source, self._rules, form)
        return self._in_forms[form]

    def __contains__(self, word: str) -> bool:
        if not self._words and self._accepts is None:
            return False
        word = normalize("NFC", word)
        # Small letters alone have no other form; most words that are asked about have nothing else.
        if word in self._words or not (word.islower() or self._words.isdisjoint(_permitted_forms(word))):
            return True
        return self._accepts is not None and self._accepts(word)

    def __len__(self) -> int:
        return len(self._words)

    @property
    def words(self) -> frozenset[str]:
        """The words of the set, without what `accepts` would add."""
        return self._words

    @property
    def source(self) -> str:
        """Where the words come from."""
        return self._source

    def __repr__(self) -> str:
        return f"<Vocabulary of {len(self)} words from {self._source}>"

    def known(self, words: Iterable[str]) -> list[bool]:
        """Whether each word is known."""
        return [word in self for word in words]

    @cached_property
    def digest(self) -> str:
        """The hex SHA-256 of the sorted words and the rules; device and server compare it."""
        # Code point order is also the order of the UTF-8 bytes, so that other languages can sort either.
        lines = [*sorted(self._words), *([f"\n{self._rules}"] if self._rules else [])]
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def is_list_of_lines(self) -> bool:
        """Whether no word has a line break, which would count as several words in the digest."""
        return not any("\n" in word for word in self._words)


@dataclass(frozen=True)
class _OpinionOnForms:
    """An opinion on words whose case is gone: in capitals any word is right that is right in some case."""

    opinion: Callable[[str], bool]

    def __call__(self, word: str) -> bool:
        return self.opinion(word) or self.opinion(word.upper())


def _permitted_forms(word: str) -> tuple[str, ...]:
    """The other case forms that make the word correct if they are known, as in Hunspell.

    Any word may be capitalised at the start of a sentence or all in capitals, but a missing capital is an error.
    """
    if word.isupper():
        lower = word.lower()
        # Not str.capitalize: it title-cases the first letter and lower-cases the rest without its context.
        return lower, word[0] + lower[len(word[0].lower()) :]
    if word[:1].isupper() and word[1:].islower():
        return (word.lower(),)
    return ()


def _lines(path: Path) -> list[str]:
    """The lines of a word list, without comments."""
    if path.is_dir():
        raise LanguageError(f"{path} is a directory; give a file with one word per line")
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except FileNotFoundError:
        raise LanguageError(f"{path} does not exist; give a file with one word per line") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise LanguageError(f"{path} is not UTF-8 in line {line}; save it as UTF-8") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise LanguageError(f"{path} is a broken gzip file; compress the word list again") from error
    except OSError as error:
        raise LanguageError(f"{path} can't be read ({error.strerror}); check its permissions") from error
    return [line for line in io.StringIO(text, newline=None) if not line.startswith("# ")]
