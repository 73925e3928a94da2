"""Everything that runs on a device. Imports NumPy, cryptography and the standard library alone."""

from neologue.device.account import Account
from neologue.device.contribution import contribute
from neologue.device.diary import Diary
from neologue.device.policy import Policy

__all__ = ["Account", "Diary", "Policy", "contribute"]
