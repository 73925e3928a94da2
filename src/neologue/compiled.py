"""The decorator for loops that Numba compiles."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(loop: Loop) -> Loop:
    """Compile a loop on its first call, and cache the result on disk if possible."""
    try:
        return cast(Loop, njit(cache=True, nogil=True)(loop))
    except RuntimeError:  # neither this folder nor the user's cache is writable
        return cast(Loop, njit(nogil=True)(loop))
