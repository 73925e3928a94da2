"""What a campaign may collect, as far as can be told before anyone is asked, and the privacy that follows from it."""

from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.measurement import foreseen_batch
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.collection import Collection
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts
from neologue.release.facts import facts_of


def foreseen_facts(campaign: Campaign, measuring: Measuring | None, exposure: Exposure) -> PrivacyFacts:
    """The facts of a run that collects all that the campaign allows, seen by the observers of this exposure."""
    shown = tuple(LayerShown(batch, 0, 0) for batch in foreseen_collection(campaign).batches)
    measured = () if measuring is None else (foreseen_batch(campaign, measuring),)
    return facts_of(campaign.parameters, shown, exposure=exposure, measured=measured)


def foreseen_charge(campaign: Campaign, measuring: Measuring | None) -> Collection:
    """What a ledger is charged when a campaign starts; who sees which sums does not change what is collected."""
    return foreseen_facts(campaign, measuring, Exposure()).charged
