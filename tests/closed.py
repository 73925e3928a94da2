"""Small closed layers that several tests are about."""

from typing import Any

from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.closed_layer import ClosedLayer


def small_closed_layer(words: list[str], /, **changes: Any) -> ClosedLayer:  # noqa: ANN401
    """A closed layer over a, b, c."""
    told: dict[str, Any] = {
        "layer_size": 1000,
        "alphabet": Alphabet("abc"),
        "words": strings(sorted(words)),
        "depth": 6,
        "mechanism": "unary",
        "epsilon": 3.0,
        "bound": 4,
        "known": Vocabulary(["known", "cab"]),
    }
    return ClosedLayer(**told | changes)
