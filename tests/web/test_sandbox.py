"""`neologue sandbox` as a process of its own: a link, a page, words, a browser that joins, and nothing left behind."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner
from selenium.webdriver.common.by import By

from neologue.cli import main
from service.serving import wait_until

from .chromium import Browser, click_on, lives

PATIENCE = 240.0


def _hears_interrupts() -> None:
    # A shell that starts a job in the background makes it, and so its children, deaf to SIGINT.
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@dataclass
class Running:
    """A sandbox."""

    process: subprocess.Popen[str]
    folder: Path
    """Where all its temporary files are."""
    printed: Path

    @property
    def text(self) -> str:
        return self.printed.read_text()

    def prints(self, pattern: str) -> re.Match[str]:
        """Wait until it has said something."""
        wait_until(lambda: re.search(pattern, self.text) or self.process.poll() is not None, PATIENCE)
        match = re.search(pattern, self.text)
        assert match, self.text
        return match

    @property
    def link(self) -> str:
        return self.prints(r"(http://\S+/sandbox/enter/\S+)\s")[1]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    printed = tmp_path_factory.mktemp("printed") / "text"
    # A disk in memory, where there is one: 400 devices write to disks of their own, not all to one.
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None, prefix="neologue-test-"))
    with printed.open("w") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "neologue", "sandbox", "--no-open", "--devices", "400", "--processes", "1"],
            stdout=written,
            stderr=written,
            encoding="utf-8",
            env={**os.environ, "TMPDIR": str(folder)},
            preexec_fn=_hears_interrupts,
        )
    try:
        yield Running(process, folder, printed)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)
        shutil.rmtree(folder)


@pytest.fixture(scope="module")
def entered(sandbox: Running, browser: Browser) -> Running:
    """A sandbox that the browser has entered by its link."""
    # Who looks where the link leads does not use it up, and is not let in.
    with urllib.request.urlopen(urllib.request.Request(sandbox.link, method="HEAD"), timeout=300) as reply:
        assert "/sign-in" in reply.url
    browser.visit(sandbox.link)
    assert browser.driver.current_url.endswith("/sandbox")
    return sandbox


def test_the_link_opens_a_page_on_which_words_appear(entered: Running, browser: Browser) -> None:
    browser.visit(entered.link.partition("/enter/")[0])
    assert "local ε = 10" in browser.driver.find_element(By.TAG_NAME, "main").text
    released = entered.prints(r"(\d+) words are released")
    assert int(released[1]) > 0

    def words() -> list[str]:
        """The released words, on the page of a released campaign: before, there are beginnings of words in the list."""
        found: list[str] = browser.driver.execute_script(
            "return Array.from(document.querySelectorAll('#live[data-state=released] .findings.are-words li'),"
            " (each) => each.innerText)"
        )
        return found

    # By itself: the page is told.
    wait_until(words)
    assert len(words()) == int(released[1])
    assert "lol" in words()
    assert browser.complaints() == []


def test_a_word_of_the_visitor_rises_from_the_noise(entered: Running, browser: Browser) -> None:
    driver = browser.driver
    home = entered.link.partition("/enter/")[0]
    entered.prints(r"(\d+) words are released")

    for typed, told in (
        ("house", "is a known word"),
        ("zo nk", "can't be found: a word has 1 to 10 characters"),
        ("Zonky", "Your word: zonky"),
    ):
        browser.visit(home)
        driver.find_element(By.ID, "word").send_keys(typed)
        click_on(driver.find_element(By.XPATH, "//button[.='Have 200 people type it']"))
        wait_until(lambda told=told: told in driver.execute_script("return document.body.innerText"), PATIENCE)

    def outcome() -> str:
        """What the page says in the end, by itself."""
        found: str = driver.execute_script(
            "const live = document.querySelector('#live[data-state=released]');"
            "return live ? document.querySelector('#findings').innerText : ''"
        )
        return found

    wait_until(outcome, PATIENCE)
    assert "Found." in outcome()
    assert len(driver.find_elements(By.CSS_SELECTOR, ".spelled .stands-out")) == len("zonky")
    # The browser tells of the status of pages that say what was wrong.
    assert [said for said in browser.complaints() if "status of 400" not in said] == []


def test_the_browser_joins_as_one_more_device_and_is_counted(entered: Running, browser: Browser) -> None:
    driver = browser.driver
    browser.visit(entered.link.partition("/enter/")[0])
    click_on(driver.find_element(By.XPATH, "//button[.='Join with this browser']"))

    def says(sentence: str) -> None:
        def is_said() -> bool:
            told: str = driver.execute_script(
                "return document.querySelector('main:not([aria-busy])') && document.querySelector('#status')"
                " ? document.querySelector('#status').innerText : ''"
            )
            return told.startswith(sentence)

        wait_until(is_said)

    says("Ready")
    assert driver.current_url.endswith("/device/demo.html"), "the credential is not left in the address"
    click_on(driver.find_element(By.ID, "opt-in"))
    says("You have opted in")
    click_on(driver.find_element(By.XPATH, "//button[.='Join']"))
    says("Joined")
    driver.find_element(By.ID, "type").send_keys("yeet lol ")
    click_on(driver.find_element(By.ID, "answer"))
    says("The report was counted")
    wait_until(lambda: "Your report was added to the sum" in driver.find_element(By.ID, "outcome").text, PATIENCE)
    assert "yeet" not in driver.find_element(By.ID, "outcome").text, "nothing is said of words before they are decided"
    assert browser.complaints() == []


def test_the_link_signs_in_one_browser_once(entered: Running) -> None:
    for link in (entered.link, f"{entered.link.partition('/enter/')[0]}/enter/guessed"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(link, timeout=300)
        with refused.value:
            assert refused.value.code == 401
            assert "set-cookie" not in {name.lower() for name in refused.value.headers}


def test_ctrl_c_leaves_no_process_and_no_file(entered: Running, browser: Browser) -> None:
    entered.prints("words are released")
    browser.visit(entered.link.partition("/enter/")[0])
    ours = psutil.Process(entered.process.pid).children(recursive=True)
    assert any(entered.folder.iterdir())
    entered.process.send_signal(signal.SIGINT)
    assert entered.process.wait(PATIENCE) == 0, entered.text
    assert re.search(r"words are released, after \d+ seconds\.\nThe sandbox is gone\.\n$", entered.text), entered.text
    wait_until(lambda: not any(map(lives, ours)))
    assert list(entered.folder.iterdir()) == []


def test_a_port_that_is_taken_is_one_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(main, ["sandbox", "--no-open", "--port", str(port)])
    assert done.exit_code == 2
    assert done.stderr.startswith(f"neologue: can't listen on 127.0.0.1, port {port}")
    assert done.stderr.count("\n") == 1


def test_a_language_that_nobody_writes_is_one_sentence() -> None:
    done = CliRunner().invoke(main, ["sandbox", "--no-open", "--language", "tlh"])
    assert done.exit_code == 2
    assert "tlh" in done.stderr
    assert "Traceback" not in done.output
