"""What all campaigns of a population together promise for words that few report."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from operator import add

from neologue.privacy.anonymity.anonymity_chances import NO_PROMISE, AnonymityChances
from neologue.privacy.digits import shown


@dataclass(frozen=True)
class RareWords(AnonymityChances):
    """The chances that add up over all campaigns of a population that told anything."""

    campaigns: int
    """How many these are."""

    @classmethod
    def over(cls, told: Sequence[AnonymityChances | None]) -> "RareWords | None":
        """Those of the campaigns that told anything, None for what nobody knows; None without such campaigns."""
        if not told:
            return None
        total = reduce(add, (chances or NO_PROMISE for chances in told))
        return cls(**asdict(total), campaigns=len(told))

    @property
    def sentences(self) -> tuple[str, str]:
        """What holds for words that fewer than k report, and for those of one user, in plain words."""
        told = "the campaign" if self.campaigns == 1 else f"any of the {self.campaigns:,} campaigns"
        them = "it" if self.campaigns == 1 else "any of them"
        few = (
            f"What fewer than {self.k:,} users report to the layers of a campaign that judge it may have been "
            f"published by {told} that told anything with a chance of at most {shown(self.chance)}."
            if self.k
            else "At least one campaign that told anything promises nothing for what few users report."
        )
        unique = (
            f"A word of one user alone may have been shown by {them} with a chance of at most "
            f"{shown(self.unique_chance)}, {_even_if(self.hostile_devices)}."
            if self.unique_chance < 1
            else "Nothing is promised for a word of one user alone: at least one campaign that told anything promises "
            "nothing, or their chances add up to 1."
        )
        return few, unique


def _even_if(hostile: int) -> str:
    if not hostile:
        return "if no device is hostile"
    return f"even if {hostile:,} {'device of each layer is' if hostile == 1 else 'devices of each layer are'} hostile"
