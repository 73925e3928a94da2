"""A masked group of a thousand devices through the real service over HTTP: time, CPU and bytes of a device.

python -m benchmarks.masked_service                             a group of 1,000; about 20 minutes of CPU time
python -m benchmarks.masked_service --group 100 --smallest 75   a short run

A service and a fleet of real clients share the machine. A few more devices run here and are observed: the bytes that
each sends and receives, and the CPU time of its thread. It ends when the first group of the campaign is summed, or with
exit code 1 if it yields nothing.
"""

import argparse
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil

from neologue.cli.devices.fleet import issue_credentials, run_service
from neologue.cli.service_client import ServiceClient
from neologue.device.client import Client
from neologue.device.network.transport import JSON, SMALL_ANSWER, HttpTransport, Response, Transport
from neologue.device.policy import Policy
from neologue.device.sending_time import SendingTime
from neologue.fleet.fleet import SENDING_WINDOW, Weather, peek, run, simulated_policy
from neologue.masking.rules import GroupRules, groups_of
from neologue.populations.population import Population

CAMPAIGN = "large-groups"
EPSILON = 10.0
LAYERS = 2
"""As few as a campaign can have; only the first is run."""
MORE = 1.15
"""So many times the devices that groups have: slots are random, and a group waits for all its devices."""
OBSERVED = 3
MOST_ASKED = 50
"""Of so many devices a few are invited to the first of two layers."""


@dataclass
class Counting:
    """A transport that counts the bytes of bodies."""

    transport: Transport
    sent: int = 0
    received: int = 0
    requests: int = 0

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        """The answer."""
        response = self.transport.request(method, path, body, kind, most)
        self.requests += 1
        if path.startswith("/v1/cohorts"):
            self.sent += len(body)
            self.received += len(response.body)
        return response


@dataclass
class Observed:
    """A device in this process that takes part like all others."""

    server: str
    policy: Policy
    credential: str
    folder: Path
    over: threading.Event
    state: str = "asleep"
    seconds: float = 0.0
    """CPU time of its thread, once it is in a group."""
    in_group: float = 0.0
    """Seconds on the clock from the first to the last step in a group."""
    counted: Counting = field(init=False)

    def live(self) -> None:
        """Take part until the end; for a thread of its own."""
        began: float | None = None
        with HttpTransport(self.server, plain=True) as line:
            self.counted = Counting(line)
            sending = SendingTime(SENDING_WINDOW, wait=time.sleep)
            with Client(self.folder, self.counted, self.policy, sending_time=sending) as client:
                client.typed("lol")
                client.join(self.credential)
                before = 0.0
                while not self.over.is_set():
                    tick = client.tick()
                    if client.in_group and began is None:
                        # From here on: that it reads known words costs the same without masks.
                        began, before = time.monotonic(), time.thread_time()
                    self.state = tick.state
                    if tick.again is None:
                        break
                    time.sleep(min(tick.again, 1.0))
                self.seconds = time.thread_time() - before if began else 0.0
                self.in_group = time.monotonic() - (began or time.monotonic())


def invited(server: str, credentials: Sequence[str]) -> list[str]:
    """The first few devices that are invited to the first layer, once it is open."""
    with HttpTransport(server, plain=True) as line:
        while True:
            found = [credential for credential in credentials[:MOST_ASKED] if peek(line, credential)[0] == "invited"]
            if found:
                return found[:OBSERVED]
            time.sleep(1)


