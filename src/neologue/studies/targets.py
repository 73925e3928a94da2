"""The words of the paper's trials: known words that are rare enough to be like unknown ones."""

from neologue.language import builtin
from neologue.populations.population import typed_words

BOTTOM = 0.05
"""The share of all typing that the rare words make up, counted from the rarest."""


def rare_known_words(language: str = "en", bottom: float = BOTTOM) -> list[str]:
    """The known words of a language among those that, from the rarest on, make up the bottom share of all typed.

    Section 4 of the paper: the trials were limited to words of the existing vocabulary in the bottom 5 % of what users
    contribute in a day. Contributions are taken to be everything typed, in and out of the vocabulary; all of it is
    ranked, and the known words of its bottom are the targets.
    """
    typed = typed_words(language)
    left = bottom * sum(typed.values())
    rare = []
    for word in sorted(typed, key=lambda word: (typed[word], word)):
        left -= typed[word]
        if left < 0:
            break
        rare.append(word)
    known = builtin.vocabulary(language).known(rare)
    return [word for word, is_known in zip(rare, known, strict=True) if is_known]
