"""What a device of `neologue fleet` costs: a whole campaign of real clients against a service on the same machine.

python -m benchmarks.fleet                    10,000 devices in two passes, in the weather of `make soak`
python -m benchmarks.fleet --devices 50000    more of them: what each process does once weighs less

It prints the CPU time of the fleet and of the service for each device, and ends with exit code 1 if the campaign
releases nothing.
"""

import argparse
import os
import resource
import sys
import time
from collections import Counter
from typing import Any

import psutil

from neologue.cli.devices.fleet import issue_credentials, run_service
from neologue.cli.service_client import ServiceClient
from neologue.fleet.fleet import Weather, run, simulated_policy
from neologue.populations.population import Population

CAMPAIGN = "fleet"
EPSILON = 10.0
OVER = ("released", "refused", "aborted")
PASSES = 2
BAD = Weather(silent=0.03, lost=0.02, twice=0.02, restarts=0.1)
"""The weather of `make soak`."""


def measure(devices: int, processes: int, workers: int, database: str | None) -> bool:
    """Run the campaign and print what it cost; whether it released words."""
    definition = {
        "name": CAMPAIGN,
        "devices": devices,
        "rehearsal": True,
        "language": "en",
        "parameters": {"epsilon": EPSILON, "passes": PASSES},
        "layer_seconds": max(60, devices / 250),
        "check_in_seconds": max(1, devices // 10_000),
        "answer_seconds": 5,
        "batch": min(100, max(2, devices // 200)),
        "accept_weak_privacy": True,
    }
    population = Population.embedded("en", devices, seed=0)
    with run_service(database, workers) as (server, token):
        service = ServiceClient(server, token)
        service.request_json("POST", "campaigns", body=definition)
        service.request_json("POST", "campaigns", CAMPAIGN, "start")
        credentials = issue_credentials(service, CAMPAIGN, devices)
        policy = simulated_policy(bytes.fromhex(service.request_json("GET", "key")["operator"]))
        hosts = [child for child in psutil.Process().children(recursive=True) if "serve" in child.cmdline()]
        served, worked, began = _cpu_of(hosts), _cpu_of_ended(), time.monotonic()

        def over() -> bool:
            state: str = service.request_json("GET", "campaigns", CAMPAIGN)["state"]
            return state in OVER

        states: Counter[str] = run(population, credentials, server, policy, BAD, processes=processes, over=over)
        took, worked = time.monotonic() - began, _cpu_of_ended() - worked
        while not over():
            time.sleep(0.5)
        served = _cpu_of(hosts) - served
        layers: list[dict[str, Any]] = service.request_json("GET", "campaigns", CAMPAIGN, "layers")
        state = service.request_json("GET", "campaigns", CAMPAIGN)["state"]
    print(f"{devices:,} devices, {processes} processes, {took:,.0f} s on the clock; load {os.getloadavg()[0]:.1f}")
    print(f"devices: {dict(states)}; {len(layers)} layers, {sum(layer['reports'] for layer in layers):,} reports")
    print(f"fleet: {worked:,.1f} CPU-s, {1e3 * worked / devices:.1f} ms for each device")
    print(f"service: {served:,.1f} CPU-s, {1e3 * served / devices:.1f} ms for each device")
    return bool(state == "released")


def _cpu_of(processes: list[psutil.Process]) -> float:
    return sum(sum(process.cpu_times()[:2]) for process in processes)


def _cpu_of_ended() -> float:
    """CPU time of the children that were waited for: the processes of a fleet, once it has run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.fleet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=10_000, help="how many devices (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="processes of the devices (%(default)s)")
    parser.add_argument("--workers", type=int, default=1, help="processes of the service (%(default)s)")
    parser.add_argument("--database", help="the database of the service (a temporary file)")
    options = parser.parse_args()
    good = measure(options.devices, options.processes, options.workers, options.database)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
