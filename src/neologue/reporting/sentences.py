"""What a release protects, and what its figures mean, in sentences for a page."""

from neologue.discovery.measurement import Measurement
from neologue.privacy.statement import APPLIES_TO, Source

ON_DEVICES = APPLIES_TO[Source.DEVICES]

PREFIX_NOTE = (
    "About this many users type words that begin like this and were not found. No layer asked how they continue, or "
    "too few users type the same one."
)


def what_finds_more(k: int, layer_size: int, most_users: float) -> str:
    """Advice for a campaign that finds nothing, whose most frequent word has so many users in a layer."""
    if most_users < k:
        return (
            f"k = {k:,} hides them all, as no word has so many users in a layer of {layer_size:,}; a smaller k "
            "(--k-anonymity) finds more"
        )
    return "more users, a larger ε or a smaller k find more"


def interval_note(measurement: Measurement | None) -> str:
    """What an interval of a word is about, and where the number of its holders is."""
    about = (
        "Estimates and 95 % intervals are about the users who would report a word, not about all who hold it. A user "
        "with more new words than fit into a report counts only in part, so more users may hold a word than its "
        "interval says."
    )
    if measurement is None or not measurement.decided:
        return f"{about} How many hold it was not measured."
    return (
        f"{about} The measured counts are about all holders, as long as hardly anybody has more new words than fit "
        "into a report."
    )
