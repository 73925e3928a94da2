"""A fuzzer asks for everything that the description of the service offers, and sends reports that are almost right."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable

from neologue.device.contribution import contribute
from neologue.errors import ReportError
from neologue.protocol.credential import Credential
from neologue.protocol.documents import known_digest, read_known, read_layer
from neologue.protocol.layer import Layer
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission

from .campaigns import WORDS, definition
from .serving import Served, served, wait_until

EXAMPLES: Final = 8
"""For each operation, and as many that break its description."""
MUTATIONS: Final = 150
DEFINITIONS: Final = 100
NAMES: Final = ("under way", "draft", "ended")
ASKING: Final = "/v1/campaigns/asking"
"""A campaign that no fuzzer ends."""

bounded = settings(suppress_health_check=list(HealthCheck), phases=[Phase.explicit, Phase.generate, Phase.shrink])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a campaign under way, one that is a draft and one that was aborted."""
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('fuzz')}/service.db"
    else:
        url = request.getfixturevalue("postgres")()
    with served(url, failures_per_minute=1e6) as running:
        for name, action in zip((*NAMES, "asking"), ("start", "", "abort", "start"), strict=True):
            body = msgspec.to_builtins(definition(rehearsal=True, name=name, devices=9000, layer_seconds=1e6))
            assert running.ask("POST", "/v1/campaigns", body).status == 201
            if action:
                assert running.ask("POST", f"/v1/campaigns/{quote(name)}/{action}").status == 200
        wait_until(lambda: running.ask("GET", f"{ASKING}/layers").json)
        yield running


def test_the_service_keeps_to_its_description(service: Served) -> None:
    import schemathesis  # a second, for which no other process of the tests should wait
    from schemathesis.checks import CHECKS
    from schemathesis.core.result import Ok

    schema = schemathesis.openapi.from_url(f"{service.address}/openapi.json")
    headers = {"Authorization": f"Bearer {service.token}"}
    (device,) = invited(service, 1)
    layer = layer_of(service, device)
    digests = (layer.digest.hex(), layer.known.digest)
    # What is well formed is refused for good reasons: no such campaign, or none in a state for it.
    excluded = CHECKS.get_by_names(["positive_data_acceptance"])
    asked = set()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok)
        operation = found.ok()
        for mode in schemathesis.GenerationMode:

            @settings(bounded, max_examples=EXAMPLES)
            @given(
                case=operation.as_strategy(generation_mode=mode),
                name=st.sampled_from((None, *NAMES)),
                digest=st.sampled_from((None, *digests)),
            )
            def ask(case: Any, **there: str | None) -> None:  # noqa: ANN401 - of schemathesis
                case.path_parameters.update(
                    {key: value for key, value in there.items() if value and key in case.path_parameters}
                )
                response = case.call(headers=headers)
                asked.add((case.method, case.path))
                # That a request is too large is an answer, too, to one that is wrong in other ways.
                too_large = CHECKS.get_by_names(["negative_data_rejection"]) if response.status_code == 413 else []
                case.validate_response(response, headers=headers, excluded_checks=[*excluded, *too_large])

            try:
                ask()
            except Unsatisfiable:
                assert mode == schemathesis.GenerationMode.NEGATIVE, "where nothing is asked for nothing can be wrong"
    assert len(asked) >= 20


def test_what_a_path_does_not_offer_is_said(service: Served) -> None:
    for path, offered in service.ask("GET", "/openapi.json").json["paths"].items():
        there = path.replace("{name}", "draft").replace("{digest}", 64 * "0").replace("{hostile}", "3")
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "TRACE", "QUERY"} - {each.upper() for each in offered}:
            reply = service.ask(method, there)
            assert (reply.status, reply.code) == (405, "method"), f"{method} {path}"
            allowed = set(reply.headers["allow"].split(", "))
            assert allowed - {"HEAD"} <= {each.upper() for each in offered}, f"{method} {path}"


@pytest.mark.parametrize("name", ["%00", "a%00b", "%ED%A0%80", "%FF", "..", "a%2Fb", "%E2%80%AE", "x" * 5000, ""])
def test_no_name_makes_the_service_fail(service: Served, name: str) -> None:
    for method, path in (
        ("GET", f"/v1/campaigns/{name}/layers"),
        ("POST", f"/v1/campaigns/{name}/start"),
        ("DELETE", f"/v1/tokens/{name}"),
        ("GET", f"/v1/layers/{name}"),
        ("GET", f"/v1/campaigns/draft/influence/{name}"),
    ):
        assert 400 <= service.ask(method, path).status < 500, path


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-2, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["en", "ascii", "neologue", "paper", "extend", "end", "a\0b", "ab" * 32]),
    st.lists(st.text(max_size=5), max_size=3),
    st.just({}),
)
GIVEN = msgspec.to_builtins(definition(rehearsal=True, name="fuzzed"))


