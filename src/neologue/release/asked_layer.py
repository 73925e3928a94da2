"""A layer of a release beside the document that its devices were given."""

from dataclasses import dataclass

from neologue.discovery.result import LayerFacts
from neologue.protocol.layer import Layer


@dataclass(frozen=True)
class AskedLayer:
    """A layer of a release beside the document that its devices were given."""

    facts: LayerFacts
    layer: Layer

    @property
    def name(self) -> str:
        """What it is called in objections."""
        return layer_name(self.facts)


def layer_name(facts: LayerFacts) -> str:
    """What a layer is called in objections."""
    return f"pass {facts.pass_number} layer {facts.layer}"
