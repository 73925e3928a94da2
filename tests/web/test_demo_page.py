"""The demo page as a person uses it, under a policy that forbids whatever is inline."""

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from invitations import OPERATOR
from layers import small_layer
from neologue.language.alphabet import Alphabet
from service.serving import wait_until
from small_service import Service, running

from .chromium import Browser, click_on
from .pages import ROOT, pages

KEY = OPERATOR.public_key().public_bytes_raw().hex()
STATIC = ROOT / "src" / "neologue" / "web" / "static"
LEAST_CONTRAST = 4.5
"""What WCAG 2 asks for text of the usual size."""
CONTRAST = """
const light = (color) => {
  const parts = color.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255);
  const [r, g, b] = parts.map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = (element) => {
  const own = getComputedStyle(element).backgroundColor;
  return own === "rgba(0, 0, 0, 0)" ? ground(element.parentElement) : own;
};
return Array.from(document.querySelectorAll("h1, h2, p, label, button, input, textarea, th, td, li, summary"))
  .filter((element) => element.checkVisibility())
  .map((element) => {
    const [a, b] = [light(getComputedStyle(element).color), light(ground(element))].sort((x, y) => y - x);
    return [element.outerHTML.slice(0, 60), (a + 0.05) / (b + 0.05)];
  });
"""


class Demo:
    """The page, and what is on it."""

    def __init__(self, browser: Browser, address: str, service: Service) -> None:
        self.browser, self.driver = browser, browser.driver
        credential = service.credential().text
        browser.visit(f"{address}/static/demo.html#operator={KEY}&credential={credential}")
        self.says("Ready")

    def part(self, name: str) -> WebElement:
        return self.driver.find_element(By.ID, name)

    def says(self, sentence: str) -> None:
        """Wait until the page says something, and has shown all that belongs to it."""

        def is_said() -> bool:
            told: str | None = self.driver.execute_script(
                "return document.querySelector('main[aria-busy]') ? null : document.getElementById('status').innerText"
            )
            return told is not None and told.startswith(sentence)

        wait_until(is_said)

    def click(self, name: str) -> None:
        click_on(self.part(name))

    def type(self, text: str) -> None:
        self.part("type").send_keys(text)

    def rows(self) -> dict[str, str]:
        """The words on the page, each with the verdict."""
        told: dict[str, str] = self.browser.run(
            "return Object.fromEntries(Array.from(document.querySelectorAll('#words tr'),"
            " ({ cells }) => [cells[0].textContent, cells[2].textContent]))"
        )
        return told

    def until(self, **verdicts: str) -> None:
        wait_until(lambda: self.rows() == verdicts)

    def join(self) -> None:
        self.click("opt-in")
        self.says("You have opted in")
        self.part("credential").send_keys(Keys.ENTER)
        self.says("Joined")


@pytest.fixture
def service() -> Iterator[Service]:
    # 682 candidates: with ε = 3 a report has some noise to look at.
    layer = small_layer(["ab", "ca"], 4, alphabet=Alphabet("abcd"))
    with running(Service(layer)) as service:
        yield service


@pytest.fixture
def demo(browser: Browser, service: Service) -> Iterator[Demo]:
    browser.complaints()
    with pages(service.address) as address:
        yield Demo(browser, address, service)
    assert browser.complaints() == []


def test_from_typing_to_the_receipt(demo: Demo, service: Service) -> None:
    assert "#" not in demo.driver.current_url, "a credential does not stay in the address"
    demo.join()
    demo.type("abcab, cab! abcab zzz ")
    waiting = "not known yet: nothing is asked of this device yet"
    demo.until(abcab=waiting, cab=waiting, zzz=waiting)
    demo.click("look")
    demo.says("This device is asked")
    demo.until(
        abcab="yes: it may be one of at most 4 that the report speaks of",
        cab="no: it is a known word",
        zzz="no: it has a character that is not asked for",
    )
    assert service.bodies == []
    demo.click("answer")
    demo.says("The report was counted")
    (body,) = service.bodies
    assert demo.part("report").is_displayed()
    assert demo.part("report-bytes").text.replace(" ", "").replace("\n", "") == body[48:].hex()
    assert "at most e^3 times likelier" in demo.part("report-meaning").text
    assert "“abcab”" in demo.part("report-own").text
    assert len(demo.driver.find_elements(By.CSS_SELECTOR, "#receipts li")) == 2
    assert demo.part("spent").text.endswith(": 3.")


