"""The plots of a discovery, each with a title and a sentence for people who don't read plots every day."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.ticker import MaxNLocator

from neologue.discovery.result import LayerFacts, ReleasedWord
from neologue.reporting.svg import DIED, INK, LIVED, MUTED, WORD, Picture, plot, short_numbers

MOST_POINTS = 400


def found_by_holders(words: Sequence[ReleasedWord], truth: Mapping[str, int]) -> Picture:
    """How widely held a word has to be to be found."""
    edges = _edges(max(truth.values(), default=1))
    held, found = (
        np.histogram([truth.get(word, 0) for word in among], edges)[0] for among in (truth, [w.word for w in words])
    )
    groups = [index for index, count in enumerate(held) if count]
    labels = [f"{_short(edges[index])}–{_short(edges[index + 1])}" if edges[index] > 1 else "1" for index in groups]
    shares = [100 * found[index] / held[index] for index in groups]
    with plot("holders", "Bars: share of words found, by how many users hold them") as drawn:
        axes = drawn.axes
        axes.bar(range(len(labels)), shares, color=WORD, width=0.75)
        for index, (share, count) in enumerate(zip(shares, held[groups].tolist(), strict=True)):
            axes.text(index, share + 1, _short(count), ha="center", va="bottom", fontsize=8)
        axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
        axes.set(xlabel="users who hold the word", ylabel="words found, %", ylim=(0, 112), yticks=range(0, 101, 25))
        axes.grid(axis="x", visible=False)
        svg = drawn.svg()
    return Picture(
        "How widely held must a word be to be found?",
        svg,
        "Each bar is a group of words that about as many users hold: its height is the share of them that was found, "
        "the number on it how many words there are.",
    )


def estimates_against_truth(words: Sequence[ReleasedWord], truth: Mapping[str, int]) -> Picture:
    """Estimates with their intervals, over the true number of holders."""
    real = [word for word in words if word.word in truth]
    # Evenly over the ranks, so that rare words are seen as well as the few that everybody holds.
    chosen = np.unique(np.linspace(0, len(real) - 1, min(MOST_POINTS, len(real))).round().astype(int))
    points = [real[index] for index in chosen.tolist()]
    right = [word.low <= truth[word.word] <= word.high for word in points]
    # Many intervals reach down to nobody, which a logarithmic axis has no place for.
    floor = max(min((word.estimate for word in points), default=1.0) / 10, 1.0)
    with plot("estimates", "Scatter plot: estimated users over users who hold the word, with intervals", 3.9) as drawn:
        axes = drawn.axes
        for wanted, colour, label in ((True, LIVED, "interval contains the truth"), (False, DIED, "it does not")):
            mine = [word for word, inside in zip(points, right, strict=True) if inside == wanted]
            if mine:
                x = [truth[word.word] for word in mine]
                axes.vlines(x, [max(word.low, floor) for word in mine], [word.high for word in mine], colour, lw=0.7)
                axes.plot(x, [max(word.estimate, floor) for word in mine], ".", color=colour, ms=4, label=label)
        if points:
            ends = [min(truth[word.word] for word in points), max(truth[word.word] for word in points)]
            axes.plot(ends, ends, color=INK, lw=1, ls="--", label="estimate = holders")
            axes.legend(loc="upper left")
        axes.set(xscale="log", yscale="log", xlabel="users who hold the word (truth)")
        axes.set_ylabel("users who would report it (estimate)")
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_major_formatter(short_numbers())
            axis.set_minor_formatter(lambda value, index: "")
        svg = drawn.svg()
    some = f"{len(points):,} of {len(words):,} words, evenly over the ranks. " if len(points) < len(words) else ""
    return Picture(
        "Are the estimates right?",
        svg,
        f"{some}A point is an estimate, its line the 95 % interval. An estimate counts users who hold the word and "
        "have it in the sample of words that their report speaks of, so points of short words, which compete with many "
        "others, lie below the dashed line.",
    )


def growth_of_trie(layers: Sequence[LayerFacts]) -> Picture:
    """What every layer of a trie kept."""
    return Picture(
        "How did the trie grow?",
        _kept_by_layer(layers, "words that end here", "prefixes that go on"),
        "Layer by layer, other users are asked about longer prefixes. What gets enough votes lives: as a word if it "
        "ends there, as a prefix to go on from if not.",
    )


def growth_of_words(layers: Sequence[LayerFacts]) -> Picture:
    """What every layer that asks about likely strings kept."""
    return Picture(
        "What did each layer add?",
        _kept_by_layer(layers, "words found", "beginnings kept"),
        "Every layer finds words: some that it asks about for the first time, some that had too few votes before. "
        "Beginnings that users go on from in ways that were not asked about are where the next layer looks.",
    )


def places_by_layer(labels: Sequence[str], shares: Mapping[str, Sequence[float]]) -> Picture:
    """What of all that users hold each layer has found, asked about, or still ahead."""
    colours = {"found": (WORD, 1.0), "asked": (LIVED, 1.0), "ahead": (LIVED, 0.45), "lost": (DIED, 0.75)}
    names = {
        "found": "found",
        "asked": "asked about, too few votes yet",
        "ahead": "behind a kept beginning",
        "lost": "neither",
    }
    with plot("places", "Stacked bars: what became of all that users hold, layer by layer", 3.9) as drawn:
        axes, below = drawn.axes, np.zeros(len(labels))
        for place, (colour, alpha) in colours.items():
            heights = 100 * np.asarray(shares[place], np.float64)
            axes.bar(
                range(len(labels)), heights, bottom=below, color=colour, alpha=alpha, width=0.75, label=names[place]
            )
            below += heights
        axes.set_xticks(range(len(labels)), labels)
        axes.set(xlabel="after layer", ylabel="of all that users hold, %", ylim=(0, 100))
        axes.grid(axis="x", visible=False)
        drawn.figure.legend(loc="outside upper center", ncols=2)
        svg = drawn.svg()
    return Picture(
        "What became of all that users hold?",
        svg,
        "All pairs of a user and an unknown word they hold. A word that the layer asked about and that had too few "
        "votes may be asked about again, by other users; behind a beginning that is kept, the next layer asks further.",
    )


def _kept_by_layer(layers: Sequence[LayerFacts], ending: str, going_on: str) -> str:
    positions = range(len(layers))
    kept, words = [layer.kept for layer in layers], [layer.words for layer in layers]
    labels = layer_labels(layers)
    with plot("layers", "Stacked bars: words found and prefixes kept in every layer") as drawn:
        axes = drawn.axes
        axes.bar(positions, words, color=WORD, width=0.75, label=ending)
        axes.bar(positions, kept, bottom=words, color=LIVED, width=0.75, label=going_on)
        every = max(1, -(-len(labels) // 16))
        axes.set_xticks(list(positions)[::every], labels[::every])
        axes.set(xlabel="layer", ylabel="kept")
        axes.yaxis.set_major_formatter(short_numbers())
        axes.grid(axis="x", visible=False)
        axes.legend(loc="best")
        return drawn.svg()


def words_by_length(words: Sequence[ReleasedWord], truth: Mapping[str, int]) -> Picture:
    """How many words of each length were found, and how much of what users hold they cover."""
    found = {word.word for word in words}
    lengths = range(1, max(map(len, [*truth, *found]), default=1) + 1)
    pairs: Counter[int] = Counter()
    covered: Counter[int] = Counter()
    for word, users in truth.items():
        pairs[len(word)] += users
        covered[len(word)] += users if word in found else 0
    total = max(sum(pairs.values()), 1)
    with plot("lengths", "Bars: what users hold by word length, and how much of it was found") as drawn:
        axes = drawn.axes
        axes.bar(lengths, [100 * pairs[n] / total for n in lengths], color=MUTED, alpha=0.35, label="held")
        axes.bar(lengths, [100 * covered[n] / total for n in lengths], color=WORD, width=0.5, label="found")
        axes.set(xlabel="characters of the word", ylabel="of all that users hold, %")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(axis="x", visible=False)
        axes.legend(loc="best")
        svg = drawn.svg()
    return Picture(
        "Short words or long ones?",
        svg,
        "The wide bars share out all pairs of a user and an unknown word they hold; the narrow ones are the part whose "
        "word was found. Together the narrow ones are the coverage.",
    )


def layer_labels(layers: Sequence[LayerFacts]) -> list[str]:
    """The layers' numbers, with those of their passes where there are several."""
    several = len({layer.pass_number for layer in layers}) > 1
    return [f"{layer.pass_number}.{layer.layer}" if several else str(layer.layer) for layer in layers]


def _edges(most: int) -> list[int]:
    """1, 2, 5, 10, 20, 50, … up to beyond the most."""
    edges = [1]
    while edges[-1] <= most:
        edges.append(edges[-1] * (5 if str(edges[-1])[0] == "2" else 4) // 2)
    return edges


def _short(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.2g}k" if number < 99_500 else f"{number / 1000:,.0f}k"
