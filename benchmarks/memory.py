"""The most memory that whole discoveries take, each in a process of its own, for some numbers of users.

python -m benchmarks.memory exact en 100000
"""

import json
import resource
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Curve, Part
from benchmarks.setting import Setting
from neologue import Campaign, Population, discover

DEPTH = 4
"""Characters of the longest words looked for: all layers but the first are about as large as the profile allows."""
STATUS = Path("/proc/self/status")


def measure(setting: Setting) -> Part:
    """Run the discoveries one after the other."""
    curves, before = [], 0
    for fidelity in setting.memory_fidelities:
        # The first run may compile, which takes memory of its own and does not count.
        measured(fidelity, setting.memory_language, setting.memory_users[0])
        found = [measured(fidelity, setting.memory_language, users) for users in setting.memory_users]
        peaks = tuple(peak for _, peak in found)
        curves.append(Curve(f"discover, {fidelity}", "users", "bytes", setting.memory_users, peaks))
        before = max(before, *(first for first, _ in found))
    return Part(
        title=f"Peak memory of a discovery, gboard-2024 with {DEPTH} layers",
        curves=curves,
        notes=[f"Before the first layer, with the language loaded, the peak is {before / 1e6:,.0f} MB at most."],
    )


def measured(fidelity: str, language: str, users: int) -> tuple[int, int]:
    """The peaks of a process that does nothing else: before the first layer, and in all."""
    command = [sys.executable, "-m", "benchmarks.memory", fidelity, language, str(users)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    peaks = json.loads(done.stdout)
    return int(peaks["before"]), int(peaks["peak"])


def peak_bytes() -> int:
    """The most memory that this process has had resident.

    `getrusage` knows too, but on Linux a new process inherits the peak of the one that started it.
    """
    if STATUS.exists():
        lines = dict(line.split(":", 1) for line in STATUS.read_text("ascii").splitlines())
        return 1024 * int(lines["VmHWM"].split()[0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main(fidelity: str, language: str, users: int) -> None:
    """Run a discovery, and print the peaks."""
    population = Population.embedded(language, users)
    before = peak_bytes()
    campaign = Campaign.from_profile(
        "gboard-2024", users=users, known=population.known, alphabet=population.alphabet, depth=DEPTH, passes=1
    )
    discover(population, campaign, fidelity=fidelity)
    print(json.dumps({"before": before, "peak": peak_bytes()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
