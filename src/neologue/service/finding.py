"""What a check of a deployment found."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["good", "doubtful", "unsafe"]


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    verdict: Verdict
    what: str
    """A sentence, with the remedy where one is needed."""
