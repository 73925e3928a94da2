"""The states of campaigns and layers, as the database has them.

campaign   draft ──► running ◄──► paused          a draft, a running or a paused one may be aborted
└──► released, refused
layer      open ──► closed ──► decided
"""

from enum import StrEnum
from typing import Final


class CampaignState(StrEnum):
    """How far a campaign has come."""

    DRAFT = "draft"
    RUNNING = "running"
    PAUSED = "paused"
    RELEASED = "released"
    REFUSED = "refused"
    """The population's budget did not cover what was collected and what would have come."""
    ABORTED = "aborted"


class LayerState(StrEnum):
    """How far a layer has come."""

    OPEN = "open"
    """Reports are counted."""
    CLOSED = "closed"
    DECIDED = "decided"
    """Its votes are erased."""


OVER: Final = frozenset({CampaignState.RELEASED, CampaignState.REFUSED, CampaignState.ABORTED})
"""The states of campaigns that have ended."""
