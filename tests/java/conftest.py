"""What the tests of the device for Java share."""

from collections.abc import Iterator

import pytest

from .machine import JavaMachine, running_java


@pytest.fixture(scope="session")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaMachine]:
    """One compilation and one machine for all tests of a process."""
    with running_java(tmp_path_factory.mktemp("java")) as machine:
        yield machine
