"""What the tests of the web share."""

from collections.abc import Iterator

import pytest

from .chromium import Browser, browsing


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests; each has an origin, and so a storage, of its own."""
    with browsing(tmp_path_factory.mktemp("profile")) as running:
        yield running
