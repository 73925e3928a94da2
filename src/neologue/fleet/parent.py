"""Processes that end with the one that started them, however it ends: no devices are left that nobody sees."""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
"""Of Linux: the signal that a process gets when the thread that started it ends."""
BUSY: Final = threading.Lock()
"""Held by whoever has something to clear up before the process ends."""


def end_with_parent() -> None:
    """End this process of multiprocessing when its parent has ended, as soon as nobody is `BUSY`."""
    threading.Thread(target=_await_end, daemon=True).start()


def is_orphan() -> bool:
    """Whether the parent of this process of multiprocessing has ended."""
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()


def stop_with_parent() -> Callable[[], None] | None:
    """What a new process calls first, so that it is asked to stop when its parent has ended; None where there is none.

    To be started from the main thread. Only Linux has it.
    """
    if sys.platform != "linux":
        return None
    library, parent = ctypes.CDLL(None), os.getpid()

    def ask() -> None:
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:  # it has ended meanwhile
            os._exit(1)

    return ask


def _await_end() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        with BUSY:
            os._exit(1)
