"""Everything that runs on a device. Imports NumPy, cryptography and the standard library alone."""

from neologue.device.contribution import contribute
from neologue.device.diary import Diary

__all__ = ["Diary", "contribute"]