@settings(bounded, max_examples=DEFINITIONS)
@given(
    changes=st.dictionaries(st.sampled_from(sorted(GIVEN)), VALUES, max_size=2),
    parameters=st.dictionaries(st.sampled_from(sorted(GIVEN["parameters"])), VALUES, max_size=2),
    number=st.integers(0, 1 << 60),
)
def test_a_definition_is_refused_or_can_be_run(
    service: Served, changes: dict[str, Any], parameters: dict[str, Any], number: int
) -> None:
    body = {**GIVEN, "name": f"fuzzed {number}", "parameters": {**GIVEN["parameters"], **parameters}, **changes}
    reply = service.ask("POST", "/v1/campaigns", body)
    if reply.status != 201:
        assert 400 <= reply.status < 500, body
        assert reply.code
        return
    path = f"/v1/campaigns/{quote(reply.json['name'])}"
    assert service.ask("GET", path).status == 200
    for action in ("start", "pause", "start", "abort"):
        assert service.ask("POST", f"{path}/{action}").status == 200, body


@dataclass(frozen=True)
class Device:
    """One that a campaign asks."""

    credential: Credential
    layer: str
    ticket: bytes

    def send(self, service: Served, report: bytes) -> int:
        """The status of the answer."""
        serial = self.credential.serial
        body = bytes(Submission(self.credential.campaign_id, serial, self.ticket, report))
        return service.ask("POST", "/v1/reports", body).status


def invited(service: Served, count: int) -> list[Device]:
    devices: list[Device] = []
    while len(devices) < count:
        issued = service.ask("POST", f"{ASKING}/credentials", {"count": 10}).body.decode().split()
        for credential in issued:
            told = service.ask("POST", "/v1/check-in", {"credential": credential}).json
            if told["state"] == "invited":
                devices.append(Device(Credential.parse(credential), told["layer"], bytes.fromhex(told["ticket"])))
    return devices[:count]


def layer_of(service: Served, device: Device) -> Layer:
    document = service.ask("GET", f"/v1/layers/{device.layer}").body
    layer = read_layer(document, read_known(service.ask("GET", f"/v1/known/{known_digest(document)}").body))
    assert isinstance(layer, Layer)
    return layer


def is_canonical(layer: Layer, report: bytes) -> bool:
    """Whether a report is the one way to say what it says."""
    try:
        read_report(layer, report)
    except ReportError:
        return False
    return True


@st.composite
def mutated(draw: st.DrawFn, report: bytes) -> bytes:
    """A report in which a few things have gone wrong, or none."""
    wrong = bytearray(report)
    for _ in range(draw(st.integers(0, 3))):
        layer_index = draw(st.integers(0, max(0, len(wrong) - 1)) | st.integers(max(0, len(wrong) - 9), len(wrong)))
        match draw(st.sampled_from(["flip", "set", "cut", "remove", "insert", "repeat"])):
            case "flip" if layer_index < len(wrong):
                wrong[layer_index] ^= 1 << draw(st.integers(0, 7))
            case "set" if layer_index < len(wrong):
                wrong[layer_index] = draw(st.sampled_from([0, 1, 127, 128, 255]))
            case "cut":
                del wrong[layer_index:]
            case "remove":
                del wrong[layer_index : layer_index + draw(st.integers(1, 9))]
            case "insert":
                wrong[layer_index:layer_index] = draw(st.binary(min_size=1, max_size=9))
            case "repeat":
                wrong += wrong[layer_index:]
    return bytes(wrong)


def test_nothing_is_counted_that_is_not_canonical(service: Served) -> None:
    devices = invited(service, MUTATIONS)
    layer = layer_of(service, devices[0])
    report = contribute(WORDS, layer)
    (before,) = service.ask("GET", f"{ASKING}/layers").json
    counted: list[Device] = []
    refused: list[Device] = []

    @settings(bounded, max_examples=MUTATIONS, phases=[Phase.generate])
    @given(sent=mutated(report))
    def send(sent: bytes) -> None:
        if not devices:
            return
        device = devices.pop()
        status = device.send(service, sent)
        assert status < 500
        assert (status in (200, 202)) == is_canonical(layer, sent), sent.hex()
        (counted if status in (200, 202) else refused).append(device)

    send()
    assert len(refused) > MUTATIONS // 4, "most mutations break a report"

    def are_final() -> bool:
        # Whoever was refused may still send what is right: with one more each time nobody waits in vain for a batch.
        counted.append(refused.pop())
        return set(pool.map(lambda device: device.send(service, report), counted)) == {200}

    with ThreadPoolExecutor(32) as pool:
        wait_until(are_final)
    (after,) = service.ask("GET", f"{ASKING}/layers").json
    assert after["reports"] - before["reports"] == len(counted)
