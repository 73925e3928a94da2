"""The charge of a discovery to a ledger, from the options of a command."""

from pathlib import Path
from typing import TYPE_CHECKING

from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.measuring import Measuring
    from neologue.discovery.result import Release
    from neologue.ledger.ledger import Ledger
    from neologue.privacy.collection import Collection


class DiscoveryCharge:
    """The charge of one campaign; does nothing without a ledger."""

    def __init__(self, book: "Ledger | None", population: str, campaign: str) -> None:
        self._book, self._population, self._campaign = book, population, campaign

    def plan(self, campaign: "Campaign", measure: "Measuring | None") -> None:
        """Charge the foreseen cost, or refuse before anyone is asked."""
        from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
        from neologue.release.foreseen import foreseen_charge

        if self._book:
            rare = AnonymityChances.of(campaign.anonymity)
            self._book.plan(self._population, self._campaign, foreseen_charge(campaign, measure), rare)

    def plan_shape(self, cost: "Collection") -> None:
        """Charge an estimate of what people hold, or refuse before anything of it is drawn."""
        if self._book:
            self._book.plan(self._population, self._campaign, cost)

    def settle_shape(self, cost: "Collection") -> None:
        """Record that the estimate was made. It shows no word, so that no promise about rare ones is weakened."""
        if self._book:
            self._book.settle(self._campaign, cost, tells_words=False)

    @property
    def charges(self) -> bool:
        """Whether there is a ledger."""
        return self._book is not None

    def settle(self, release: "Release") -> None:
        """Replace the foreseen cost by the actual one; refuse the release if the budget does not cover it."""
        from neologue.release.facts import release_facts

        if self._book:
            self._book.settle(self._campaign, release_facts(release).charged)


def ledger_charge(ledger: Path | None, population: str | None, campaign: str | None) -> DiscoveryCharge:
    """The charge that the three options name together; without them, one that does nothing."""
    from neologue.ledger.ledger_file import open_ledger

    options = {"ledger": ledger, "population": population, "campaign": campaign}
    given = [name for name, value in options.items() if value]
    if given and len(given) < 3:
        missing = next(name for name, value in options.items() if not value)
        raise ParameterError(f"--{given[0]} needs --{missing} too: give a ledger, a population and a campaign")
    if ledger and population and campaign:
        return DiscoveryCharge(open_ledger(ledger), population, campaign)
    return DiscoveryCharge(None, "", "")
