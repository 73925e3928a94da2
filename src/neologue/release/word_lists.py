"""Lists of released words, as spreadsheets, spell checkers and keyboards read them."""

import csv
import io
import math
from collections.abc import Iterable

from neologue.discovery.result import ReleasedPrefix, ReleasedWord

FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠")
"""What a spreadsheet would begin to calculate at; some do so at the wide signs of East Asian keyboards too."""
TYPED = 10_000
"""A keyboard asks how often a word is typed, and a release says how many hold it: a holder is taken to type it once
among so many words."""
STEP = 1.15
"""By what factor a word is likelier than one whose AOSP frequency is one less."""
MOST_FREQUENCY = 255


def words_csv(words: Iterable[ReleasedWord]) -> str:
    """One line a word, the most widely held first; one that looks like a formula has an apostrophe before it."""
    return _csv("word", ((word.word, word) for word in words))


def prefixes_csv(prefixes: Iterable[ReleasedPrefix]) -> str:
    """The same of prefixes whose words were not all asked about."""
    return _csv("prefix", ((kept.prefix, kept) for kept in prefixes))


def _csv(first: str, released: Iterable[tuple[str, ReleasedWord | ReleasedPrefix]]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    # Python before 3.13 takes a carriage return for no reason to quote.
    quoted = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
    # The names say what the figures are about: not about all who hold a word.
    table.writerow([first, "votes", "would_report", "would_report_low", "would_report_high", "layer", "pass"])
    for name, each in released:
        figures = (f"{figure:.1f}" for figure in (each.estimate, each.low, each.high))
        shown = f"'{name}" if name.lstrip().startswith(FORMULA) else name
        (quoted if "\r" in shown else table).writerow([shown, each.votes, *figures, each.layer, each.pass_number])
    return text.getvalue()


def hunspell_dic(words: Iterable[str]) -> str:
    """A Hunspell dictionary of the words; a slash would begin flags and is escaped.

    A word with white space, which would end it or its line, is left out.
    """
    entries = sorted(word.replace("/", "\\/") for word in words if _is_one(word))
    return "\n".join([str(len(entries)), *entries]) + "\n"


def aosp_combined(words: Iterable[ReleasedWord], users: int, locale: str, created: int) -> str:
    """A word list as the dictionary tool of AOSP compiles it.

    A word with a comma or white space, which would end it or its line, is left out.
    """
    header = f"dictionary=main:{locale},locale={locale},description=New words,date={created},version=1"
    entries = [
        f" word={word.word},f={aosp_frequency(word.estimate / users)}"
        for word in words
        if _is_one(word.word) and "," not in word.word
    ]
    return "\n".join([header, *entries]) + "\n"


def _is_one(word: str) -> bool:
    """Whether there is no white space in it: an alphabet may have some, and noise or hostile devices may find it."""
    return word.split() == [word]


def aosp_frequency(share: float) -> int:
    """The frequency, from 1 to 255, of a word that such a share of users holds; 0 would mean never to propose it."""
    if share <= 0:
        return 1
    return max(1, min(MOST_FREQUENCY, MOST_FREQUENCY + round(math.log(share / TYPED, STEP))))
