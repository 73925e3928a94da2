"""A character model in whole numbers, so that every device computes the same.

A symbol that has the chance P after a context costs -8·ln P, rounded; chances multiply, so costs add up. Each context
lists the symbols that were seen after it. Any other symbol costs what it costs after the next shorter context, and the
context's back-off on top. Contexts are the last symbols of a string, at most three; those of its beginning begin with
NUL, the code point of ⊥, which is also how a list of symbols names the end of a word.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet

Integers = NDArray[np.int64]

STEPS_PER_NAT = 8
"""So many units of cost are one natural logarithm."""
BOUNDARY = "\0"
"""The beginning of a word in a context, and its end among symbols."""
LONGEST_CONTEXT = 3
DEAREST = 1 << 10
"""No symbol and no back-off costs more."""
MOST_CONTEXTS = 1 << 16
MOST_ENTRIES = 1 << 22
"""The most contexts times symbols, which are what a device's tables hold."""
MOST_STRINGS = 1 << 32
"""So many strings from one context are not told apart from more: sums of them stay far below 2^63."""


@dataclass(frozen=True, eq=False)
class SpellingCosts:
    """What each symbol of an alphabet costs after each context."""

    alphabet: Alphabet
    contexts: tuple[str, ...]
    """By length, then in order; the first is empty."""
    backoffs: Integers
    """What a context adds to the cost of a symbol that it does not list."""
    symbols: tuple[str, ...]
    """The symbols that each context lists, in order."""
    costs: Integers
    """What they cost, one list after the other."""

    def __post_init__(self) -> None:
        most = min(MOST_CONTEXTS, MOST_ENTRIES // self.alphabet.size)
        if not (len(self.contexts) == len(self.backoffs) == len(self.symbols) <= most):
            raise ParameterError(f"a spelling must have a back-off and symbols for each of at most {most:,} contexts")
        if len(self.costs) != sum(map(len, self.symbols)):
            raise ParameterError("a spelling must have one cost for each symbol that it lists")
        numbers = np.concatenate([self.backoffs, self.costs])
        if numbers.min(initial=0) < 0 or numbers.max(initial=0) > DEAREST or (self.costs == 0).any():
            raise ParameterError(f"a symbol must cost from 1 to {DEAREST:,}, and a back-off from 0 to that")
        if self.backoffs[:1].any():
            raise ParameterError("the back-off of a spelling's first context, which lists every symbol, must be 0")
        self._check_contexts()

    def _check_contexts(self) -> None:
        everything = BOUNDARY + self.alphabet.characters
        members = frozenset(everything)
        if list(self.contexts) != sorted(set(self.contexts), key=lambda context: (len(context), context)):
            raise ParameterError("a spelling's contexts must be in the order of their lengths, each once")
        if self.contexts[:2] != ("", BOUNDARY) or self.symbols[0] != everything:
            raise ParameterError(
                "a spelling must have a cost for each symbol, and the beginning of a word as a context"
            )
        for context, symbols in zip(self.contexts, self.symbols, strict=True):
            if len(context) > LONGEST_CONTEXT or BOUNDARY in context[1:] or not members.issuperset(context):
                raise ParameterError(f"a context must be of at most {LONGEST_CONTEXT} symbols of the alphabet")
            if list(symbols) != sorted(set(symbols)) or not members.issuperset(symbols):
                raise ParameterError("the symbols after a context must be of the alphabet, each once and in order")
            if context[1:] not in self._state_of:
                raise ParameterError("a spelling must have every ending of its contexts as a context, too")
            if len(context) > 1 and context[-1] not in self._listed(context[:-1]):
                raise ParameterError("a spelling must list the last symbol of each context after what comes before it")

    @cached_property
    def _state_of(self) -> dict[str, int]:
        return {context: state for state, context in enumerate(self.contexts)}

    def _listed(self, context: str) -> str:
        state = self._state_of.get(context)
        return "" if state is None else self.symbols[state]

    @property
    def start(self) -> int:
        """The state at the beginning of a word."""
        return 1

    @cached_property
    def shorter(self) -> Integers:
        """The state of each context without its first symbol."""
        return np.array([self._state_of[context[1:]] for context in self.contexts], np.int64)

    @cached_property
    def lengths(self) -> Integers:
        """The symbols in each context."""
        return np.array(list(map(len, self.contexts)), np.int64)

    @cached_property
    def entry_states(self) -> Integers:
        """The context of each listed symbol."""
        return np.repeat(np.arange(len(self.contexts)), list(map(len, self.symbols)))

    @cached_property
    def entry_codes(self) -> Integers:
        """Each listed symbol as a code of the alphabet."""
        points = np.array([ord(symbol) for symbols in self.symbols for symbol in symbols], np.uint32)
        return self.alphabet.codes(points)

    @cached_property
    def cost(self) -> NDArray[np.int16]:
        """`[s, x]`: what symbol x costs after context s."""
        table = np.zeros((len(self.contexts), self.alphabet.size), np.int16)
        for states, entries in self._by_length:
            table[states] = table[self.shorter[states]] + self.backoffs[states, None].astype(np.int16)
            table[self.entry_states[entries], self.entry_codes[entries]] = self.costs[entries]
        return table

    @cached_property
    def after(self) -> NDArray[np.int32]:
        """`[s, x]`: the context after symbol x, which is no ⊥, in context s."""
        table = np.zeros((len(self.contexts), self.alphabet.size), np.int32)
        code_of = {character: code for code, character in enumerate(self.alphabet.characters, 1)}
        for states, _ in self._by_length:
            table[states] = table[self.shorter[states]]
            longer = [
                (self._state_of[context[:-1]], code_of[context[-1]], state)
                for state, context in enumerate(self.contexts)
                if context not in ("", BOUNDARY) and len(context) - 1 == self.lengths[states.start]
            ]
            if longer:
                heads, codes, targets = np.array(longer, np.int64).T
                table[heads, codes] = targets
        return table

    @cached_property
    def _by_length(self) -> list[tuple[slice, slice]]:
        """The states of each length of context, and the entries of their lists, shortest first."""
        ends = np.searchsorted(self.lengths, np.arange(LONGEST_CONTEXT + 2))
        parts = np.searchsorted(self.entry_states, ends)
        return [
            (slice(int(ends[n]), int(ends[n + 1])), slice(int(parts[n]), int(parts[n + 1])))
            for n in range(LONGEST_CONTEXT + 1)
            if ends[n] < ends[n + 1]
        ]

    @cached_property
    def _tables(self) -> dict[bool, NDArray[np.integer]]:
        return {}

    def sizes(self, budget: int, *, prefixes: bool) -> NDArray[np.integer]:
        """`subtree_sizes`, computed once for the largest budget that was asked for."""
        table = self._tables.get(prefixes)
        if table is None or len(table) <= budget:
            table = self._tables[prefixes] = self.subtree_sizes(budget, prefixes=prefixes)
        return table

    def subtree_sizes(self, budget: int, *, prefixes: bool) -> NDArray[np.integer]:
        """`[b, s]`: how many strings that go on from context s cost at most b more, for each b up to `budget`.

        Words are counted, which end in ⊥, or prefixes if `prefixes` says so, s itself among them. A context shares what
        it does not list with the next shorter one, so the work is that of the lists alone, and not of every symbol
        after every context. From the first b on at which some context has `MOST_STRINGS`, every context counts as
        having so many. Numbers of less are unsigned ones of 32 bits, as phones have little memory: sums need more.
        """
        states = len(self.contexts)
        width, itself = states + 1, int(prefixes)
        # Row 0 is for budgets below 0, of which there is nothing, and the last column is the end of a word.
        sizes: NDArray[np.integer] = np.zeros((budget + 2, width), np.uint32)
        sizes[1:, states] = int(not prefixes)
        flat, shorter = sizes.ravel(), self.shorter
        below = shorter[self.entry_states]
        own = self._following(self.entry_states) - self.costs * width
        dearer = self.cost[below, self.entry_codes] + self.backoffs[self.entry_states]
        instead = self._following(below) - dearer * width
        inherited = shorter - self.backoffs * width
        starts = np.append(0, np.cumsum(list(map(len, self.symbols))))

        def look_up(index: Integers) -> Integers:
            return flat.take(index, mode="clip").astype(np.int64)

        for b in range(budget + 1):
            row = (b + 1) * width
            for group, entries in self._by_length:
                first = group.start == 0
                gained = look_up(own[entries] + row)
                if not first:
                    gained -= look_up(instead[entries] + row)
                running = np.append(0, np.cumsum(gained))
                mine = starts[group.start : group.stop + 1] - starts[group.start]
                total = running[mine[1:]] - running[mine[:-1]] + itself
                if not first:
                    total += look_up(inherited[group] + row) - itself * (self.backoffs[group] <= b)
                if total.max() >= MOST_STRINGS:
                    beyond = sizes.astype(np.int64)
                    beyond[b + 1 :, :states] = MOST_STRINGS
                    return beyond[1:, :states]
                sizes[b + 1, group] = total
        return sizes[1:, :states]

    def _following(self, states: Integers) -> Integers:
        """The context after each listed symbol, if that follows these; one more than the last for the end of a word."""
        return np.where(self.entry_codes > 0, self.after[states, self.entry_codes], len(self.contexts))