def test_a_word_that_looks_like_a_tag_is_text(demo: Demo) -> None:
    demo.join()
    demo.type("a<img/src=x/onerror=alert(1)>b ")
    wait_until(lambda: "a<img/src=x/onerror=alert(1)>b" in demo.rows())
    assert demo.driver.find_elements(By.TAG_NAME, "img") == []


def test_what_is_private_or_forgotten_or_out_is_gone(demo: Demo, service: Service) -> None:
    demo.type("before ")
    demo.join()
    demo.type("abba acca ")
    wait_until(lambda: set(demo.rows()) == {"abba", "acca"})
    demo.click("private")
    demo.type("hunter ")
    demo.click("private")
    demo.type("adda ")
    wait_until(lambda: set(demo.rows()) == {"abba", "acca", "adda"})
    click_on(demo.driver.find_element(By.CSS_SELECTOR, "[aria-label='Forget abba']"))
    demo.says("The word is forgotten")
    assert set(demo.rows()) == {"acca", "adda"}
    demo.click("opt-out")
    demo.says("You have opted out")
    assert demo.rows() == {}
    assert not demo.part("answer").is_enabled()
    demo.type("after ")
    demo.click("forget-me")
    demo.says("Everything is erased")
    assert demo.rows() == {}
    assert service.requests == []


def test_it_can_be_used_by_keyboard_and_every_control_has_a_name(demo: Demo) -> None:
    demo.join()
    demo.type("abcab ")
    wait_until(lambda: "abcab" in demo.rows())
    controls = demo.driver.find_elements(By.CSS_SELECTOR, "button, input, textarea")
    assert all(control.accessible_name for control in controls)
    enabled = {control.accessible_name for control in controls if control.is_enabled()}
    demo.browser.run("document.activeElement.blur()")
    reached = set()
    for _ in range(25):
        demo.driver.switch_to.active_element.send_keys(Keys.TAB)
        reached.add(demo.driver.switch_to.active_element.accessible_name)
    assert enabled <= reached
    assert demo.part("status").get_attribute("aria-live") == "polite"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_readable_in_light_and_dark_and_fits_a_phone(demo: Demo, scheme: str) -> None:
    command: Any = demo.driver.execute_cdp_cmd
    command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    command("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True})
    try:
        demo.join()
        demo.type("abcab " + "c" * 40 + " ")
        wait_until(lambda: "abcab" in demo.rows())
        demo.click("look")
        demo.says("This device is asked")
        demo.click("answer")
        demo.says("The report was counted")
        assert demo.part("report").is_displayed()
        poor = {name: ratio for name, ratio in demo.browser.run(CONTRAST) if ratio < LEAST_CONTRAST}
        assert poor == {}
        width = demo.browser.run("return document.documentElement.scrollWidth")
        assert width <= 360
        dark = demo.browser.run("return getComputedStyle(document.body).backgroundColor") == "rgb(23, 22, 20)"
        assert dark is (scheme == "dark")
    finally:
        command("Emulation.clearDeviceMetricsOverride", {})
        command("Emulation.setEmulatedMedia", {"features": []})


def test_nothing_in_the_page_is_inline() -> None:
    page = (STATIC / "demo.html").read_text("utf-8")
    assert "<style" not in page
    assert " style=" not in page
    assert page.count("<script") == 1
    assert '<script type="module" src="demo.js"></script>' in page
    assert not any(f" on{event}=" in page for event in ("click", "input", "load", "error", "submit"))
    assert "//" not in page, "nothing comes from outside"
