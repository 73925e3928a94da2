"""The files of a discovery, and what is said of them and of what to do next."""

from pathlib import Path
from typing import Any

from neologue.reporting.extra import EXTRA
from neologue.reporting.files import REPORT, TRUTH, write_files
from neologue.reporting.simulated_release import truth_document
from neologue.simulation.discovery_run import DiscoveryRun


def write_results(
    discovery: DiscoveryRun, document: dict[str, Any], report: str | None, folder: Path, confidential_as: str | None
) -> list[str]:
    """Write all files of a discovery; what to say of them, and whether they are as confidential as the data."""
    release = discovery.release
    truth = truth_document(discovery, document)
    paths = write_files(
        release.words, release.prefixes, document, discovery.documents, folder, truth=truth, report=report
    )
    names = [path.name for path in paths]
    lines = [f"Written to {folder}: {', '.join(names)}"]
    if report is None:
        lines.append(f"No {REPORT} was written: it needs {EXTRA}")
    if confidential_as:
        exact = [name for name in (TRUTH, REPORT) if name in names]
        them, have = ("them", "have") if len(exact) > 1 else ("it", "has")
        lines.append(
            f"{' and '.join(exact)} {have} exact figures that no privacy statement covers: keep {them} as confidential "
            f"as {confidential_as}"
        )
    return lines


def next_step(folder: Path | None, *, with_report: bool) -> str:
    """One line on what to do with a result."""
    if folder is None:
        return "Next: add --out FOLDER for all words as files, and for a report that explains these figures"
    if not with_report:
        return f"Next: check the figures with `neologue certify {folder / 'release.json'}`"
    return f"Next: open {folder / REPORT}, which explains these figures"
