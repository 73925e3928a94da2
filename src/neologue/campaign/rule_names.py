"""The names of the rules, with what a campaign has to know of each; `neologue.discovery.selection` has the rules."""

from typing import Final

JUDGES_LAYERS: Final = {"top": False, "significant": True}
"""By name, whether a rule judges words by the votes of several layers: its p-values can be taken of such sums."""


def judges_layers(rule: object) -> bool:
    """Whether the rule of this name judges words by the votes of several layers; a name without a rule does not."""
    return isinstance(rule, str) and JUDGES_LAYERS.get(rule, False)
