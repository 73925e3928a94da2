"""The cost of making a report on a device, and of reading and counting it on the server."""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from random import SystemRandom

import numpy as np

from benchmarks.measure import Measured, Part, Ratio, Work, cpu_seconds, measure_in_turn, ratio
from benchmarks.setting import Setting
from neologue.device.contribution import contribute, held_prefixes
from neologue.device.sampling import sample
from neologue.discovery.tally import Tally
from neologue.entropy import SecureEntropy
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import strings
from neologue.language.vocabulary import Vocabulary
from neologue.populations.count_kernel import count_ids
from neologue.protocol.layer import ExtendingLayer
from neologue.protocol.report import read_report
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

LENGTH = 3
"""Of the prefixes in the frontier."""
NAIVE = {
    SubsetSelection.name: f"{SubsetSelection.name}: SystemRandom.sample",
    Unary.name: f"{Unary.name}: 64 random bits for every candidate",
}


def measure(setting: Setting) -> Part:
    """Measure both randomizers in turn, from words to bytes and from bytes to counts."""
    measured: dict[str, Measured] = {}
    ratios: list[Ratio] = []
    notes: list[str] = []
    for mechanism, epsilon in (
        (SubsetSelection.name, setting.epsilon),
        (Unary.name, setting.unary_epsilon),
    ):
        layer = layer_of(mechanism, epsilon, setting)
        here = measure_in_turn(_works(layer, setting), setting.rounds)
        ratios.extend(_ratios(mechanism, here))
        measured |= here
        size = len(contribute(words_of(layer), layer))
        line = f"{mechanism}: {size:,} bytes a report, ε = {epsilon:g}, {layer.bound} words"
        if isinstance(layer.randomizer, Unary):
            least = entropy_bytes(layer.randomizer)
            line += f"; {size / least:.2f} times the {least:,.0f} bytes of its entropy"
        notes.append(line)
    return Part(
        title=f"Devices and server: {setting.candidates:,} candidates, {setting.words} words a report",
        measured=list(measured.values()),
        ratios=ratios,
        notes=notes,
    )


def entropy_bytes(randomizer: Unary) -> float:
    """The entropy of a report of a device that holds as many candidates as it may: no code is shorter on average."""
    noise, held = float(randomizer.channel.q), randomizer.bound
    surprise = -(noise * math.log2(noise) + (1 - noise) * math.log2(1 - noise))
    return ((randomizer.candidates - held) * surprise + held) / 8


def layer_of(mechanism: str, epsilon: float, setting: Setting) -> ExtendingLayer:
    """A layer of the setting's size: each prefix of its frontier is extended by one symbol of the paper's alphabet."""
    alphabet = Alphabet.named("paper")
    letters = sorted(alphabet.characters)
    base = len(letters)
    # 7,919 is a prime: the prefixes are spread over the alphabet, and all different.
    numbers = [7_919 * index % base**LENGTH for index in range(setting.candidates // alphabet.size)]
    frontier = sorted(letters[n // base**2] + letters[n // base % base] + letters[n % base] for n in numbers)
    return ExtendingLayer(
        pass_number=1,
        number=1,
        layer_size=setting.layer_size,
        alphabet=alphabet,
        frontier=strings(frontier),
        extension=1,
        depth=2 * LENGTH,
        mechanism=mechanism,
        epsilon=epsilon,
        bound=setting.words,
        sampler="greedy",
        known=Vocabulary.empty(),
    )


def words_of(layer: ExtendingLayer) -> dict[str, int]:
    """The words of a device that holds more than a report takes."""
    prefixes = layer.frontier[:: max(1, len(layer.frontier) // (2 * layer.bound))].tolist()
    return {prefix + prefix: 1 + index % 7 for index, prefix in enumerate(prefixes)}


def _works(layer: ExtendingLayer, setting: Setting) -> Iterator[Work]:
    typed, randomizer, times = words_of(layer), layer.randomizer, setting.device_reports
    entropy = SecureEntropy()
    held = sample(*held_prefixes(typed, layer), layer.bound, layer.sampler, entropy)
    drawn = randomizer.randomize(held, entropy)
    reports = [contribute(typed, layer) for _ in range(times)]
    votes = [read_report(layer, report) for report in reports]
    all_votes = np.concatenate(votes).astype(np.uint32)
    counts = np.zeros(layer.candidates.size, np.uint32)

    def work(what: str, action: Callable[[], object], repeats: int = times, note: str = "") -> Work:
        def repeated() -> None:
            for _ in range(repeats):
                action()

        return Work(f"{layer.mechanism}: {what}", repeats, "reports", cpu_seconds(repeated), note)

    def together(what: str, action: Callable[[], object], note: str = "") -> Work:
        return Work(f"{layer.mechanism}: {what}", times, "reports", cpu_seconds(action), note)

    yield work("whole report", lambda: contribute(typed, layer), note="on the device, secure randomness")
    yield work(
        "choosing words",
        lambda: sample(*held_prefixes(typed, layer), layer.bound, layer.sampler, entropy),
        note=f"of {len(typed)}",
    )
    yield work("randomizing", lambda: randomizer.randomize(held, entropy))
    yield work("encoding", lambda: randomizer.encode(drawn))
    naive = _naive(layer)
    yield Work(
        NAIVE[layer.mechanism],
        max(1, times // 20),
        "reports",
        cpu_seconds(lambda: [naive() for _ in range(max(1, times // 20))]),
        "randomizing alone",
    )
    yield together("reading", lambda: [read_report(layer, report) for report in reports], "on the server")
    yield together("tally", lambda: Tally.of(layer.candidates.size, votes))
    yield together(
        "tally by bincount",
        lambda: [np.bincount(cast, minlength=layer.candidates.size) for cast in votes],
        "report by report",
    )
    yield together(
        "increments alone", lambda: count_ids(all_votes, counts), "compiled, all reports in a row: the limit"
    )


def _naive(layer: ExtendingLayer) -> Callable[[], object]:
    """The randomness of a report, drawn from the system in the simplest way."""
    randomizer = layer.randomizer
    if isinstance(randomizer, SubsetSelection):
        source, others = SystemRandom(), range(randomizer.domain - 1)
        return lambda: [source.sample(others, randomizer.subset_size) for _ in range(randomizer.bound)]
    assert isinstance(randomizer, Unary)
    noise, candidates = np.uint64(randomizer.noise), randomizer.candidates
    return lambda: np.flatnonzero(np.frombuffer(os.urandom(8 * candidates), np.uint64) < noise)


def _ratios(mechanism: str, measured: Mapping[str, Measured]) -> Iterator[Ratio]:
    yield ratio(measured[f"{mechanism}: whole report"], measured[NAIVE[mechanism]])
    yield ratio(measured[f"{mechanism}: tally"], measured[f"{mechanism}: tally by bincount"])
    yield ratio(measured[f"{mechanism}: tally"], measured[f"{mechanism}: increments alone"])
