"""What a campaign may collect, as far as can be told before anyone is asked, and the privacy that follows from it."""

from dataclasses import replace

from neologue.campaign.campaign import Campaign
from neologue.campaign.measuring import Measuring
from neologue.discovery.measurement import foreseen_batch
from neologue.layout.schedule import foreseen_collection
from neologue.privacy.allocation.planned_layers import Allocation
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.statement import Exposure, LayerShown, PrivacyFacts
from neologue.release.facts import facts_of, hidden_allocation


def foreseen_facts(campaign: Campaign, measuring: Measuring | None, exposure: Exposure) -> PrivacyFacts:
    """The facts of a run that collects all that the campaign allows, seen by the observers of this exposure."""
    batches, layers = foreseen_collection(campaign).batches, campaign.parameters.layers
    shown = tuple(LayerShown(batch, 0, 0) for batch in batches)
    if layers is not None:
        shown = tuple(
            LayerShown(batch, 0, 0, batches[place - place % layers : place], layers - 1 - place % layers)
            for place, batch in enumerate(batches)
        )
    measured = () if measuring is None else (foreseen_batch(campaign, measuring),)
    allocation = foreseen_allocation(campaign, measuring, exposure)
    return facts_of(campaign.parameters, shown, exposure=exposure, measured=measured, allocation=allocation)


def foreseen_allocation(campaign: Campaign, measuring: Measuring | None, exposure: Exposure) -> Allocation:
    """All layers that are planned, if readers will not learn in which one a user was."""
    parameters = campaign.parameters
    asked = campaign.users // (parameters.passes * (parameters.layers or 1))
    return hidden_allocation(parameters, asked, measuring.users if measuring else 0, exposure)


def foreseen_charge(campaign: Campaign, measuring: Measuring | None) -> Collection:
    """What a ledger is charged when a campaign starts; who sees which sums does not change what is collected."""
    facts = foreseen_facts(campaign, measuring, Exposure())
    batches = tuple(charged_layer(campaign, batch) for batch in facts.received.batches)
    return replace(facts.charged, batches=batches)


def charged_layer(campaign: Campaign, batch: Batch) -> Batch:
    """The honest reports that are charged for a layer before anyone answers it.

    All that it asks for; or, where a central ε is promised, the fewest with which it can be decided.
    """
    parameters = campaign.parameters
    reports = batch.reports
    if parameters.promised_epsilon is not None and not parameters.drawn:
        reports = min(reports, campaign.fewest_reports(batch.candidates))
    asked = Collection(
        parameters.randomizer, campaign.epsilon, parameters.words_per_user, (replace(batch, reports=reports),)
    )
    return asked.in_sums_of(None, parameters.colluders).batches[0]
