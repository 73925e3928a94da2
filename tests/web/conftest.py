"""What the tests of the web share."""

from collections.abc import Iterator

import pytest

from .chromium import Browser, browsing


@pytest.fixture(scope="session")
def running_browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests; each has an origin, and so a storage, of its own."""
    with browsing(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def browser(running_browser: Browser) -> Browser:
    """The browser, without what it has logged for other modules of tests."""
    running_browser.complaints()
    return running_browser
