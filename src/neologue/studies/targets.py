"""The words that the paper's trials were limited to: known ones, rare enough to be like unknown ones."""

from neologue.language import builtin
from neologue.populations.population import typed_words

BOTTOM = 0.05
"""The share of what is typed that rare words make up, counted from the rarest."""


def rare_known_words(language: str = "en", bottom: float = BOTTOM) -> list[str]:
    """The known words of a language among those that, from the rarest on, make up the bottom share of all typed.

    Section 4 of the paper: the trials kept to words of the existing vocabulary, and to those in the bottom 5 % of what
    users contribute in a day. Contributions are read as all that is typed, in and out of the vocabulary; it is ranked
    as a whole, and the vocabulary is cut out of the bottom.
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
