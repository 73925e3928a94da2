"""The decorator for loops that Numba compiles."""

from collections.abc import Callable
from typing import TypeVar, cast

from numba import njit

Loop = TypeVar("Loop", bound=Callable[..., object])


def compiled(loop: Loop) -> Loop:
    """Compile a loop when it is first called, and keep the result on disk where there is a place for it."""
    try:
        return cast(Loop, njit(cache=True, nogil=True)(loop))
    except RuntimeError:  # neither beside this file nor in the user's own cache may anything be written
        return cast(Loop, njit(nogil=True)(loop))
