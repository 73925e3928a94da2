"""How often Python looks for garbage in a worker: seldom.

Thousands of requests wait for their batch at any time. To go through them, and through all that was imported, each
time that some hundred objects more exist, would cost as much as an answer does. Nearly nothing here refers to itself,
so nearly everything is freed without that search.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MORE_OBJECTS: Final = 50_000
"""After how many new objects the youngest are looked at."""


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Leave what there is alone, and look at what comes less often."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(MORE_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
