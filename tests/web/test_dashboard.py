"""The dashboard as people use it, in a real browser."""

import json
import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from neologue.release.certification.certificate import certify
from neologue.release.codec import decode_release
from neologue.release.layer_archive import read_documents
from service.campaigns import WORDS
from service.serving import wait_until

from .chromium import Browser, click_on
from .office import TAG, TAGGED, Office, Visitor, office, release_tags
from .pages import pages
from .test_demo_page import CONTRAST, LEAST_CONTRAST

TAGS = f"/campaigns/{quote(TAGGED, safe='')}"
PAGES = (
    "/",
    "/trends",
    "/transparency",
    "/create",
    TAGS,
    f"{TAGS}/trie",
    f"{TAGS}/words",
    f"{TAGS}/words?q=%3Csvg",
    f"{TAGS}/review",
    f"{TAGS}/privacy",
)
NARROW = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    release_tags(folder)
    with office(folder) as running:
        yield running


@pytest.fixture
def visitor(browser: Browser, desk: Office) -> Iterator[Visitor]:
    browser.complaints()
    yield Visitor(browser, desk)
    complaints = browser.complaints()
    browser.visit("about:blank")  # whoever leaves lets go of the stream of events
    assert complaints == []


def test_operators_and_analysts_sign_in_and_see_what_is_theirs(visitor: Visitor, desk: Office) -> None:
    visitor.go("/create")
    visitor.shows("h1", "Sign in")
    visitor.fill(token=desk.served.token + Keys.ENTER)
    visitor.shows("h1", "New campaign")
    assert visitor.part(".role").text == "operator"
    visitor.click("Sign out")
    visitor.shows("h1", "Sign in")
    visitor.go("/")
    visitor.shows("h1", "Sign in")
    visitor.sign_in(desk.token("analyst"))
    assert visitor.part(".role").text == "analyst"
    assert not visitor.driver.find_elements(By.LINK_TEXT, "New campaign")
    click_on(visitor.part(".campaigns a"))
    visitor.shows("main h2", "3 released words")
    tabs = [tab.text for tab in visitor.driver.find_elements(By.CSS_SELECTOR, ".tabs a")]
    assert tabs == ["Words", "Review", "Privacy"]


