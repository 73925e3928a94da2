"""Everything that runs on a device. Imports NumPy, cryptography and the standard library alone."""

from neologue.device.client import Client
from neologue.device.contribution import contribute
from neologue.device.library import Library
from neologue.device.network.transport import HttpTransport, Response, Transport
from neologue.device.policy import Policy
from neologue.device.sending_time import SendingTime, SendingWindow
from neologue.device.storage.diary import Diary
from neologue.device.storage.spending_record import SpendingRecord
from neologue.device.tick import State, Tick

__all__ = [
    "Client",
    "Diary",
    "HttpTransport",
    "Library",
    "Policy",
    "Response",
    "SendingTime",
    "SendingWindow",
    "SpendingRecord",
    "State",
    "Tick",
    "Transport",
    "contribute",
]
