"""The pictures of docs/report.md, of runs of 100,000 users: `cd tests && python -m web.report_screenshots`."""

import subprocess
import sys
import tempfile
from pathlib import Path

from .chromium import browsing
from .screenshots import look

USERS = "100000"


def report(folder: Path, *options: str) -> str:
    """Run a discovery; the address of its report."""
    command = [sys.executable, "-m", "neologue", "discover", "--users", USERS, "--out", str(folder), *options]
    subprocess.run(command, check=True)
    return (folder / "report.html").as_uri()


def main() -> None:
    """Run a discovery of likely strings and one that grows a trie, and look at their reports."""
    with tempfile.TemporaryDirectory() as folder, browsing(Path(folder) / "profile") as browser:
        browser.visit(report(Path(folder) / "likely"))
        look(browser, "report-light", scheme="light", width=1100, height=1280)
        browser.visit(report(Path(folder) / "trie", "--rule", "top", "--frontier", "1000"))
        browser.run(
            "document.getElementById('query').value = 'lol';"
            "document.getElementById('search').requestSubmit();"
            "document.getElementById('trie').scrollIntoView()"
        )
        look(browser, "report-trie", scheme="light", width=1100, height=1460)


if __name__ == "__main__":
    main()
