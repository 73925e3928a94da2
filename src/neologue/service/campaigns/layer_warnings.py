"""What is implausible about the votes of a layer that is decided: for the release, or for the operator alone."""

from neologue.discovery.decision import Decision
from neologue.discovery.foretold import find_unforetold
from neologue.discovery.plausibility import find_gathered, find_implausible
from neologue.discovery.state import DiscoveryState
from neologue.discovery.tally import Tally
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.campaigns.layer_store import LayerRow
from neologue.service.storage.report_store import ReportStore


def find_warnings(
    storage: ReportStore,
    entry: CampaignRow,
    layers: list[LayerRow],
    state: DiscoveryState,
    tally: Tally,
    decision: Decision,
) -> tuple[list[str], list[str]]:
    """The warnings of the last of some layers, which is yet to be taken; and those that no release tells of."""
    layer, last = state.layer, layers[-1]
    assert layer is not None
    published, came, answered = find_implausible(layer, tally), tally, None
    if entry.definition.drawn:
        came = storage.came(entry.id, last.layer_index, last.candidates)
        answered = [*(row.round.reports - row.made_up for row in layers[:-1]), came.reports]
    unforetold = find_unforetold(state, decision, answered)
    parts = storage.parts(entry.id, last.layer_index, last.candidates)
    gathered = find_gathered(layer, came, decision.index, parts)
    # Where slots are drawn, how many came is published nowhere, and neither is what follows from it.
    (gathered if entry.definition.drawn else published).extend(unforetold)
    return published, gathered
