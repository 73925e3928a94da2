"""A real Chromium, driven by its own chromedriver; and what is to be done where there is none."""

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import psutil
import pytest
from selenium import webdriver
from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.remote.webelement import WebElement

from service.serving import PATIENCE, free_port

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
DRIVER: Final = "chromedriver"
REMEDY: Final = "apt-get install chromium chromium-driver"

# What a script comes to, or the sentence of its error: WebDriver itself says too little of a rejected promise.
_CALL: Final = """
const done = arguments[arguments.length - 1];
const given = Array.from(arguments).slice(0, -1);
(async (given) => { %s })(given).then(
  (value) => done({ value: value === undefined ? null : value }),
  (error) => done({ error: `${error.name}: ${error.message}` }),
);
"""


class PageError(Exception):
    """A script of a test failed in the page."""


def installed() -> tuple[str, str]:
    """The paths of the browser and of its driver. Without them no test of the browser runs; with CI=true that fails."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    driver = shutil.which(DRIVER)
    if browser and driver:
        return browser, driver
    message = f"THE BROWSER TESTS DID NOT RUN: no {DRIVER if browser else BROWSERS[0]} is here; get it by `{REMEDY}`"
    if os.environ.get("CI") == "true":
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


class Browser:
    """One running browser."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def run(self, script: str, *given: object) -> Any:  # noqa: ANN401 - whatever the page says
        """What the body of an async function comes to in the page; its arguments are `given`."""
        told = self.driver.execute_async_script(_CALL % script, *given)
        if "error" in told:
            raise PageError(told["error"])
        return told["value"]

    def visit(self, address: str) -> None:
        """Open a page."""
        self.driver.get(address)

    def complaints(self) -> list[str]:
        """What the page has logged as an error, such as a breach of its policy."""
        entries = self.driver.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def kill(self) -> None:
        """End the browser and all its processes at once, as a loss of power would."""
        ours = psutil.Process(self.driver.service.process.pid).children(recursive=True)
        for process in ours:
            process.kill()
        deadline = time.monotonic() + PATIENCE
        while any(lives(process) for process in ours):
            assert time.monotonic() < deadline, "a killed browser lives on"
            time.sleep(0.01)


def click_on(button: WebElement) -> None:
    """Click as a person does: where the page has moved the button under the pointer, once more."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(ElementClickInterceptedException):
            return button.click()
    raise AssertionError("something covers the button")


def lives(process: psutil.Process) -> bool:
    """Whether a process still does something; nobody may collect what is left of one that was killed."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@contextmanager
def browsing(profile: Path) -> Iterator[Browser]:
    """A browser with its files in a folder, which another one may go on with."""
    binary, driver = installed()
    options = Options()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = webdriver.Chrome(options=options, service=Service(executable_path=driver, port=free_port()))
    chrome.set_script_timeout(PATIENCE)
    try:
        yield Browser(chrome)
    finally:
        chrome.quit()
