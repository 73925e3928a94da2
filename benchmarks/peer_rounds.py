"""Measures one peer, a round for every line that it is sent; run by the Python of the peers' own environment.

It starts by saying which version there is, or why there is none. Each line is a JSON object with the work, its sizes
and the number of reports; the answer is the CPU time. Nothing of neologue is imported here.

    python benchmarks/peer_rounds.py multi-freq-ldpy
"""

import importlib
import json
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

Action = Callable[[int, float, int], object]
"""Does the work for a domain, an ε and a number of reports."""


def multi_freq_ldpy() -> Mapping[str, Action]:
    """Subset Selection and optimised unary encoding of multi-freq-ldpy."""
    selection = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.SS")
    unary = importlib.import_module("multi_freq_ldpy.pure_frequency_oracles.UE")

    def subsets(domain: int, epsilon: float, reports: int) -> list[Any]:
        return [selection.SS_Client(word % domain, domain, epsilon) for word in range(reports)]

    def tallied(domain: int, epsilon: float, reports: int) -> object:
        return selection.SS_Aggregator_MI(subsets(domain, epsilon, reports), domain, epsilon)

    def vectors(domain: int, epsilon: float, reports: int) -> list[Any]:
        return [unary.UE_Client(word % domain, domain, epsilon, True) for word in range(reports)]

    return {"subset-selection": subsets, "subset-selection-tallied": tallied, "unary": vectors}


def pure_ldp() -> Mapping[str, Action]:
    """Optimised unary encoding of pure-ldp, which has no Subset Selection."""
    unary = importlib.import_module("pure_ldp.frequency_oracles.unary_encoding")

    def vectors(domain: int, epsilon: float, reports: int) -> list[Any]:
        client = unary.UEClient(epsilon, domain, use_oue=True)
        return [client.privatise(1 + word % domain) for word in range(reports)]

    return {"unary": vectors}


TRIAL = (100, 3.0, 2)

PEERS: Mapping[str, Callable[[], Mapping[str, Action]]] = {"multi-freq-ldpy": multi_freq_ldpy, "pure-ldp": pure_ldp}


def main(name: str) -> None:
    """Say what there is, then measure a round for every line."""
    try:
        works = PEERS[name]()
        for work in works.values():
            work(*TRIAL)
        print(json.dumps({"version": version(name)}), flush=True)
    except ImportError as error:
        print(json.dumps({"reason": f"not installed: {error}"}), flush=True)
        return
    except Exception as error:  # whatever a peer stumbles over here is its state, and no reason to measure nothing
        print(json.dumps({"reason": f"does not run: {type(error).__name__}: {error}"}), flush=True)
        return
    for line in sys.stdin:
        asked = json.loads(line)
        before = time.process_time()
        works[asked["work"]](asked["domain"], asked["epsilon"], asked["reports"])
        print(json.dumps({"cpu_seconds": time.process_time() - before}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
