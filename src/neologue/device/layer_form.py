"""The form of a layer: what no policy permits, whatever the limits of its owner are."""

from collections.abc import Iterator

from neologue.language.candidates import Strings
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import ExtendingLayer, Layer, LikelyLayer
from neologue.protocol.layer_fields import LARGEST_NUMBER
from neologue.randomizers.registry import RANDOMIZERS
from neologue.randomizers.thresholds import LARGEST_EPSILON, SMALLEST_EPSILON


def form_complaints(layer: Layer | ClosedLayer) -> Iterator[str]:
    """What no policy permits."""
    numbers = {"cohort": layer.layer_size, "depth": layer.depth, "bound": layer.bound}
    if isinstance(layer, Layer):
        numbers |= {"pass": layer.pass_number, "number": layer.number}
    if isinstance(layer, ExtendingLayer):
        numbers |= {"extension": layer.extension}
    for name, value in numbers.items():
        # The value isn't named: Python refuses to write numbers of thousands of digits.
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= LARGEST_NUMBER:
            yield f"the layer's {name} is no whole number from 1 to {LARGEST_NUMBER:,}; no policy permits that"
    # Written so that it also rejects NaN.
    if not SMALLEST_EPSILON <= layer.epsilon <= LARGEST_EPSILON:
        yield f"the layer's ε is no number from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}; no policy permits that"
    if layer.mechanism not in RANDOMIZERS:
        yield (
            f"the layer's randomizer is not one of {', '.join(RANDOMIZERS)}, the ones that this device can answer for; "
            "a newer neologue may know it"
        )
    if isinstance(layer, LikelyLayer) and layer.asked.size < 1:
        yield "the layer asks about no string at all; no policy permits that"
    longest = max(map(len, strings_of(layer).tolist()), default=0)
    # Only a root may be empty, and even that has room for a character.
    if max(longest, int(isinstance(layer, LikelyLayer))) != strings_of(layer).dtype.itemsize // 4:
        yield "the layer's prefixes or words are not as long as they claim to be; no policy permits that"
    # Lists are hashed line by line: such a word would pass for several, and the signature for that of another list.
    if not layer.known.is_list_of_lines:
        yield "a known word of the layer has a line break, so that its digest doesn't vouch for the list of them"


def strings_of(layer: Layer | ClosedLayer) -> Strings:
    """The prefixes that a layer goes on from, or its words."""
    return layer.words if isinstance(layer, ClosedLayer) else layer.beginnings


def fits_into(layer: Layer | ClosedLayer, most: int) -> bool:
    """Whether a layer has at most so many candidates; stops early, since every symbol at least doubles them."""
    if not isinstance(layer, ExtendingLayer):
        return layer.randomizer.candidates <= most
    extensions = 1
    for _ in range(layer.extension):
        extensions = 1 + (layer.alphabet.size - 1) * extensions
        if len(layer.frontier) * extensions > most:
            return False
    return True
