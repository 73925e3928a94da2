"""An audit of the device: how much do its real reports give away, at least?

Devices that hold B random words make their reports with the code that is shipped, secure randomness and bytes included,
and an attack looks at them in two ways.

- It bounds ε from below. `attack`, `unary_attack` and `selection_attack` say by which events, and why the bound holds.
- It looks for coincidences in draws that should be independent: within a report, between two reports in a row, and
  among all reports.

Half of the risk, 1 - confidence, goes to the bound, and the other half in equal parts to the coincidences. Everything
is fixed before the first report is made. So a right device fails with at most that risk, and a bound above the real ε
has at most that risk, if reports are made independently of each other.

The number of reports is chosen so that a device whose ε is 5 % too large is caught in 95 of 100 audits. That takes of
the order of 1/ε² of them, and not e^ε: with B = 10, about 8,800 unary reports at ε = 1 and some 1,000 from ε = 4
to 12; and 53,000 and 1,300 of Subset Selection at ε = 1 and 4.
"""

import math
import os
import signal
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from secrets import randbits
from typing import Any

import numpy as np

from neologue.audit.attack import Attack, AttackResult, Columns
from neologue.audit.coincidences import Coincidence
from neologue.audit.selection_attack import SelectionAttack
from neologue.audit.unary_attack import UnaryAttack
from neologue.device.contribution import contribute
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import extensions, root
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.protocol.limits import check_whole
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.thresholds import check_epsilon
from neologue.randomizers.unary import Unary
from neologue.table import Table

Maker = Callable[[Mapping[str, int], Layer], bytes]
"""Whatever makes the report of a device that typed these words."""

EXCESS = 1.05
"""An ε so many times the stated one is to be seen."""
FEWEST_REPORTS, USUAL_REPORTS, MOST_REPORTS = 1_000, 5_000, 10_000_000
MOST_CONFIDENT = 0.999999
BATCH = 250
"""Reports that are made and looked at in one go; even, so that two in a row stay together."""
WORTH_A_PROCESS = 2_000
"""With fewer reports for each, starting processes takes longer than it saves."""
SMALLEST_LAYER, LARGEST_LAYER = 256, 1 << 24
CANDIDATES_PER_WORD = 4

ATTACKS: Table[type[Attack]] = Table(
    "attack on the randomizer",
    "neologue.audit.audit",
    {Unary.name: UnaryAttack, SubsetSelection.name: SelectionAttack},
)


