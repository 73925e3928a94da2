"""The parameters of a profile that a campaign may change, as keyword arguments that editors and mypy know."""

from typing import TypedDict


class Changes(TypedDict, total=False):
    """Any of the parameters; `Parameters` says what each means, and checks it. A test holds the two equal."""

    randomizer: str
    epsilon: float | None
    words_per_user: int
    days: int
    depth: int
    passes: int
    sampler: str
    rule: str
    frontier: int
    candidates: int
    report_bytes: int
    smallest_layer: int
    false_prefixes: float
    false_words: float
    k_anonymity: int
    alpha: float
    unique_chance: float
    hostile_devices: int
    delta: float
    colluders: float
    promised_epsilon: float | None
    later_words: tuple[int, ...]
    layers: int | None
    allocation: str
    promised_unit: str
    case: str
    punctuation: str
