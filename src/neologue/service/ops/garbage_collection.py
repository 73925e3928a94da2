"""Makes Python's garbage collector run seldom in a worker.

Thousands of requests wait for their batch at any time. To go through them, and through all imported modules, each time
that some hundred more objects exist would cost as much as a response does. There are hardly any reference cycles here,
so nearly everything is freed without the collector.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

MORE_OBJECTS: Final = 50_000
"""After how many new objects the youngest generation is collected."""


@contextmanager
def collect_seldom() -> Iterator[None]:
    """Exempt existing objects from collection, and collect new ones less often."""
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(MORE_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
