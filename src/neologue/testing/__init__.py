"""What the tests of an app need: a service inside the process, a policy that trusts it, and no waiting."""

from neologue.testing.rehearsal_service import AT_ONCE, RehearsalService

__all__ = ["AT_ONCE", "RehearsalService"]
