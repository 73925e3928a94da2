"""The pictures of docs/report.md, of a run of a million users: `cd tests && python -m web.report_screenshots`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from .chromium import browsing
from .screenshots import look


def main() -> None:
    """Run the discovery, and look at its report."""
    with tempfile.TemporaryDirectory() as folder, browsing(Path(folder) / "profile") as browser:
        found = Path(folder) / "found"
        subprocess.run([sys.executable, "-m", "neologue", "discover", "--out", str(found)], check=True)
        browser.visit((found / "report.html").as_uri())
        look(browser, "report-light", scheme="light", width=1100, height=1280)
        browser.run(
            "document.getElementById('query').value = 'lol';"
            "document.getElementById('search').requestSubmit();"
            "document.getElementById('trie').scrollIntoView()"
        )
        look(browser, "report-trie", scheme="light", width=1100, height=1460)


if __name__ == "__main__":
    main()
