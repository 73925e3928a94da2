"""The progress of a discovery within a study."""

from neologue.simulation.progress import Progress
from neologue.studies.method import Advance


class StudyProgress(Progress):
    """Forwards the number of users who have answered."""

    def __init__(self, advance: Advance) -> None:
        self._advance = advance

    def on_users(self, users: int) -> None:
        """Forward the number of users who have just answered."""
        self._advance(users)
