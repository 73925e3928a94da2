"""A small service with a log, which shows devices whatever it has."""

from typing import Any

from neologue.protocol.credential import Credential
from small_service import CAMPAIGN, Service
from transparency.logs import Log
from transparency.test_tiles import files_of

TODAY = 20_000
"""When its witnesses co-sign, in days since 1970."""


class LoggedService(Service):
    """A service with a log, which shows devices whatever it has."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log(campaign_id=CAMPAIGN, time=TODAY * 86_400)
        self.log.open(self.log.layer(0, self.layer.digest))
        self.proof: bytes | None = bytes(self.log.proof(0))

    def publish(self) -> None:
        """Show the log as it is now."""
        self.proof = bytes(self.log.proof(len(self.log.campaign) - 1))
        for prefix, entries in (("", self.log.operator), (f"campaigns/{CAMPAIGN.hex()}/", self.log.campaign)):
            self.documents |= {f"/log/{prefix}{path}": content for path, content in files_of(entries).items()}

    def invited(self, credential: Credential) -> dict[str, Any]:
        proof = {} if self.proof is None else {"proof": self.proof.hex()}
        return super().invited(credential) | proof
