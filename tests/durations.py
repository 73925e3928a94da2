"""Which tests take long: `python tests/durations.py junit.xml > tests/durations.txt` writes it down (`make durations`).

The table decides which tests `make unit` leaves out, and that modules which take long begin first. A test that is
not in it counts as quick; if it is not, `make unit` says so.
"""

import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean
from xml.etree import ElementTree

TABLE = Path(__file__).with_suffix(".txt")
NOTED = 0.25
"""The seconds of a case from which on a test is in the table."""
NOTED_TOGETHER = 2.0
"""The seconds of all its cases together from which on it is, too."""


def durations() -> dict[str, float]:
    """The seconds that one case of a test takes, by the name of the test."""
    rows = (line.split() for line in TABLE.read_text("utf-8").splitlines())
    return {name: float(seconds) for seconds, name in rows}


def table(results: Path) -> str:
    """The table of a run, the longest first."""
    seconds: defaultdict[str, list[float]] = defaultdict(list)
    for case in ElementTree.parse(results).iter("testcase"):
        seconds[case.attrib["name"].partition("[")[0]].append(float(case.attrib["time"]))
    noted = {name: cases for name, cases in seconds.items() if mean(cases) >= NOTED or sum(cases) >= NOTED_TOGETHER}
    rows = sorted(((mean(cases), name) for name, cases in noted.items()), reverse=True)
    return "".join(f"{case:.3g} {name}\n" for case, name in rows)


if __name__ == "__main__":
    sys.stdout.write(table(Path(sys.argv[1])))
