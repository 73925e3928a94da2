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
from functools import lru_cache
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


def flwr() -> Mapping[str, Action]:
    """One device of Flower's SecAgg+: a vector, a threshold and a number of neighbours.

    What its neighbours send is made in the first round, which is not counted.
    """
    mod = importlib.import_module("flwr.client.mod.secure_aggregation.secaggplus_mod")
    constants = importlib.import_module("flwr.common.secure_aggregation.secaggplus_constants")
    shamir = importlib.import_module("flwr.common.secure_aggregation.crypto.shamir")
    numpy, common = importlib.import_module("numpy"), importlib.import_module("flwr.common")
    key = constants.Key

    def configured(threshold: int, neighbours: int) -> dict[str, Any]:
        return {
            key.SAMPLE_NUMBER: neighbours + 1,
            key.SHARE_NUMBER: neighbours + 1,
            key.THRESHOLD: threshold,
            key.CLIPPING_RANGE: 8.0,
            key.TARGET_RANGE: 1 << 22,
            key.MOD_RANGE: 1 << 32,
            key.MAX_WEIGHT: 1.0,
        }

    @lru_cache
    def prepared(threshold: int, neighbours: int) -> tuple[Any, dict[str, Any], dict[str, Any]]:
        """A device, everyone's keys, and the neighbours' encrypted shares for it."""
        states = []
        for number in range(neighbours + 1):
            states.append(mod.SecAggPlusState(nid=number))
            mod._setup(states[-1], configured(threshold, neighbours))
        keys = {str(state.nid): [state.pk1, state.pk2] for state in states}
        share = shamir.create_shares(bytes(32), threshold, neighbours + 1)[0]
        own = mod.bytes_to_public_key(states[0].pk2)
        sealed = []
        for state in states[1:]:
            secret = mod.generate_shared_key(mod.bytes_to_private_key(state.sk2), own)
            sealed.append(mod.encrypt(secret, mod.share_keys_plaintext_concat(state.nid, 0, share, share)))
        shares = {key.CIPHERTEXT_LIST: sealed, key.SOURCE_LIST: list(range(1, neighbours + 1))}
        return states[0], keys, shares

    def device(entries: int, threshold: float, neighbours: int) -> object:
        state, keys, shares = prepared(int(threshold), neighbours)
        mod._setup(mod.SecAggPlusState(nid=0), configured(int(threshold), neighbours))
        mod._share_keys(state, keys)
        votes = common.ndarrays_to_parameters([numpy.zeros(entries)])
        mod._collect_masked_vectors(state, shares, 1, votes)
        everybody = list(range(neighbours + 1))
        return mod._unmask(state, {key.ACTIVE_NODE_ID_LIST: everybody, key.DEAD_NODE_ID_LIST: []})

    return {"secagg-plus": device}


TRIAL = (100, 3.0, 4)

PEERS: Mapping[str, Callable[[], Mapping[str, Action]]] = {
    "multi-freq-ldpy": multi_freq_ldpy,
    "pure-ldp": pure_ldp,
    "flwr": flwr,
}


def main(name: str) -> None:
    """Print the version of the peer, then measure a round for every line."""
    try:
        works = PEERS[name]()
        for work in works.values():
            work(*TRIAL)
        print(json.dumps({"version": version(name)}), flush=True)
    except ImportError as error:
        print(json.dumps({"reason": f"not installed: {error}"}), flush=True)
        return
    except Exception as error:  # a peer that fails here is reported as not running; the others are still measured
        print(json.dumps({"reason": f"does not run: {type(error).__name__}: {error}"}), flush=True)
        return
    for line in sys.stdin:
        asked = json.loads(line)
        before = time.process_time()
        works[asked["work"]](asked["domain"], asked["epsilon"], asked["reports"])
        print(json.dumps({"cpu_seconds": time.process_time() - before}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
