"""Hunspell dictionaries as a Vocabulary.

spylls reads the pair of files and checks about 30,000 words a second, too few for millions of words. So every affixed
form is written out once into a set, by the rules that spylls applies backwards. spylls itself decides only about what
no finite set can hold: compounds, words with a break in them, and numbers. It takes milliseconds to analyse a long
word, so it is asked about a compound only if the word can be cut into known parts.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from codecs import BOM_UTF8
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from unicodedata import normalize

from neologue.errors import LanguageError
from neologue.language.vocabulary import Vocabulary

if TYPE_CHECKING:
    from spylls.hunspell.algo.lookup import Lookup, WordForm
    from spylls.hunspell.data.aff import Aff, Affix

MOST_FORMS = 3_000_000
"""Beyond this many forms only the stems are kept, and spylls is asked about every other word."""

MOST_BREAKS = 9
"""Hunspell does not split a word with more break points; spylls would, in exponential time."""

NO_FLAGS: frozenset[str] = frozenset()
LETTER_OF_CONDITION = re.compile(r"\[[^]]*\]|.")


def builtin(name: str) -> Vocabulary:
    """Read a dictionary that is distributed with spylls, such as en_US."""
    import spylls.hunspell

    folders: dict[str, str] = spylls.hunspell.Dictionary.DISTRIBUTED
    if name not in folders:
        raise LanguageError(f"no dictionary {name!r} is built in; choose one of {', '.join(sorted(folders))}")
    return read(Path(spylls.hunspell.__file__).parent / "data" / folders[name] / name)


def read(path: Path) -> Vocabulary:
    """Read the pair of .dic and .aff files, given either one of them or their common stem."""
    stem = path.with_suffix("") if path.suffix in {".dic", ".aff"} else path
    lookup = _parse(Path(f"{stem}.aff"), Path(f"{stem}.dic"))
    # One dictionary (Zulu) has twofold prefixes, which are left to spylls.
    every_form = not lookup.aff.COMPLEXPREFIXES
    forms, doubtful = _write_out(lookup, every_form)
    if len(forms) > MOST_FORMS:
        every_form = False
        forms, doubtful = _write_out(lookup, every_form)
    try:
        "\n".join(forms).encode()
    except UnicodeEncodeError as error:
        raise LanguageError(f"{stem}.dic is not in the encoding that {stem}.aff declares; correct SET") from error
    opinion = _SecondOpinion(lookup, doubtful, _compound_parts(lookup) if every_form else None)
    rules = hashlib.sha256(b"\0".join(Path(f"{stem}{end}").read_bytes() for end in (".aff", ".dic"))).hexdigest()
    return Vocabulary(forms, opinion, f"Hunspell {stem.name}", rules)


class _Lines:
    """The numbered lines of a file, for the readers of spylls, whose own reader leaves files open."""

    def __init__(self, path: Path, encoding: str = "windows-1252") -> None:
        self._lines = enumerate(path.read_bytes().removeprefix(BOM_UTF8).splitlines(), start=1)
        self._encoding = encoding

    def reset_encoding(self, encoding: str) -> None:
        """Decode the following lines in another encoding."""
        self._encoding = encoding

    def __iter__(self) -> Iterator[tuple[int, str]]:
        return self

    def __next__(self) -> tuple[int, str]:
        for number, line in self._lines:
            # Real dictionaries use bytes that are invalid in their encoding as flags, never in words.
            if text := line.decode(self._encoding, "surrogateescape").strip():
                return number, text
        raise StopIteration


def _parse(aff_path: Path, dic_path: Path) -> Lookup:
    """Parse the two files with spylls."""
    from spylls.hunspell.algo.lookup import Lookup
    from spylls.hunspell.readers import read_aff, read_dic

    for path in (aff_path, dic_path):
        if not path.is_file():
            raise LanguageError(f"{path} is missing; a Hunspell dictionary is a .dic and an .aff side by side")
    path = aff_path
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # conditions become regular expressions unescaped
            aff, context = read_aff(_Lines(aff_path))
        path = dic_path
        if not next(_Lines(dic_path), (1, ""))[1][:1].isdecimal():
            raise ValueError("the first line is not the number of words")
        dic = read_dic(_Lines(dic_path, context.encoding), aff=aff, context=context)
    except Exception as error:  # spylls checks nothing, so a malformed file can raise any exception
        reason = f"{type(error).__name__}: {error}"
        raise LanguageError(f"{path} is not a Hunspell file that spylls can read ({reason}); replace it") from error
    if not dic.words:
        raise LanguageError(f"{dic_path} has no words; a Hunspell .dic has one a line after their number")
    lookup = Lookup(aff, dic)
    _correct(lookup)
    return lookup


def _correct(lookup: Lookup) -> None:
    """Correct spylls 0.1.7 where it differs from Hunspell."""
    from spylls.hunspell.algo.capitalization import Type
    from spylls.hunspell.algo.lookup import CompoundForm

    aff, dic, good_forms = lookup.aff, lookup.dic, lookup.good_forms
    # It indexes each lower-case stem by its single letters, which makes XED a form of any verb with an x;
    # and lower-case stems do not belong in this index.
    dic.lowercase_index = defaultdict(list)
    for word in dic.words:
        if word.captype is not Type.NO:
            for lower in aff.casing.lower(word.stem):
                dic.lowercase_index[lower].append(word)

    # It accepts a forbidden word at the start of a sentence and between breaks.
    def permitted_forms(word: str, **options: bool) -> Iterator[WordForm]:
        for form in good_forms(word, **options):
            if isinstance(form, CompoundForm) or aff.FORBIDDENWORD not in form.in_dictionary.flags:
                yield form

    lookup.good_forms = permitted_forms


def _write_out(lookup: Lookup, every_form: bool) -> tuple[set[str], set[str]]:
    """All forms (or only the stems) that are words by themselves, and the lower-cased words that spylls must judge.

    Stops as soon as there are too many forms.
    """
    from spylls.hunspell.algo.capitalization import Type

    aff, dic = lookup.aff, lookup.dic
    paradigms = _Paradigms(aff)
    forms: set[str] = set()
    forbidden: set[str] = set()
    cased: set[str] = set()
    for word in dic.words:
        if aff.FORBIDDENWORD in word.flags:
            # Including the spellings that would permit it: a known "polish" must not permit a forbidden "Polish".
            forbidden.update(aff.casing.variants(word.stem)[1])
            continue
        affixed = every_form and not (aff.FORBIDDENWORD and dic.has_flag(word.stem, aff.FORBIDDENWORD))
        own = set(paradigms.of(word.stem, word.flags, affixed))
        # A Vocabulary permits the case forms of all its words, so words that keep their case are left out.
        (cased if aff.KEEPCASE in word.flags else forms).update(own)
        if word.captype is not Type.NO:
            # MCDONALD'S is correct although neither mcdonald's nor Mcdonald's is.
            for lower in aff.casing.lower(word.stem):
                shouted = paradigms.of(lower, word.flags, affixed)
                cased.update(form for form in shouted if form[:1].upper() + form[1:] not in own)
        if every_form and len(forms) > MOST_FORMS:
            break
    return forms - forbidden, {normalize("NFC", word.lower()) for word in forbidden | cased}


def _compound_parts(lookup: Lookup) -> set[str] | None:
    """All lower-cased forms that can occur anywhere in a compound; None if there are too many."""
    aff = lookup.aff
    paradigms = _Paradigms(aff)
    joints = {aff.COMPOUNDFLAG, aff.COMPOUNDBEGIN, aff.COMPOUNDMIDDLE, aff.COMPOUNDEND} - {None, ""}
    in_rules = {flag for rule in aff.COMPOUNDRULE for flag in rule.flags}
    parts: set[str] = set()
    for word in lookup.dic.words:
        if not in_rules.isdisjoint(word.flags):
            parts.add(word.stem.lower())
        if joints:
            parts.update(form.lower() for form in paradigms.joining(word.stem, word.flags, joints))
        if len(parts) > MOST_FORMS:
            return None
    return parts


class _Paradigms:
    """Generates the forms of a stem: bare, with one or two suffixes, with a prefix, or with both."""

    def __init__(self, aff: Aff) -> None:
        self._aff = aff
        self._suffixes = _Rules(aff.SFX, at_end=True)
        self._prefixes = _Rules(aff.PFX, at_end=False)
        self._lent = {
            flag: frozenset().union(*(prefix.flags for prefix in prefixes)) for flag, prefixes in aff.PFX.items()
        }

    def of(self, stem: str, flags: set[str], affixed: bool) -> Iterator[str]:
        """All forms of the stem that are words by themselves; only the bare stem unless `affixed`."""
        if not affixed:
            return iter((stem,) if self._stands_alone(flags) else ())
        return (form for form, *affixes in self._forms(stem, flags) if self._stands_alone(flags, *affixes))

    def joining(self, stem: str, flags: set[str], joints: set[str]) -> Iterator[str]:
        """All forms of the stem that have one of these flags, from the stem or from an affix."""
        for form, *affixes in self._forms(stem, flags):
            if not joints.isdisjoint(flags.union(*(affix.flags for affix in affixes if affix))):
                yield form

    def _forms(self, stem: str, flags: set[str]) -> Iterator[tuple[str, Affix | None, Affix | None, Affix | None]]:
        """All forms, each with its prefix, its first suffix and its second suffix."""
        yield stem, None, None, None
        for prefix, form in self._prefixes.apply(stem, flags):
            yield form, prefix, None, None
        for inner, outer, form in self._add_suffixes(stem, flags):
            yield form, None, inner, outer
            if inner.crossproduct and (outer is None or outer.crossproduct):
                for prefix, crossed in self._prefixes.apply(form, flags | inner.flags):
                    if prefix.crossproduct:
                        yield crossed, prefix, inner, outer

    def _add_suffixes(self, stem: str, flags: set[str]) -> Iterator[tuple[Affix, Affix | None, str]]:
        """The stem with each suffix that it or one of its prefixes allows, and with a second suffix."""
        allowed = flags.union(*(self._lent[flag] for flag in self._lent.keys() & flags))
        for inner, form in self._suffixes.apply(stem, allowed):
            yield inner, None, form
            for outer, longer in self._suffixes.apply(form, inner.flags):
                yield inner, outer, longer

    def _stands_alone(
        self,
        flags: set[str],
        prefix: Affix | None = None,
        inner: Affix | None = None,
        outer: Affix | None = None,
    ) -> bool:
        """Whether a stem with these flags and these affixes is a word by itself (Lookup.is_good_form)."""
        aff = self._aff
        before = prefix.flags if prefix else NO_FLAGS
        after = inner.flags if inner else NO_FLAGS
        held = flags | before | after
        if aff.ONLYINCOMPOUND in held:
            return False
        if (prefix and prefix.flag not in held) or (inner and inner.flag not in held):
            return False
        if aff.NEEDAFFIX:
            affixes = [affix.flags for affix in (prefix, inner, outer) if affix]
            if all(aff.NEEDAFFIX in needing for needing in affixes or [flags]):
                return False
        return (aff.CIRCUMFIX in before) == (aff.CIRCUMFIX in after)


class _Rules:
    """The suffixes or the prefixes of a dictionary, found by flag and by the edge of the word that they change."""

    def __init__(self, affixes: Mapping[str, Sequence[Affix]], at_end: bool) -> None:
        self._affixes = affixes
        self._at_end = at_end
        self._reach = max(
            (
                max(len(affix.strip), len(LETTER_OF_CONDITION.findall(affix.condition)))
                for row in affixes.values()
                for affix in row
            ),
            default=0,
        )
        self._fitting: dict[tuple[str, str], list[Affix]] = {}

    def apply(self, word: str, flags: set[str]) -> Iterator[tuple[Affix, str]]:
        """Yield each affix that the flags allow and whose condition the word meets, with the resulting word."""
        edge = word[-self._reach :] if self._at_end else word[: self._reach]
        for flag in self._affixes.keys() & flags:
            # Many stems share few edges; trying every condition on every stem would take several times as long.
            fitting = self._fitting.get((flag, edge))
            if fitting is None:
                fitting = [affix for affix in self._affixes[flag] if self._fits(affix, edge)]
                self._fitting[flag, edge] = fitting
            for affix in fitting:
                if self._at_end:
                    yield affix, word[: len(word) - len(affix.strip)] + affix.add
                else:
                    yield affix, affix.add + word[len(affix.strip) :]

    def _fits(self, affix: Affix, edge: str) -> bool:
        """Whether the affix can change a word with this edge."""
        stripped = edge.endswith(affix.strip) if self._at_end else edge.startswith(affix.strip)
        return stripped and affix.cond_regexp.search(edge) is not None


class _SecondOpinion:
    """Asks spylls about words that it could accept although they are not in the set."""

    def __init__(self, lookup: Lookup, doubtful: set[str], parts: set[str] | None) -> None:
        """If `parts`, the parts of compounds, is None, spylls is asked about every word."""
        aff = lookup.aff
        self._lookup = lookup
        self._doubtful = doubtful
        self._parts = parts
        self._shortest = max(1, aff.COMPOUNDMIN)
        self._longest = max(map(len, parts or ()), default=0)
        self._beginnings = {part[: self._shortest] for part in parts or ()}
        self._simplifies = bool(aff.SIMPLIFIEDTRIPLE)
        breaks = [pattern.pattern.removeprefix("^").removesuffix("$") for pattern in aff.BREAK]
        converted = [pattern.replace("_", "") for pattern, _ in aff.ICONV.pairs] if aff.ICONV else []
        ignored = aff.IGNORE.chars if aff.IGNORE else ""
        sharps = ["ß", "SS"] if aff.CHECKSHARPS else []
        self._breaks = _pattern_of_any(breaks)
        self._traces = _pattern_of_any([*breaks, *converted, *ignored, *sharps])

    def __call__(self, word: str) -> bool:
        """Whether spylls accepts the word; does not ask where it could not."""
        if not self._concerns(word) or len(self._breaks.findall(word)) > MOST_BREAKS:
            return False
        try:
            return bool(self._lookup(word))
        except IndexError:  # spylls fails to lower-case a German word with a Turkish capital İ
            return False

    def _concerns(self, word: str) -> bool:
        """Whether the word is one that only spylls can judge."""
        lower = word.lower()
        return bool(word) and (
            self._parts is None
            or lower[0].isdecimal()
            or lower in self._doubtful
            or self._traces.search(word) is not None
            or self._can_be_cut(lower, self._parts)
        )

    def _can_be_cut(self, word: str, parts: set[str]) -> bool:
        """Whether the word is a sequence of two or more parts; spylls decides which sequences are allowed."""
        shortest, length = self._shortest, len(word)
        if word[:shortest] not in self._beginnings:
            return False
        reached = {0}
        for start in range(length - shortest + 1):
            if start not in reached:
                continue
            furthest = min(length, start + self._longest)
            for stop in range(start + shortest, furthest + 1):
                # The last part must be long enough too, and a word is not a compound of itself.
                fits = stop == length or stop <= length - shortest
                if fits and (start, stop) != (0, length) and self._is_part(word, start, stop, parts):
                    reached.add(stop)
        return length in reached

    def _is_part(self, word: str, start: int, stop: int, parts: set[str]) -> bool:
        """Whether a piece of the word is a part; of three equal letters at a joint, one may be omitted."""
        piece = word[start:stop]
        if piece in parts:
            return True
        return self._simplifies and word[stop : stop + 1] == piece[-1:] and piece + piece[-1] in parts


def _pattern_of_any(texts: Iterable[str]) -> re.Pattern[str]:
    """A pattern that matches any of the texts; without texts it matches nothing."""
    return re.compile("|".join(re.escape(text) for text in texts if text) or r"(?!)")
