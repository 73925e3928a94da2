"""Run the benchmarks: tables on the terminal, and text, JSON and plots in a folder.

python -m benchmarks --out out/bench
"""

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from benchmarks import accountants, costs, device, ingest, kernels, memory, plots, report, secure, transparency, workers
from benchmarks.measure import Part
from benchmarks.peers import Peer, peers
from benchmarks.setting import FULL, QUICK, Setting

PARTS: Mapping[str, Callable[[Setting, Mapping[str, Peer]], Part]] = {
    "kernels": kernels.measure,
    "device": lambda setting, peers: device.measure(setting),
    "ingest": lambda setting, peers: ingest.measure(setting),
    "workers": lambda setting, peers: workers.measure(setting),
    "secure": secure.measure,
    "transparency": lambda setting, peers: transparency.measure(setting),
    "accountants": lambda setting, peers: accountants.measure(setting),
    "costs": lambda setting, peers: costs.measure(setting),
    "memory": lambda setting, peers: memory.measure(setting),
}


def main() -> None:
    """Measure the requested parts, print and write the results."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("out/bench"), help="a folder for all files (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that it works, measures nothing")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part, and others given likewise")
    parser.add_argument(
        "--peers", type=Path, default=Path(".venv/peers/bin/python"), help="the Python of the peers (%(default)s)"
    )
    options = parser.parse_args()
    setting = QUICK if options.quick else FULL
    options.out.mkdir(parents=True, exist_ok=True)
    parts: dict[str, Part] = {}
    shown: list[str] = []
    with peers(options.peers) as found:
        for name in options.only or PARTS:
            parts[name] = PARTS[name](setting, found)
            shown.append(report.tables(parts[name]))
            print(shown[-1], end="", flush=True)
    (options.out / "bench.txt").write_text("".join(shown), "utf-8")
    written = json.dumps(report.document(parts, found, setting), indent=2, ensure_ascii=False)
    (options.out / "bench.json").write_text(written + "\n", "utf-8")
    plots.draw(parts, options.out)
    print(f"Written to {options.out}: bench.txt, bench.json and a plot of each part.")


if __name__ == "__main__":
    main()