@dataclass(frozen=True)
class Audit:
    """What an audit of one randomizer found."""

    mechanism: str
    epsilon: float
    """The ε that is stated."""
    enforced_epsilon: float
    """The ε of the integers that the sampler uses."""
    bound: int
    """The number of words in a report."""
    candidates: int
    confidence: float
    reports: int
    reports_needed: int
    """From how many on an ε that is 5 % too large is seen in 95 of 100 audits."""
    evidence: AttackResult
    coincidences: tuple[Coincidence, ...]
    """Those that fresh randomness does not explain."""

    @property
    def lower_bound(self) -> float:
        """The real ε is at least this."""
        return self.evidence.epsilon

    @property
    def sharp(self) -> bool:
        """Whether there were enough reports to see an ε that is 5 % too large."""
        return self.reports >= self.reports_needed

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the statement."""
        return self.lower_bound <= self.epsilon and not self.coincidences


def audit_layer(mechanism: str, epsilon: float, bound: int) -> ExtendingLayer:
    """A layer to audit, just large enough for the ε: a report should have some votes of noise."""
    check_epsilon(epsilon)
    check_whole("words per user", bound, 1, 10_000)
    rarity = math.exp(epsilon) + 1
    wanted = rarity * ATTACKS[mechanism].noise_votes
    size = min(LARGEST_LAYER, max(SMALLEST_LAYER, CANDIDATES_PER_WORD * bound, math.ceil(wanted)))
    alphabet = Alphabet.named("en")
    characters = alphabet.size - 1
    extension = next(m for m in range(1, 10) if characters * extensions(characters, m) >= size)
    return ExtendingLayer(
        pass_number=1,
        number=1,
        layer_size=1,
        alphabet=alphabet,
        frontier=root(alphabet)[: math.ceil(size / extensions(characters, extension))],
        extension=extension,
        depth=1 + extension,
        mechanism=mechanism,
        epsilon=epsilon,
        bound=bound,
        sampler="random",
        known=Vocabulary.empty(),
    )


def reports_needed(randomizer: Randomizer[Any], confidence: float = 0.99) -> int:
    """From how many reports on an ε that is 5 % too large is seen in 95 of 100 audits."""
    if not 0.5 <= confidence <= MOST_CONFIDENT:
        raise ParameterError(
            f"confidence must be a number from 0.5 to {MOST_CONFIDENT}, not {confidence}; 0.9999 is usual"
        )
    attack, risk = attack_on(randomizer), (1 - confidence) / 2
    epsilon = randomizer.epsilon

    def enough(reports: int) -> bool:
        return attack.likely_bound(reports, EXCESS * epsilon, risk) > epsilon

    most = FEWEST_REPORTS
    while not enough(most):
        most *= 2
    least = most // 2
    while most - least > least // 100 and most > FEWEST_REPORTS:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def usual_reports(randomizer: Randomizer[Any], confidence: float = 0.99) -> int:
    """How many reports an audit makes that is not told otherwise."""
    return min(MOST_REPORTS, max(USUAL_REPORTS, reports_needed(randomizer, confidence)))


def attack_on(randomizer: Randomizer[Any]) -> Attack:
    """The attack that there is on a randomizer."""
    return ATTACKS[randomizer.name](randomizer)


def audit(
    layer: ExtendingLayer,
    *,
    reports: int | None = None,
    confidence: float = 0.99,
    maker: Maker = contribute,
    seed: int | None = None,
    processes: int | None = None,
    advance: Callable[[int], None] = lambda reports: None,
) -> Audit:
    """Have reports made for the layer, as many as are needed, and look at them.

    `seed` fixes which words devices hold, and nothing else. `advance` hears how many more reports are done. Processes,
    by default one for each core if that is worth it, need a maker that can be sent to them.
    """
    randomizer = layer.randomizer
    _check_layer(layer)
    needed = reports_needed(randomizer, confidence)
    made = usual_reports(randomizer, confidence) if reports is None else reports
    check_whole("reports", made, FEWEST_REPORTS, MOST_REPORTS)
    drawn = randbits(64) if seed is None else seed
    tasks = (partial(_batch, layer, maker, drawn, n, min(BATCH, made - n)) for n in range(0, made, BATCH))
    workers = min(processes or os.cpu_count() or 1, max(1, made // WORTH_A_PROCESS))
    columns = list(_run_in_turn(tasks, advance) if workers == 1 else _run_side_by_side(tasks, workers, advance))
    seen = {name: np.concatenate([part[name] for part in columns]) for name in columns[0]}

    attack, risk = attack_on(randomizer), 1 - confidence
    coincidences = attack.coincidences(seen)
    statement = randomizer.statement
    return Audit(
        mechanism=statement.mechanism,
        epsilon=statement.epsilon,
        enforced_epsilon=statement.enforced_epsilon,
        bound=layer.bound,
        candidates=randomizer.candidates,
        confidence=confidence,
        reports=made,
        reports_needed=needed,
        evidence=attack.evidence(seen, risk / 2),
        coincidences=tuple(found for found in coincidences if found.chance < risk / 2 / len(coincidences)),
    )


def _check_layer(layer: ExtendingLayer) -> None:
    """Refuse a layer in which a device's words would not be those that the attack believes it holds."""
    if layer.candidates.size < 2 * layer.bound + 2:
        raise ParameterError(
            f"{layer.candidates.size} candidates are too few to audit reports of {layer.bound} words; "
            f"take a layer of {2 * layer.bound + 2} or more"
        )
    nothing, length = Vocabulary.empty().digest, layer.candidates.length + layer.extension
    if {layer.known.digest, layer.found.digest} != {nothing} or layer.targets is not None or layer.depth < length:
        raise ParameterError("not every candidate of the layer is a word that counts; audit one of `audit_layer`")


def _batch(layer: Layer, maker: Maker, seed: int, first: int, reports: int) -> Columns:
    """What is seen in the reports of some devices, each with B words of its own."""
    attack, candidates = attack_on(layer.randomizer), layer.candidates
    rng = np.random.default_rng((seed, first))
    held = [np.sort(rng.choice(attack.words, layer.bound, replace=False)) for _ in range(reports)]
    made = []
    for own in held:
        words, _ = candidates.prefixes(own[own < candidates.size])
        made.append(maker(dict.fromkeys(words.tolist(), 1), layer))
    return attack.look(layer, held, made)


Task = Callable[[], Columns]


def _run_in_turn(tasks: Iterator[Task], advance: Callable[[int], None]) -> Iterator[Columns]:
    for task in tasks:
        seen = task()
        advance(len(seen["print"]))
        yield seen


def _run_side_by_side(tasks: Iterator[Task], workers: int, advance: Callable[[int], None]) -> Iterator[Columns]:
    """The same in several processes, with few tasks under way, so that an interruption is soon over."""
    finished: dict[int, Columns] = {}
    numbered, under_way = enumerate(tasks), dict[Future[Columns], int]()
    # Spawned and not forked: whoever shows the progress may have threads.
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        try:
            while under_way or not finished:
                with _shield_children():
                    for number, task in islice(numbered, 2 * workers - len(under_way)):
                        under_way[pool.submit(task)] = number
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    seen = finished[under_way.pop(done)] = done.result()
                    advance(len(seen["print"]))
        finally:
            pool.shutdown(cancel_futures=True)
    return iter([finished[number] for number in sorted(finished)])


@contextmanager
def _shield_children() -> Iterator[None]:
    """Processes started meanwhile never hear an interruption from the keyboard, which is for this one to handle."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