def test_a_campaign_from_its_creation_to_the_exported_words_by_clicking(
    visitor: Visitor, desk: Office, tmp_path: Path
) -> None:
    command: Any = visitor.driver.execute_cdp_cmd
    command("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    visitor.sign_in(desk.served.token)
    visitor.click("New campaign")
    click_on(visitor.part("summary"))
    Select(visitor.part("[name=privacy]")).select_by_value("")  # a local ε of its own keeps no level
    visitor.fill(name="by hand", devices="900", epsilon="10", depth="4", smallest_layer="20", batch="10")
    visitor.fill(words_per_user="5", known="the\nox", k_anonymity="5")
    visitor.shows("#price", "k-anonymity5")
    visitor.shows("#price", "ε of a user, against readers")
    visitor.shows("#expected:not([aria-busy])", "Report size")
    click_on(visitor.part("#accept_weak_privacy"))
    visitor.click("Create draft")
    visitor.shows("h1", "by hand draft")

    visitor.fill(count="7")
    visitor.click("Issue and download")
    issued = tmp_path / "credentials-by-hand.txt"
    wait_until(lambda: issued.exists() and len(issued.read_text().split()) == 7)

    visitor.click("Start")
    visitor.shows("#now", "Pass 1, layer 1 0 of")
    visitor.browser.run("globalThis.marked = true")
    identity = bytes.fromhex(desk.served.ask("GET", "/v1/campaigns/by%20hand").json["id"])
    (layer,) = desk.served.ask("GET", "/v1/campaigns/by%20hand/layers").json
    reports = desk.town.answer(identity, layer["cohort"] // 4, WORDS)
    visitor.shows("#now", f"Pass 1, layer 1 {reports} of")
    tenths = 10 * reports // layer["cohort"]
    assert tenths > 0, "before these reports it was 0 %"
    visitor.shows("#announcement", f"{10 * tenths} % of the reports have arrived.")
    assert visitor.browser.run("return globalThis.marked"), "the page has not been loaded anew"

    visitor.click("Pause")
    visitor.shows("h1", "by hand paused")
    visitor.click("Resume")
    visitor.shows("h1", "by hand running")
    visitor.click("Abort …")
    visitor.shows("main h2", "Abort by hand?")
    visitor.click("Cancel")
    visitor.shows("#now", f"Pass 1, layer 1 {reports} of")

    desk.finish(identity, WORDS)
    visitor.shows("h1", "by hand released")
    visitor.shows("#layers tbody tr th", "1.1")
    visitor.click("View words")
    visitor.shows("table", "lol")
    found = {cell.text for cell in visitor.driver.find_elements(By.CSS_SELECTOR, "tbody th")}
    assert found == set(WORDS)
    visitor.fill(q="tb" + Keys.ENTER)
    visitor.shows(".pages", "1 word, page 1 of 1")
    visitor.click("CSV")
    visitor.click("Signed release")
    visitor.click("What was asked")
    names = [tmp_path / f"by-hand-{name}" for name in ("words.csv", "release.json")]
    archive = tmp_path / "by-hand-layers.zip"
    wait_until(lambda: all(name.exists() and name.read_bytes().endswith(b"\n") for name in names))
    wait_until(lambda: archive.exists() and zipfile.is_zipfile(archive))
    assert {line.split(",")[0] for line in names[0].read_text().splitlines()[1:]} == found
    release = decode_release(names[1].read_bytes(), names[1])
    documents = read_documents(archive, [str(layer.digest) for layer in release.layers])
    assert certify(release, documents).passed


def test_a_campaign_is_ended_for_good_after_one_more_question(visitor: Visitor, desk: Office) -> None:
    desk.create("unwanted")
    visitor.sign_in(desk.served.token)
    visitor.go("/campaigns/unwanted/abort")
    visitor.click("Abort campaign")
    visitor.shows("h1", "unwanted aborted")
    assert not visitor.driver.find_elements(By.XPATH, "//main//form[@method='post']")


def test_words_and_names_are_text_on_every_page(visitor: Visitor, desk: Office) -> None:
    visitor.sign_in(desk.served.token)
    for path in PAGES:
        visitor.go(path)
        visitor.browser.run("globalThis.hack = () => { globalThis.hacked = true }")
        if path.endswith("trie"):
            visitor.shows("#tree", "<")
            visitor.part("#query").send_keys(TAG + Keys.ENTER)
            visitor.shows("#status", f"“{TAG}” was kept.")
        if path.startswith(TAGS):
            assert TAGGED in visitor.part("h1").text, path
        if "words" in path or path.endswith("review"):
            assert TAG in visitor.part("main").text, path
        assert not visitor.browser.run("return globalThis.hacked ?? false"), path
        assert visitor.driver.find_elements(By.CSS_SELECTOR, "img, svg[onload], [onerror]") == [], path


def test_a_beginning_that_goes_on_in_other_ways_shows_the_share_of_users(visitor: Visitor, desk: Office) -> None:
    parameters = {"layers": 3, "candidates": 6000, "depth": 6}
    identity = desk.begin("odd", devices=900, parameters=parameters, known=["lob", "lol", "tub", "tab"])
    asked = desk.town.layer(identity)
    assert asked
    desk.town.answer(identity, asked[0].layer_size, {"xqzjkv": 1})
    visitor.sign_in(desk.served.token)
    visitor.go("/campaigns/odd/trie")
    visitor.shows("#tree", "x")
    visitor.part("#query").send_keys("x" + Keys.ENTER)
    visitor.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    visitor.shows("#tree", "% of users have other words")


def test_the_trie_is_explored_by_keyboard(visitor: Visitor, desk: Office) -> None:
    visitor.sign_in(desk.served.token)
    visitor.go(f"{TAGS}/trie")
    visitor.shows("#tree", "l")

    def at() -> str:
        told: str = visitor.browser.run("return document.activeElement.dataset.text ?? document.activeElement.id")
        return told

    def press(key: str, there: str) -> None:
        visitor.driver.switch_to.active_element.send_keys(key)
        wait_until(lambda: at() == there)

    visitor.browser.run("document.getElementById('query').focus()")
    press(Keys.TAB, "")
    press(Keys.TAB, "<")
    press(Keys.ARROW_DOWN, "l")
    visitor.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    opened = "return document.querySelectorAll('[data-text=\"lolz\"]').length === 1"
    wait_until(lambda: visitor.browser.run(opened))
    press(Keys.ARROW_RIGHT, "lo")
    press(Keys.ARROW_DOWN, "lol")
    name = visitor.driver.switch_to.active_element.accessible_name
    assert name.startswith("lol, word, ")
    assert name.endswith(" below")
    press(Keys.END, "lolz")
    assert visitor.driver.switch_to.active_element.aria_role == "treeitem"
    press(Keys.ARROW_LEFT, "lol")
    visitor.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT)
    closed = "return document.activeElement.getAttribute('aria-expanded')"
    wait_until(lambda: visitor.browser.run(closed) == "false")
    press(Keys.ARROW_LEFT, "lo")
    press(Keys.HOME, "<")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_pages_are_readable_and_fit_a_phone_in_light_and_dark(visitor: Visitor, desk: Office, scheme: str) -> None:
    command: Any = visitor.driver.execute_cdp_cmd
    command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    command("Emulation.setDeviceMetricsOverride", NARROW)
    try:
        visitor.sign_in(desk.served.token)
        for path in ("/sign-in", *PAGES):
            visitor.go(path)
            assert visitor.browser.run("return document.documentElement.scrollWidth") <= NARROW["width"], path
            poor = {name: ratio for name, ratio in visitor.browser.run(CONTRAST) if ratio < LEAST_CONTRAST}
            assert poor == {}, path
            controls = visitor.driver.find_elements(By.CSS_SELECTOR, "a, button, input:not([type=hidden]), select")
            assert all(control.accessible_name for control in controls if control.is_displayed()), path
            landmarks = visitor.browser.run(
                "return ['main', 'header', 'h1'].map((n) => document.querySelectorAll(n).length)"
            )
            assert landmarks == [1, 1, 1], path
        ground = visitor.browser.run("return getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(23, 22, 20)") is (scheme == "dark")
    finally:
        command("Emulation.clearDeviceMetricsOverride", {})
        command("Emulation.setEmulatedMedia", {"features": []})


def test_browsers_contribute_to_a_real_layer_from_its_own_origin_and_from_another(
    visitor: Visitor, desk: Office
) -> None:
    name = f"browsers-{os.urandom(4).hex()}"
    # With a smaller ε the few candidates of a first layer have the noise that a device wants by default.
    desk.begin(name, batch=2, parameters={"epsilon": 6.0})
    key = desk.served.ask("GET", "/v1/key").json["operator"]
    invited: list[str] = []

    def look() -> bool:
        issued = desk.served.ask("POST", f"/v1/campaigns/{name}/credentials", {"count": 20}).body.decode().split()
        asked = {text: desk.served.ask("POST", "/v1/check-in", {"credential": text}).json for text in issued}
        invited.extend(text for text, told in asked.items() if told["state"] == "invited")
        return len(invited) >= 2

    wait_until(look)
    # This origin: the demo page, as the service serves it.
    visitor.go(f"/device/demo.html#operator={key}&credential={invited[0]}")
    visitor.shows("#status", "Ready")
    click_on(visitor.part("#opt-in"))
    visitor.shows("#status", "You have opted in")
    visitor.part("#credential").send_keys(Keys.ENTER)
    visitor.shows("#status", "Joined")
    visitor.part("#type").send_keys("lol ")
    visitor.shows("#words", "lol")
    click_on(visitor.part("#answer"))
    visitor.shows("#report-size", "bytes")
    # Another origin: an app of its own, whose browser asks first whether it may.
    with pages(connects_to=desk.address) as app:
        visitor.browser.visit(app)
        options = json.dumps({"server": desk.address, "operators": [key]})
        state = visitor.browser.run(
            f"""
            const {{ Device }} = await import("/static/neologue-device.js");
            const device = await Device.open({options});
            await device.optIn();
            await device.join(given[0]);
            await device.typed("lol");
            return (await device.tick()).state;
            """,
            invited[1],
        )
        assert state in ("received", "final")

        def counted() -> bool:
            (layer,) = desk.served.ask("GET", f"/v1/campaigns/{name}/layers").json
            return bool(layer["reports"] == 2)

        wait_until(counted)
