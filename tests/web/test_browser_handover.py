"""A device in a page that may not use the network, and whoever carries its requests: also another page."""

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from neologue.device import HttpTransport
from neologue.device.network.handover import HandedRequest, carry
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission
from small_service import Service, error, instead, running

from .chromium import Browser, PageError
from .pages import pages
from .test_browser_device import LOOSE, Page

TICK = """
    const { state, again, request } = await device.tick(...given);
    const loaded = performance.getEntriesByType("resource");
    return [state, again, request ?? null, loaded.map(({ name }) => new URL(name).pathname)];
"""


@pytest.fixture
def service() -> Iterator[Service]:
    with running(Service()) as service:
        yield service


@pytest.fixture
def page(browser: Browser, service: Service) -> Iterator[Page]:
    with pages(service.address) as address:
        page = Page(browser, address)
        page.open(server=None, policy=LOOSE)
        yield page.start(service)


def step(page: Page, carried: str | None = None) -> tuple[str, float | None, str | None]:
    """One step of the device: its state, when to come again, and its request. It uses no network."""
    state, again, request, fetched = page.run(TICK, *([] if carried is None else [carried]))
    assert set(fetched) <= {"/favicon.ico", "/static/neologue-device.js"}
    return state, again, request


def carried(service: Service, request: str | None) -> str:
    """What Python carries back."""
    assert request
    with closing(HttpTransport(service.address)) as transport:
        return carry(HandedRequest.parse(request.encode()), transport).decode()


def test_two_trips_are_a_report_and_the_page_uses_no_network(page: Page, service: Service) -> None:
    state, again, asked = step(page)
    assert (state, again) == ("later", 1)
    state, _, sent = step(page, carried(service, asked))
    assert (state, sent and json.loads(sent)["path"]) == ("later", "/v1/reports")
    assert step(page)[2] == sent, "the same bytes until they are final"
    service.ahead("/v1/reports", instead(error(503, "busy", Retry_After="70")))
    assert step(page, carried(service, sent)) == ("later", 70, None)
    page.open()
    assert step(page)[2] == sent, "also after a restart"
    assert step(page, carried(service, sent)) == ("final", None, None)
    (report,) = service.final.values()
    read_report(service.layer, report)
    assert Submission.parse(service.bodies[0]).report == report


def test_another_page_carries(page: Page, service: Service) -> None:
    page.run("globalThis.carry = (await import('/static/neologue-device.js')).carry")
    script = "return carry(given[0], given[1])"
    _, _, asked = step(page)
    answers: str = page.run(script, asked, page.address)
    assert len(json.loads(answers)["answers"]) == 3, "the layer and its known words come with the invitation"
    told: Any = page.run("return device.tick(given[0])", answers)
    assert json.loads(told["request"])["path"] == "/v1/reports"
    page.run(f"{script.replace('return', 'globalThis.answers = await')}", told["request"], page.address)
    assert page.run("return device.tick(answers)")["state"] == "final"
    assert service.final


def test_documents_that_were_not_carried_are_asked_for(page: Page, service: Service) -> None:
    _, _, asked = step(page)
    told = json.loads(carried(service, asked))
    told["answers"] = told["answers"][:1]
    state, _, wanted = step(page, json.dumps(told))
    assert (state, wanted and json.loads(wanted)["path"]) == ("later", f"/v1/layers/{service.layer.digest.hex()}")
    state, _, wanted = step(page, carried(service, wanted))
    assert (state, wanted and json.loads(wanted)["path"]) == ("later", f"/v1/known/{service.layer.known.digest}")
    _, _, sent = step(page, carried(service, wanted))
    assert step(page, carried(service, sent)) == ("final", None, None)


def test_who_carries_is_trusted_no_more_than_a_network(page: Page, service: Service) -> None:
    _, _, asked = step(page)
    told = json.loads(carried(service, asked))
    told["answers"][1]["body"] = base64.b64encode(b"another layer").decode()
    assert step(page, json.dumps(told))[::2] == ("refused", None)


def test_who_opts_out_hands_over_nothing(page: Page, service: Service) -> None:
    _, _, asked = step(page)
    _, _, sent = step(page, carried(service, asked))
    assert sent
    page.run("await device.optOut()")
    assert step(page)[::2] == ("out", None)


@pytest.mark.parametrize("answers", ["", "null", "{}", '{"handover": 1}', '{"handover": 1, "answers": [{}]}'])
def test_what_was_not_carried_is_told(page: Page, answers: str) -> None:
    with pytest.raises(PageError, match="have the request carried again"):
        page.run("return device.tick(given[0])", answers)


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/v1/cohorts"), ("GET", "/v1/layers/../tokens"), ("GET", "/v1/check-in")]
)
def test_nothing_but_the_requests_of_a_device_is_carried(page: Page, method: str, path: str) -> None:
    request = json.dumps({"handover": 1, "method": method, "path": path, "type": "application/json", "body": ""})
    script = "return (await import('/static/neologue-device.js')).carry(given[0], given[1])"
    with pytest.raises(PageError, match="no request of a device"):
        page.run(script, request, page.address)
