"""Evidence of where a service runs: the real report that omne-attest ships, and whatever was changed in it."""

import base64
import json
import warnings
from collections.abc import Iterator
from dataclasses import replace

import omne_attest
import pytest
from omne_attest import vectors

from neologue.errors import LogError, ParameterError
from neologue.transparency.evidence import Evidence, Expected, binding_of

PARTS = {"report": vectors.attestation(), "vcek": vectors.vcek(), "ask": vectors.ask(), "ark": vectors.ark()}
REPORT = omne_attest.Report.parse(vectors.attestation())
EXPECTED = Expected(REPORT.measurement, vectors.ARK_SHA256, REPORT.report_data, allow_debug=True)


@pytest.fixture(autouse=True)
def serials_of_zero() -> Iterator[None]:
    """AMD's certificates have the serial number 0, of which cryptography warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def document(kind: str = "sev-snp", **changes: bytes) -> bytes:
    parts = {name: base64.b64encode(part).decode() for name, part in (PARTS | changes).items()}
    return json.dumps({"kind": kind, **parts}).encode()


def flipped(content: bytes, place: int) -> bytes:
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_a_real_report_is_verified() -> None:
    Evidence.parse(document()).verify(EXPECTED)


def test_a_machine_that_its_host_may_look_into_is_refused() -> None:
    """The report is real, and of a machine that was started with a debugger allowed."""
    with pytest.raises(LogError, match="allows debug"):
        Evidence.parse(document()).verify(replace(EXPECTED, allow_debug=False))


@pytest.mark.parametrize(
    ("expected", "complaint"),
    [
        (replace(EXPECTED, measurement=bytes(48)), "not the expected image"),
        (replace(EXPECTED, binding=binding_of(bytes(32))), "report_data"),
        (replace(EXPECTED, root=bytes(32)), "pinned"),
    ],
)
def test_another_image_key_or_vendor_is_refused(expected: Expected, complaint: str) -> None:
    with pytest.raises(LogError, match=complaint):
        Evidence.parse(document()).verify(expected)


@pytest.mark.parametrize("place", [0x10, 0x50, 0x90, 0x1A0, 0x29F, 0x2A1])
def test_a_changed_report_is_refused(place: int) -> None:
    with pytest.raises(LogError, match="does not show what is expected"):
        Evidence.parse(document(report=flipped(PARTS["report"], place))).verify(EXPECTED)


def test_what_has_no_verifier_is_refused() -> None:
    with pytest.raises(ParameterError, match="no verifier of evidence 'a promise'"):
        Evidence.parse(document(kind="a promise")).verify(EXPECTED)


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b'{"kind": 1, "report": 2}', b'{"kind": "sev-snp", "report": "!"}']
)
def test_what_is_no_evidence_is_refused(content: bytes) -> None:
    with pytest.raises(LogError):
        Evidence.parse(content)


def test_a_report_alone_is_not_enough() -> None:
    alone = json.dumps({"kind": "sev-snp", "report": base64.b64encode(PARTS["report"]).decode()}).encode()
    with pytest.raises(LogError, match="lacks 'vcek'"):
        Evidence.parse(alone).verify(EXPECTED)


def test_what_a_quote_is_over_has_the_length_that_hardware_signs() -> None:
    assert len(binding_of(bytes(32))) == len(REPORT.report_data)
    assert binding_of(bytes(32)) != binding_of(bytes(31) + b"\1")
