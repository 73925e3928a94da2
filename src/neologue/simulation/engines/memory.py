"""Checks that a campaign fits into the memory of this machine, before anyone is asked."""

from pathlib import Path

import psutil

from neologue.campaign.campaign import Campaign
from neologue.errors import EngineError

BASE = 700 << 20
"""Bytes for the code, a language and a chunk of users."""
PER_CANDIDATE = 128
"""Bytes for votes, their law and their ranking; 30 to 50 were measured with the rule `top`, whose layers are full."""
PER_THREAD = 12
"""Bytes for the counters of a candidate in each thread, and their sum."""
GROUP_LIMIT = Path("/sys/fs/cgroup/memory.max")
"""The memory limit of a container; the file exists only in one, and only on some systems."""


def check_memory(campaign: Campaign, threads: int, free: int | None = None) -> None:
    """Refuse layers that do not fit into free memory, and say how many candidates would."""
    available = free_memory() if free is None else free
    each = PER_CANDIDATE + threads * PER_THREAD
    largest = largest_layer(campaign)
    if BASE + largest * each <= available:
        return
    fits = max(0, available - BASE) // each
    raise EngineError(
        f"layers of {largest:,} candidates need about {(BASE + largest * each) / 1e9:.1f} GB of memory, and "
        f"{available / 1e9:.1f} GB are free; {fits:,} candidates would fit: use --candidates {fits} "
        f"and a --frontier of at most {fits // campaign.alphabet.size}"
        if fits >= campaign.alphabet.size * (campaign.alphabet.size - 1)  # all pairs, the least to begin with
        else f"a run needs more than {BASE / 1e9:.1f} GB of memory, and {available / 1e9:.1f} GB are free; free some"
    )


def largest_layer(campaign: Campaign) -> int:
    """The largest possible number of candidates of a layer of the campaign."""
    if campaign.parameters.layers is not None:
        return campaign.largest_layer
    return max(campaign.alphabet.size - 1, campaign.widest_frontier) * campaign.alphabet.size


def free_memory() -> int:
    """The memory that is available to this process, in bytes."""
    free = int(psutil.virtual_memory().available)
    try:
        limit = int(GROUP_LIMIT.read_text())
    except (OSError, ValueError):  # no container, or one without a limit, which says "max"
        return free
    return min(free, limit - psutil.Process().memory_info().rss)
