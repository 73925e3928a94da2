"""Prefixes behind which words lie that were not asked about, and how many users have one.

The votes of a released prefix are of users who go on from it in ways that no layer had asked about by then. The last
layer asked about the likeliest of these ways. A word that it was the first to ask about belonged to one prefix before,
the longest listed one that it begins with, so the users of the words that it released can be taken off, each from one
prefix. Who has several of them is taken off more than once: what is left is rather too little than too much.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from neologue.discovery.result import ReleasedPrefix, ReleasedWord


@dataclass(frozen=True)
class OpenPrefix:
    """A prefix, and what is known of the words behind it."""

    prefix: str
    users: float
    """About how many users have words behind it that were not asked about before the last layer, …"""
    words: int
    """… how many such words the last layer found, …"""
    left: float
    """… and about how many users are left who have others."""


def open_prefixes(prefixes: Iterable[ReleasedPrefix], words: Iterable[ReleasedWord]) -> list[OpenPrefix]:
    """What lies behind the prefixes of a release, those with the most users left first.

    A prefix that several passes list is counted by the last of them, which was told what the others found.
    """
    listed = {(kept.pass_number, kept.layer + 1, kept.prefix): kept for kept in prefixes}
    found: dict[tuple[int, int, str], list[ReleasedWord]] = {key: [] for key in listed}
    for word in words:
        if word.since == word.layer:
            beginnings = ((word.pass_number, word.layer, word.word[:end]) for end in range(len(word.word), 0, -1))
            longest = next((key for key in beginnings if key in found), None)
            if longest:
                found[longest].append(word)
    latest = {
        key[2]: OpenPrefix(
            kept.prefix,
            kept.estimate,
            len(found[key]),
            max(0.0, kept.estimate - sum(word.estimate for word in found[key])),
        )
        for key, kept in sorted(listed.items())
    }
    return sorted(latest.values(), key=lambda each: (-each.left, -each.users, each.prefix))
