"""Find the new words that millions of people type, without anyone having to say what they typed.

>>> from neologue import Campaign, Population, Vocabulary, discover

`Population` holds users and their words, `Campaign` says what is asked of them, and `discover` runs it. `plan`
forecasts a campaign before anyone is asked, `certify` checks a release, and `Ledger` keeps count of what populations
have spent.
`Unary` and `SubsetSelection` are the randomizers of devices, `central_epsilon` and `composed_epsilon` are accountants.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.measuring import Measuring
    from neologue.device.contribution import contribute
    from neologue.device.storage.diary import Diary
    from neologue.errors import NeologueError
    from neologue.language.alphabet import Alphabet
    from neologue.language.vocabulary import Vocabulary
    from neologue.ledger.budget import Budget
    from neologue.ledger.composition import composed_epsilon
    from neologue.ledger.ledger import Ledger
    from neologue.ledger.ledger_file import create_ledger, open_ledger
    from neologue.planning.plan import Plan
    from neologue.populations.population import Population
    from neologue.populations.record_table import Columns
    from neologue.privacy.collection import Batch, Collection
    from neologue.privacy.cost import central_epsilon
    from neologue.randomizers.subset_selection import SubsetSelection
    from neologue.randomizers.unary import Unary
    from neologue.release.certification.certificate import Certification
    from neologue.simulation.progress import Progress
    from neologue.workbench.certifying import certify
    from neologue.workbench.discovering import Discovery, discover
    from neologue.workbench.planning_ahead import plan

__version__ = "0.2.0"

__all__ = [
    "Alphabet",
    "Batch",
    "Budget",
    "Campaign",
    "Certification",
    "Collection",
    "Columns",
    "Diary",
    "Discovery",
    "Ledger",
    "Measuring",
    "NeologueError",
    "Plan",
    "Population",
    "Progress",
    "SubsetSelection",
    "Unary",
    "Vocabulary",
    "central_epsilon",
    "certify",
    "composed_epsilon",
    "contribute",
    "create_ledger",
    "discover",
    "open_ledger",
    "plan",
]

_HOMES = {
    "Alphabet": "neologue.language.alphabet",
    "Batch": "neologue.privacy.collection",
    "Budget": "neologue.ledger.budget",
    "Campaign": "neologue.campaign.campaign",
    "Certification": "neologue.release.certification.certificate",
    "Collection": "neologue.privacy.collection",
    "Columns": "neologue.populations.record_table",
    "Diary": "neologue.device.storage.diary",
    "Discovery": "neologue.workbench.discovering",
    "Ledger": "neologue.ledger.ledger",
    "Measuring": "neologue.campaign.measuring",
    "NeologueError": "neologue.errors",
    "Plan": "neologue.planning.plan",
    "Population": "neologue.populations.population",
    "Progress": "neologue.simulation.progress",
    "SubsetSelection": "neologue.randomizers.subset_selection",
    "Unary": "neologue.randomizers.unary",
    "Vocabulary": "neologue.language.vocabulary",
    "central_epsilon": "neologue.privacy.cost",
    "certify": "neologue.workbench.certifying",
    "composed_epsilon": "neologue.ledger.composition",
    "contribute": "neologue.device.contribution",
    "create_ledger": "neologue.ledger.ledger_file",
    "discover": "neologue.workbench.discovering",
    "open_ledger": "neologue.ledger.ledger_file",
    "plan": "neologue.workbench.planning_ahead",
}


def __getattr__(name: str) -> object:
    # Loaded when first used: a device needs nothing of the simulator, and `--help` needs nothing at all.
    if name not in _HOMES:
        raise AttributeError(f"module 'neologue' has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if not (error.name or "").startswith("neologue."):
            raise
        raise ImportError(f"{name} is not a part of neologue-device: install neologue in its place") from error


def __dir__() -> list[str]:
    return [*globals(), *__all__]
