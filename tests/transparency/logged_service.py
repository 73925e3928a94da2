"""A small service with a log, which shows devices whatever it has."""

from typing import Any

from neologue.conformance.scripted_log import ScriptedLog
from neologue.protocol.credential import Credential
from small_service import CAMPAIGN, Service

TODAY = 20_000
"""When its witnesses co-sign, in days since 1970."""


class LoggedService(Service):
    """A service with a log, which shows devices whatever it has."""

    def __init__(self) -> None:
        super().__init__()
        self.log = ScriptedLog(CAMPAIGN, time=TODAY * 86_400)
        self.log.open(self.log.layer(0, self.layer.digest))
        self.proof: bytes | None = bytes(self.log.proof(0))

    def publish(self) -> None:
        """Show the log as it is now."""
        self.proof = bytes(self.log.proof(len(self.log.campaign) - 1))
        self.documents |= {f"/log/{path}": tile for path, tile in self.log.files().items()}

    def invited(self, credential: Credential) -> dict[str, Any]:
        proof = {} if self.proof is None else {"proof": self.proof.hex()}
        return super().invited(credential) | proof
