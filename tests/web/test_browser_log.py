"""The device of the browser, whose policy demands witnesses: it answers what is in the log for everybody."""

from collections.abc import Iterator

import pytest

from layers import small_layer
from neologue.conformance.scripted_log import WITNESSES
from neologue.transparency.evidence import binding_of
from small_service import running
from transparency.logged_service import LoggedService

from .chromium import Browser, PageError
from .pages import pages
from .test_browser_device import LOOSE, Page

KEYS = [witness.public_key().public_bytes_raw().hex() for witness in WITNESSES]


@pytest.fixture
def service() -> Iterator[LoggedService]:
    service = LoggedService()
    with running(service):
        yield service


@pytest.fixture
def page(browser: Browser, service: LoggedService) -> Iterator[Page]:
    with pages(service.address) as address:
        page = Page(browser, address)
        trust = {"logs": [service.log.key.hex()], "witnesses": KEYS, "quorum": 2}
        page.open(policy={**LOOSE, **trust})
        yield page.start(service)


def test_a_layer_that_is_in_the_log_is_answered(page: Page, service: LoggedService) -> None:
    assert page.state == "final"
    assert len(service.bodies) == 1


def test_a_layer_for_one_device_is_refused(page: Page, service: LoggedService) -> None:
    service.layer = small_layer(["ab", "cb"], 5)
    state, _, message = page.tick()
    assert state == "refused"
    assert "not in a log that this device knows" in message
    assert service.asked("/v1/layers") == 0


def test_too_few_witnesses_and_no_proof_are_refused(page: Page, service: LoggedService) -> None:
    service.proof = bytes(service.log.proof(0, cosigners=1))
    assert "1 of the 3 witnesses" in page.tick()[2]
    service.proof = None
    assert "without a proof" in page.tick()[2]
    assert not service.bodies


_ATTESTED = """
    const { Device } = await import("/static/neologue-device.js");
    const [options, accepted] = given;
    const evidence = (document, binding) => `${[...document, ...binding]}` === `${accepted}`;
    globalThis.device.close();
    globalThis.device = await Device.open({ ...options, evidence });
"""
"""Opens the device anew; its owner accepts one document alone, with what it must be over behind it."""


def test_evidence_that_the_owner_accepts_is_fetched_before_the_layer(page: Page, service: LoggedService) -> None:
    service.documents["/log/evidence"] = b"a quote"
    page.run(_ATTESTED, page.options, [*b"a quote", *binding_of(service.log.key)])
    assert page.state == "final"
    paths = [path for _, path in service.requests]
    assert paths.index("/log/evidence") < paths.index(f"/v1/layers/{service.layer.digest.hex()}")


def test_other_evidence_is_refused(page: Page, service: LoggedService) -> None:
    service.documents["/log/evidence"] = b"a quote"
    page.run(_ATTESTED, page.options, [*b"a quote", *binding_of(bytes(32))])
    assert "no evidence of where it runs" in page.tick()[2]
    del service.documents["/log/evidence"]
    assert page.state == "later", "none is shown"
    assert service.asked("/v1/layers") == 0
    with pytest.raises(PageError, match="a quorum"):
        page.run(_ATTESTED, page.options | {"policy": LOOSE}, [])


def test_a_log_that_goes_on_is_followed_and_a_fork_is_refused(page: Page, service: LoggedService) -> None:
    assert page.run("return (await device.look()).state") == "invited"
    service.log.operator.insert(0, b"another beginning")
    service.publish()
    assert "was forked" in page.tick()[2]
    page.open()
    assert "was forked" in page.tick()[2], "what was seen is remembered"
    service.log.operator.pop(0)
    service.log.operator.append(b"more")
    service.publish()
    assert page.state == "final"


def test_a_policy_that_demands_too_much_is_refused(browser: Browser, service: LoggedService) -> None:
    with pages(service.address) as address:
        page = Page(browser, address)
        for trust in ({"witnesses": KEYS, "quorum": 1}, {"logs": ["00"]}, {"logs": [KEYS[0]], "quorum": 1}):
            told = page.run(
                """
                const { Device } = await import("/static/neologue-device.js");
                return Device.open({ ...given[0], policy: given[1] }).then(() => "opened", (error) => error.name);
                """,
                page.options,
                trust,
            )
            assert told == "DeviceError"
