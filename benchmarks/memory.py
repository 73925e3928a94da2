"""The peak memory of whole discoveries, each in its own process, for several numbers of users.

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
"""The longest word, in characters: all layers but the first are then about as large as the profile allows."""
STATUS = Path("/proc/self/status")


def measure(setting: Setting) -> Part:
    """Run the discoveries one after the other."""
    curves, before = [], 0
    for fidelity in setting.memory_fidelities:
        # The first run may compile, which takes extra memory and does not count.
        measure_peaks(fidelity, setting.memory_language, setting.memory_users[0])
        found = [measure_peaks(fidelity, setting.memory_language, users) for users in setting.memory_users]
        peaks = tuple(peak for _, peak in found)
        curves.append(Curve(f"discover, {fidelity}", "users", "bytes", setting.memory_users, peaks))
        before = max(before, *(first for first, _ in found))
    return Part(
        title=f"Peak memory of a discovery, gboard-2024 with {DEPTH} layers",
        curves=curves,
        notes=[f"Before the first layer, with the language loaded, the peak is {before / 1e6:,.0f} MB at most."],
    )


def measure_peaks(fidelity: str, language: str, users: int) -> tuple[int, int]:
    """The peak memory of a process that runs one discovery: before the first layer, and over all."""
    command = [sys.executable, "-m", "benchmarks.memory", fidelity, language, str(users)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    peaks = json.loads(done.stdout)
    return int(peaks["before"]), int(peaks["peak"])


def peak_bytes() -> int:
    """The peak resident memory of this process.

    `getrusage` is not used on Linux, where a new process inherits the peak of its parent.
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