def measure(group: int, smallest: int, dropout: int, leaving: float, processes: int, stage: float) -> bool:
    """Run the first layer of a campaign, which is one group, and print what it cost; whether it was summed."""
    devices = int(LAYERS * MORE * group)
    rules = GroupRules(group, smallest, dropout, groups=groups_of(devices, smallest))
    definition = {
        "name": CAMPAIGN,
        "devices": devices,
        "rehearsal": True,
        "language": "en",
        "parameters": {"layers": LAYERS, "epsilon": EPSILON, "candidates": 10_000, "smallest_layer": rules.fewest},
        "layer_seconds": 20 * stage,
        "check_in_seconds": 2,
        "accept_weak_privacy": True,
        "aggregation": "secure",
        "cohort_size": group,
        "smallest_cohort": smallest,
        "dropout": dropout,
        "gather_seconds": stage,
        "stage_seconds": stage,
    }
    own = psutil.Process()
    with TemporaryDirectory() as folder, run_service(None, 1) as (server, token):
        service = ServiceClient(server, token)
        service.request_json("POST", "campaigns", body=definition)
        service.request_json("POST", "campaigns", CAMPAIGN, "start")
        credentials = issue_credentials(service, CAMPAIGN, devices)
        policy = simulated_policy(bytes.fromhex(service.request_json("GET", "key")["operator"]))
        host = next(child for child in own.children(recursive=True) if "serve" in child.cmdline())
        ended = threading.Event()
        first = invited(server, credentials)
        observed = [
            Observed(server, policy, credential, Path(folder) / str(number), ended)
            for number, credential in enumerate(first)
        ]
        threads = [threading.Thread(target=each.live, daemon=True) for each in observed]
        for thread in threads:
            thread.start()
        began, memory = time.monotonic(), 0
        workers: dict[int, float] = {}
        layers: list[dict[str, Any]] = []

        def over() -> bool:
            nonlocal memory
            memory = max(memory, host.memory_info().rss)
            for child in own.children():
                if child.pid != host.pid:
                    workers[child.pid] = sum(child.cpu_times()[:2])
            layers[:] = service.request_json("GET", "campaigns", CAMPAIGN, "layers")
            return bool(layers) and layers[0]["state"] == "decided"

        population = Population.embedded("en", devices, seed=0)
        states: Counter[str] = run(
            population,
            [credential for credential in credentials if credential not in first],
            server,
            policy,
            Weather(leaving=leaving),
            processes=processes,
            group=group,
            over=over,
        )
        took = time.monotonic() - began
        ended.set()
        for thread in threads:
            thread.join()
        host_seconds = sum(host.cpu_times()[:2])
    print(f"{devices:,} devices in groups of {group:,}, {took:,.0f} s on the clock; load {os.getloadavg()[0]:.1f}")
    print(f"devices: {dict(states)}")
    for layer in layers[:1]:
        print(f"a layer of {layer['reports']:,} masked votes on {layer['candidates']:,} candidates, {layer['state']}")
    print(
        f"service: {host_seconds:,.1f} CPU-s, {1e3 * host_seconds / devices:.1f} ms for each device, "
        f"{memory / 1e6:,.0f} MB at most"
    )
    counted = max(1, sum(layer["reports"] for layer in layers[:1]))
    print(f"fleet: {1e3 * sum(workers.values()) / counted:,.0f} ms of CPU for each device counted, all others included")
    for each in observed:
        print(
            f"an observed device ({each.state}): {1e3 * each.seconds:,.0f} ms of CPU, {each.in_group:,.0f} s in its "
            f"group, {each.counted.sent:,} bytes sent and {each.counted.received:,} received"
        )
    return any(layer["state"] == "decided" and layer["reports"] >= smallest for layer in layers[:1])


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.masked_service",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--group", type=int, default=1_000, help="devices of a group (%(default)s)")
    parser.add_argument("--smallest", type=int, default=750, help="the fewest of a sum (%(default)s)")
    parser.add_argument("--dropout", type=int, default=20, help="dropouts to survive, in per cent (%(default)s)")
    parser.add_argument("--leaving", type=float, default=0.0, help="the share that leaves its group (%(default)s)")
    parser.add_argument("--processes", type=int, default=2, help="processes of the devices (%(default)s)")
    parser.add_argument("--stage-seconds", type=float, default=900.0, help="how long a stage waits (%(default)s)")
    options = parser.parse_args()
    good = measure(
        options.group, options.smallest, options.dropout, options.leaving, options.processes, options.stage_seconds
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
