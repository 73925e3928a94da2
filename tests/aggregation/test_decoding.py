"""The compiled decoder accepts the very bytes that the plain one does, and gives the same votes."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from closed import small_closed_layer
from layers import small_layer
from neologue.aggregation.decoding import Decoder, rice_decoder
from neologue.entropy import SeededEntropy
from neologue.errors import ReportError
from neologue.protocol.report import HEADER_BYTES, Asks, header, make_report, read_report
from neologue.randomizers.randomizer import Randomizer
from neologue.randomizers.unary import Unary


@dataclass(frozen=True)
class Asked:
    """A layer with nothing but a randomizer."""

    randomizer: Randomizer[Any]
    digest: bytes = bytes(range(32))


def read_both(layer: Asks, report: bytes) -> list[int] | None:
    """The votes in a report, which both decoders agree on; None if both refuse it."""
    plain, quick, refusals = None, None, []
    try:
        plain = read_report(layer, report).tolist()
    except ReportError as error:
        refusals.append(str(error))
    try:
        quick = Decoder(layer).votes(report).tolist()
    except ReportError as error:
        refusals.append(str(error))
    assert quick == plain
    assert len(refusals) != 1
    assert len(set(refusals)) <= 1
    return quick


def positions_alone(layer: Asked, report: bytes) -> list[int] | None:
    """What the compiled loop gives, without the plain decoder behind it."""
    assert isinstance(layer.randomizer, Unary)
    decoder = Decoder(layer)
    if not report.startswith(header(layer)) or len(report) > decoder.longest:
        return None
    found = rice_decoder(layer.randomizer)(report)
    return None if found is None else found.tolist()


@st.composite
def layers(draw: st.DrawFn) -> Asked:
    epsilon = draw(st.sampled_from([0.1, 1.0, 3.0, 7.0, 12.0, 20.0]))
    return Asked(Unary(draw(st.integers(1, 2000)), epsilon, draw(st.integers(1, 80))))


@st.composite
def honest(draw: st.DrawFn) -> tuple[Asked, list[int], bytes]:
    layer = draw(layers())
    places = layer.randomizer.candidates
    share = draw(st.sampled_from([0.0, 0.001, 0.05, 0.5, 1.0]))
    chosen = np.random.default_rng(draw(st.integers(0, 2**32))).random(places) <= share
    ends = draw(st.lists(st.sampled_from([0, places - 1]), max_size=2))
    positions = sorted({*np.flatnonzero(chosen).tolist(), *ends})
    assert isinstance(layer.randomizer, Unary)
    return layer, positions, header(layer) + layer.randomizer.code.encode(np.array(positions, np.int64))


@given(honest())
def test_any_report_is_read_alike(case: tuple[Asked, list[int], bytes]) -> None:
    layer, positions, report = case
    assert read_both(layer, report) in (positions, None)
    assert positions_alone(layer, report) == read_both(layer, report)


@settings(max_examples=400)
@given(honest(), st.data())
def test_any_change_of_a_report_is_judged_alike(case: tuple[Asked, list[int], bytes], data: st.DataObject) -> None:
    layer, _, report = case
    changed = bytearray(report)
    for _ in range(data.draw(st.integers(1, 3))):
        bit = data.draw(st.integers(0, 8 * len(changed) - 1))
        changed[bit // 8] ^= 1 << bit % 8
    padding = data.draw(st.sampled_from([b"", b"\0", b"\1", bytes(len(report) - HEADER_BYTES)]))
    cut = data.draw(st.sampled_from([0, 0, 0, 1, len(report) // 2]))
    hostile = bytes(changed[: len(changed) - cut]) + padding
    assert positions_alone(layer, hostile) == read_both(layer, hostile)


@settings(max_examples=400)
@given(layers(), st.data())
def test_any_bytes_are_judged_alike(layer: Asked, data: st.DataObject) -> None:
    length = layer.randomizer.payload_bytes << data.draw(st.integers(0, 3))
    count = data.draw(st.integers(0, layer.randomizer.candidates + 1))
    noise = np.random.default_rng(data.draw(st.integers(0, 2**32))).bytes(length)
    used = data.draw(st.integers(0, length))
    payload = (count.to_bytes(4, "big") + noise[:used]).ljust(length, b"\0")[:length]
    assert positions_alone(layer, header(layer) + payload) == read_both(layer, header(layer) + payload)


@given(st.binary(max_size=60))
@example(b"")
@example(bytes([1]) + bytes(range(8)))
@example(bytes([1]) + bytes(range(8)) + b"\0\0\0")
@example(bytes([1]) + bytes(range(8)) + b"\xff\xff\xff\xff" * 12)
def test_bytes_of_any_length_are_judged_alike(report: bytes) -> None:
    layer = Asked(Unary(300, 3.0, 5))
    assert positions_alone(layer, report) == read_both(layer, report)


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_every_kind_of_layer_is_read(mechanism: str) -> None:
    layer = small_layer(["a", "b", "c"], mechanism=mechanism)
    closed = small_closed_layer(["abba", "baba"], mechanism=mechanism)
    for asks in (layer, closed):
        report = make_report(asks, np.array([1, 2]), SeededEntropy(3))
        assert sorted(read_both(asks, report) or []) == sorted(read_report(asks, report).tolist())
        with pytest.raises(ReportError, match="another layer"):
            Decoder(asks).votes(make_report(Asked(asks.randomizer), np.array([1]), SeededEntropy(3)))


def test_a_large_layer_is_read_alike() -> None:
    layer = Asked(Unary(1_000_000, 5.0, 60))
    report = make_report(layer, np.arange(0, 600_000, 10_000), SeededEntropy(1))
    votes = read_both(layer, report)
    assert votes is not None
    assert len(votes) > 6000
    assert positions_alone(layer, report) == votes
