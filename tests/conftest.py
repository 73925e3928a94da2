"""What all tests share. That this file is here also puts tests/ on the path, for modules such as `laws`."""

import gc
import os
import sys
from collections import defaultdict
from collections.abc import Generator, Iterator

import pytest

# Bytecode is kept, whatever the environment says: tests start many processes, and pytest rewrites every assertion.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Its plugins are imported with it, and one imports Trio.
os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")
from hypothesis import settings  # noqa: E402

from durations import durations  # noqa: E402

# The same examples in every run, and no verdict that depends on how busy the machine is.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")

SERVERS = {"subprocess", "served", "Process", "office", "attacked"}
"""What a module of the tests of a service has that starts one, or a process on the database of one."""
SLOW = 0.3
"""Seconds of one case; such tests are not among those of `make unit`."""
SLOW_TOGETHER = 2.0
"""Seconds of all cases of a test; such tests are not, either."""
TOLD = 1.0
"""Seconds of a test that was taken for quick from which on `make unit` names it; enough for most busy machines."""
SLOW_FIXTURES = {"ablated", "embedded", "embedded_files", "java", "paper", "site", "written"}
"""What several tests share, and whichever comes first has to wait for."""


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """One process more than there are processors, as tests of the service wait nearly as much as they work.

    A choice of tests by their marks has as many as there are processors.
    """
    return None if config.option.markexpr else (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without a search for garbage, and spare every later one the modules and tests, which stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with what it needs, and let modules that take long begin, so that no worker ends with one."""
    measured = durations()
    modules: defaultdict[str, float] = defaultdict(float)
    together: defaultdict[tuple[str, str], float] = defaultdict(float)
    for item in items:
        seconds = measured.get(_function(item), 0.0)
        modules[str(item.path)] += seconds
        together[str(item.path), _function(item)] += seconds
    for item in items:
        for mark in _needs(item):
            item.add_marker(mark)
        if measured.get(_function(item), 0.0) >= SLOW or together[str(item.path), _function(item)] >= SLOW_TOGETHER:
            item.add_marker("slow")
    items.sort(key=lambda item: -modules[str(item.path)])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Name the tests that are slow and not known to be: they are in nobody's way yet, but in everybody's run."""
    if "not slow" not in config.option.markexpr:
        return
    seconds: defaultdict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds[report.nodeid] += report.duration
    slow = sorted(((took, test) for test, took in seconds.items() if took >= TOLD), reverse=True)
    if slow:
        terminalreporter.section("slow, but in no table: on a quiet machine, run `make durations`")
        for took, test in slow:
            terminalreporter.line(f"{took:5.1f} s  {test}")


def _function(item: pytest.Item) -> str:
    """The name of a test, whichever case of it this is."""
    return item.name.partition("[")[0]


def _needs(item: pytest.Item) -> Iterator[str]:
    """The markers that follow from the fixtures, the parameters and the imports of a test."""
    fixtures = set(getattr(item, "fixturenames", ()))
    parameters = list(item.callspec.params.values()) if hasattr(item, "callspec") else []
    imported = vars(item.module).keys() if hasattr(item, "module") else set()
    if "postgres" in fixtures or any(isinstance(value, str) and value == "postgresql" for value in parameters):
        yield "postgres"
    if "browser" in fixtures or "browsing" in imported:
        yield "browser"
    if "java" in fixtures:
        yield "java"
    if {"service", "web", "attacks", "deploy", "java"} & set(item.path.parts) and not SERVERS.isdisjoint(imported):
        yield "service"
    if "RayEngine" in imported:
        yield "cluster"
    if fixtures & SLOW_FIXTURES or any(value in SLOW_FIXTURES for value in parameters if isinstance(value, str)):
        yield "slow"
