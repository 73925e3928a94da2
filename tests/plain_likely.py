"""Likely candidates by a plain reading of docs/protocol.md, with nothing of neologue: every string is written out."""

from collections.abc import Iterator
from typing import Any

Told = dict[str, Any]
END = "\0"


class PlainLikely:
    """The candidates of a layer's document, in order."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.symbols = [END, *told["alphabet"]]
        left = iter(told["costs"])
        self.lists = [{symbol: next(left) for symbol in listed} for listed in told["symbols"]]
        self.state = {context: number for number, context in enumerate(told["contexts"])}
        self.closed: list[list[set[str]]] = [[{END}]]
        for number in range(1, len(told["roots"])):
            self.closed.append([self.asked_after(number - 1, root) for root in told["roots"][number]])
        last = len(self.closed) - 1
        fresh = list(self.strings(last, told["limits"][last], told["prefix_limits"][last]))
        again = [list(self.strings(number, told["again"][number], 0)) for number in range(last)]
        self.parts = [fresh, *again]
        self.candidates = [string for part in self.parts for string in part]

    def cost(self, context: str, symbol: str) -> int:
        """What a symbol costs after a context."""
        state = self.state[context]
        listed = self.lists[state]
        if symbol in listed:
            return int(listed[symbol])
        return int(self.told["backoffs"][state]) + self.cost(context[1:], symbol)

    def context(self, prefix: str) -> str:
        """The longest ending of a prefix, with its beginning before it, that is a context."""
        text = END + prefix
        return next(text[cut:] for cut in range(len(text) + 1) if text[cut:] in self.state)

    def root_of(self, number: int, text: str) -> int | None:
        """The longest root of a round that a text begins with."""
        roots = self.told["roots"][number]
        fitting = [rank for rank, root in enumerate(roots) if text.startswith(root)]
        return max(fitting, key=lambda rank: len(roots[rank]), default=None)

    def next_cost(self, number: int, rank: int, symbol: str) -> int | None:
        """What a root costs with a symbol behind it; None if that is closed."""
        if symbol in self.closed[number][rank]:
            return None
        modelled = self.told["root_costs"][number][rank] + self.cost(
            self.context(self.told["roots"][number][rank]), symbol
        )
        return int(min(modelled, self.told["even_costs"][number][rank]))

    def string_cost(self, number: int, rank: int, text: str) -> int | None:
        """What a string below a root costs; ⊥ may be its last symbol."""
        length = len(self.told["roots"][number][rank])
        total = self.next_cost(number, rank, text[length])
        for place in range(length + 1, len(text)):
            if total is None:
                return None
            total += self.cost(self.context(text[:place]), text[place])
        return total

    def asks(self, number: int, text: str) -> bool:
        """Whether a round asks about a string, whatever earlier ones did: a root, or what is likely below one."""
        told = self.told
        rank = self.root_of(number, text)
        if rank is None or (not text.endswith(END) and not told["prefix_limits"][number]):
            return False
        if text == told["roots"][number][rank]:
            return True
        cost = self.string_cost(number, rank, text)
        return cost is not None and cost <= told["limits" if text.endswith(END) else "prefix_limits"][number]

    def asked_before(self, number: int, word: str) -> bool:
        """Whether an earlier round than this asked about a word."""
        return any(self.asks(earlier, word + END) for earlier in range(number))

    def asked_after(self, number: int, prefix: str) -> set[str]:
        """The symbols behind a prefix that a round, or one before it, asked about."""
        assert self.asks(number, prefix)
        rank = self.root_of(number, prefix)
        assert rank is not None
        before = self.closed[number][rank] if self.told["roots"][number][rank] == prefix else set()
        return before | {symbol for symbol in self.symbols if self.asks(number, prefix + symbol)}

    def strings(self, number: int, limit: int, prefix_limit: int) -> Iterator[tuple[str, bool]]:
        """The strings of a round, in order, and whether each is a word."""
        for rank, root in enumerate(self.told["roots"][number]):
            if prefix_limit:
                yield root, False
            for symbol in self.symbols:
                cost = self.next_cost(number, rank, symbol)
                if cost is not None and cost <= limit:
                    for text, ends, spent in self._below(root, symbol, cost, limit):
                        if self.asked_before(number, text) if ends else spent > prefix_limit:
                            continue
                        yield text, ends

    def _below(self, prefix: str, symbol: str, spent: int, limit: int) -> Iterator[tuple[str, bool, int]]:
        if symbol == END:
            yield prefix, True, spent
            return
        text = prefix + symbol
        yield text, False, spent
        for further in self.symbols:
            cost = self.cost(self.context(text), further)
            if spent + cost <= limit:
                yield from self._below(text, further, spent + cost, limit)

    def index(self, word: str) -> int | None:
        """The candidate that a word belongs to."""
        if not set(word) <= set(self.symbols[1:]):
            return None
        if (word, True) in self.candidates:
            return self.candidates.index((word, True))
        last = len(self.closed) - 1
        rank = self.root_of(last, word)
        if rank is None or not self.told["prefix_limits"][last] or self.asked_before(last, word):
            return None
        root = self.told["roots"][last][rank]
        if (word + END)[len(root)] in self.closed[last][rank]:
            return None
        longest = max(cut for cut in range(len(root), len(word) + 1) if (word[:cut], False) in self.candidates)
        return self.candidates.index((word[:longest], False))
