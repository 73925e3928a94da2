"""Everything that runs on a device. Imports NumPy, cryptography and the standard library alone."""

from neologue.device.client import Client, State, Tick
from neologue.device.contribution import contribute
from neologue.device.diary import Diary
from neologue.device.library import Library
from neologue.device.policy import Policy
from neologue.device.spending_record import SpendingRecord
from neologue.device.transport import HttpTransport, Response, Transport

__all__ = [
    "Client",
    "Diary",
    "HttpTransport",
    "Library",
    "Policy",
    "Response",
    "SpendingRecord",
    "State",
    "Tick",
    "Transport",
    "contribute",
]
