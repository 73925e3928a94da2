"""How far a discovery has come, as the runs of a study tell it."""

from neologue.simulation.discovery_run import Progress
from neologue.studies.method import Advance


class StudyProgress(Progress):
    """Passes on how many more users have answered."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance

    def on_users(self, users: int) -> None:
        """So many more users of the cohort have answered."""
        self._advance(users)
