"""The pictures of docs/sandbox.md and docs/review.md: `cd tests && python -m web.sandbox_screenshots`, some minutes."""

import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from service.serving import wait_until

from .chromium import browsing
from .screenshots import look

PATIENCE = 600.0


def main() -> None:
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
            prints("layer 2:")
            look(browser, "dashboard-sandbox", scheme="light", width=1100, height=900)
            prints("are released")
            browser.visit(f"{link[1]}/campaigns/sandbox/review")
            browser.driver.find_element("css selector", "body").send_keys("jaarh")
            look(browser, "dashboard-review", scheme="light", width=1100, height=900)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(PATIENCE)


if __name__ == "__main__":
    main()
