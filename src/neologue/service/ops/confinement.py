"""What the system lets a process do beyond serving: as little as possible, so that whoever breaks in gets no further.

None stands for what this system does not tell.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_STATUS: Final = Path("/proc/self/status")
_GROUP: Final = Path("/proc/self/cgroup")
_GROUPS: Final = Path("/sys/fs/cgroup")
_SWAPS: Final = Path("/proc/swaps")


@dataclass(frozen=True)
class Confinement:
    """What a process may do."""

    root_user: bool
    """Whether it runs as root."""
    capabilities: bool | None
    """Whether it has any capability."""
    new_privileges: bool | None
    """Whether a program that it starts may have more rights than itself."""
    writable_root: bool
    """Whether the root file system is mounted for writing."""
    core_files: bool | None
    """Whether a crash may write its memory to a file."""
    swap: bool | None
    """Whether its memory may be swapped to a disk."""


def read_confinement() -> Confinement:
    """What this process may do."""
    status = _read(_STATUS)
    return Confinement(
        root_user=hasattr(os, "geteuid") and os.geteuid() == 0,
        capabilities=_flag(status, "CapEff"),
        new_privileges=None if (told := _flag(status, "NoNewPrivs")) is None else not told,
        writable_root=not (hasattr(os, "statvfs") and os.statvfs("/").f_flag & os.ST_RDONLY),
        core_files=_core_files(),
        swap=_may_swap(),
    )


def _flag(status: str, name: str) -> bool | None:
    """Whether a hexadecimal figure of the status is other than 0."""
    found = re.search(rf"^{name}:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return None if found is None else int(found[1], 16) != 0


def _core_files() -> bool | None:
    try:
        import resource
    except ImportError:  # not on this system
        return None
    return resource.getrlimit(resource.RLIMIT_CORE)[0] != 0


def _may_swap() -> bool | None:
    """Whether the machine swaps, unless the control group of this process forbids it."""
    found = re.search(r"^0::/(.*)$", _read(_GROUP), re.MULTILINE)
    if found and _read(_GROUPS / found[1] / "memory.swap.max").strip() == "0":
        return False
    swaps = _read(_SWAPS)
    return len(swaps.splitlines()) > 1 if swaps else None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
