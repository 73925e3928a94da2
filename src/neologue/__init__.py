"""Find the new words that millions of people type, without anyone having to say what they typed.

>>> from neologue import Campaign, Population, Vocabulary, discover

`Population` holds users and their words, `Campaign` says what is asked of them, and `discover` runs it.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.measuring import Measuring
    from neologue.device import Diary, contribute
    from neologue.errors import NeologueError
    from neologue.language.alphabet import Alphabet
    from neologue.language.vocabulary import Vocabulary
    from neologue.populations.population import Population
    from neologue.populations.record_table import Columns
    from neologue.simulation.discovery_run import Discovery, discover
    from neologue.simulation.progress import Progress

__version__ = "0.2.0"

__all__ = [
    "Alphabet",
    "Campaign",
    "Columns",
    "Diary",
    "Discovery",
    "Measuring",
    "NeologueError",
    "Population",
    "Progress",
    "Vocabulary",
    "contribute",
    "discover",
]

_HOMES = {
    "Alphabet": "neologue.language.alphabet",
    "Campaign": "neologue.campaign.campaign",
    "Columns": "neologue.populations.record_table",
    "Diary": "neologue.device.diary",
    "Discovery": "neologue.simulation.discovery_run",
    "Measuring": "neologue.campaign.measuring",
    "NeologueError": "neologue.errors",
    "Population": "neologue.populations.population",
    "Vocabulary": "neologue.language.vocabulary",
    "Progress": "neologue.simulation.progress",
    "contribute": "neologue.device.contribution",
    "discover": "neologue.simulation.discovery_run",
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
