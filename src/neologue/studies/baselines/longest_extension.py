"""By how many symbols a method can extend the prefixes that it has kept."""

from neologue.language.candidates import extensions


def longest_extension(prefixes: int, characters: int, candidates: int, symbols_left: int) -> int:
    """How many symbols prefixes can be extended by, in every way, without exceeding the candidates; at least 1."""
    extension = 1
    while extension < symbols_left and prefixes * extensions(characters, extension + 1) <= candidates:
        extension += 1
    return extension
