"""The pictures of docs/sandbox.md and docs/review.md: `cd tests && python -m web.sandbox_screenshots`, some minutes.

With a folder, `python -m web.sandbox_screenshots FOLDER` takes every page of the sandbox into it instead, in every size
and colour.
"""

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from service.serving import wait_until

from .chromium import Browser, browsing, click_on
from .screenshots import every_size, look

PATIENCE = 600.0
HALF_FULL = "const bar = document.querySelector('#now progress'); return bar !== null && bar.value > bar.max / 2"


def main(folder_of_all: Path | None = None) -> None:
    """Start a sandbox, and look at it while it finds words and when it has found them."""
    with tempfile.TemporaryDirectory() as folder, browsing(Path(folder) / "profile") as browser:
        printed = Path(folder) / "printed"
        with printed.open("w") as written:
            process = subprocess.Popen([sys.executable, "-m", "neologue", "sandbox", "--no-open"], stdout=written)

        def prints(pattern: str) -> re.Match[str]:
            wait_until(lambda: re.search(pattern, printed.read_text()), PATIENCE)
            found = re.search(pattern, printed.read_text())
            assert found
            return found

        try:
            link = prints(r"(http://\S+)/sandbox/enter/\S+")
            browser.visit(link[0])
            if folder_of_all:
                every_page(browser, folder_of_all, lambda: prints("layer 2:"))
                return
            prints("layer 2:")
            wait_until(lambda: browser.run(HALF_FULL), PATIENCE)
            look(browser, "dashboard-sandbox", scheme="light", width=1100, height=900)
            prints("are released")
            browser.visit(f"{link[1]}/campaigns/sandbox/review")
            browser.driver.find_element("css selector", "body").send_keys("jaarh")
            look(browser, "dashboard-review", scheme="light", width=1100, height=900)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


def every_page(browser: Browser, folder: Path, has_begun: Callable[[], object]) -> None:
    """Take the sandbox at its start and later, a word that rises, and a browser that joins."""
    folder.mkdir(parents=True, exist_ok=True)
    every_size(browser, folder, "sandbox-start")
    has_begun()
    every_size(browser, folder, "sandbox")
    sandbox = browser.driver.current_url
    browser.driver.find_element("id", "word").send_keys("florbit")
    click_on(browser.driver.find_element("css selector", "form[action='/sandbox/word'] button"))
    wait_until(lambda: browser.driver.find_elements("css selector", ".spelled .stands-out"), PATIENCE)
    every_size(browser, folder, "sandbox-word")
    browser.visit(sandbox)
    click_on(browser.driver.find_element("css selector", "form[action='/sandbox/join'] button"))
    wait_until(lambda: browser.driver.find_elements("id", "status"), PATIENCE)
    every_size(browser, folder, "sandbox-join")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
