"""What a discovery tells while it runs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neologue.discovery.result import LayerFacts
    from neologue.protocol.closed_layer import ClosedLayer
    from neologue.protocol.layer import Layer


class Progress:
    """Progress callbacks; the default ignores them."""

    def on_layer_start(self, layer: "Layer") -> None:
        """The users of a layer are about to be asked."""

    def on_users(self, users: int) -> None:
        """More users of the layer have answered."""

    def on_layer_end(self, facts: "LayerFacts", words: int) -> None:
        """The layer is decided; `words` is the number of words found so far."""

    def on_measuring(self, layer: "ClosedLayer") -> None:
        """All words are found, and users who were not asked before are about to count them."""

    def on_scoring(self) -> None:
        """All layers are done, and the release is compared with the truth."""
