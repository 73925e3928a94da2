"""The pictures of docs/dashboard.md, of a real campaign in a real browser: `cd tests && python -m web.screenshots`.

With a folder, `python -m web.screenshots FOLDER` takes every page into it instead: light and dark, as wide as a phone
and as wide as a screen, each from top to bottom. They are to be looked at when the dashboard has changed.

The devices hold words of the embedded population and answer with the real device code; a few minutes on two processors.
"""

import io
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from neologue.device.contribution import contribute
from neologue.language.vocabulary import Vocabulary
from neologue.ledger.budget import Budget
from neologue.populations.population import Population
from neologue.protocol.report import read_report
from service.serving import wait_until

from .chromium import Browser, browsing
from .office import Office, Visitor, office
from .pages import ROOT

IMAGES = ROOT / "docs" / "images"
DEVICES = 6000
NAME = "spring"
COLOURS = 96
"""As many as pages of text need."""
LARGEST = 150_000
"""Bytes of a picture."""


def crowd(seed: int) -> Iterator[dict[str, int]]:
    """What the owner of each device has typed."""
    population = Population.embedded("en", DEVICES, known=Vocabulary.builtin("en"), seed=seed)
    for span in population.spans(0, DEVICES):
        held = population.draw(*span)
        for user in range(held.users):
            own = slice(held.starts[user], held.starts[user + 1])
            pairs = zip(held.words[own].tolist(), held.counts[own].tolist(), strict=True)
            yield {population.words[word]: count for word, count in pairs}


def answer(desk: Office, identity: bytes, devices: Iterator[dict[str, int]], share: float) -> None:
    """So much of what the open layer waits for arrives, in batches."""
    asked = desk.town.layer(identity)
    cached = desk.town.layer_cache.campaign(identity)
    if asked is None or cached is None or cached.layer is None:
        return
    layer, layer_index = asked
    wanted = int(cached.layer.round.missing * share)
    for start in range(0, wanted, 50):
        reports = {
            os.urandom(16): read_report(layer, contribute(next(devices), layer)).astype("uint32")
            for _ in range(min(50, wanted - start))
        }
        desk.town.storage.commit_batch(identity, layer_index, reports, 1)


def open_layer(desk: Office, identity: bytes) -> int:
    """Which layer is open; none yet, or just now, is before the first."""
    asked = desk.town.layer(identity)
    return asked[1] if asked else -1


def wait_for_layer(desk: Office, identity: bytes, index: int) -> None:
    """Wait until a layer is open, so that no report meant for one before it goes to it."""
    wait_until(lambda: open_layer(desk, identity) == index)


def gallery(visitor: Visitor, folder: Path) -> None:
    """Take every page of a released campaign in every size and colour."""
    campaign = f"/campaigns/{NAME}"
    paths = {
        "campaigns": "/",
        "create": "/create",
        "progress": campaign,
        "trie": f"{campaign}/trie",
        "words": f"{campaign}/words",
        "review": f"{campaign}/review",
        "privacy": f"{campaign}/privacy",
        "trends": "/trends",
        "transparency": "/transparency",
        "draft": "/campaigns/winter",
        "edit": "/campaigns/winter/edit",
        "abort": "/campaigns/winter/abort",
        "nothing": "/nope",
    }
    for name, path in paths.items():
        visitor.go(path)
        if name == "trie":
            visitor.shows("#status", "first characters")
        every_size(visitor.browser, folder, name)
    visitor.driver.delete_all_cookies()
    visitor.go("/sign-in")
    every_size(visitor.browser, folder, "sign-in")


def every_size(browser: Browser, folder: Path, name: str) -> None:
    """Take the page that is open, in every size and colour; it must not be wider than the screen."""
    driver = browser.driver
    for width in (390, 1100):
        for scheme in ("light", "dark"):
            adjust(browser, scheme, width, 900)
            height = driver.execute_script("return document.documentElement.scrollHeight")
            adjust(browser, scheme, width, min(6000, height))
            driver.save_screenshot(str(folder / f"{name}-{width}-{scheme}.png"))
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= width, f"{name} is {wide} wide on a screen of {width}"


def adjust(browser: Browser, scheme: str, width: int, height: int) -> None:
    """Give the browser a size and a colour scheme."""
    command: Any = browser.driver.execute_cdp_cmd
    command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    command("Emulation.setScrollbarsHidden", {"hidden": True})
    command("Emulation.setDeviceMetricsOverride", size)
    browser.run("await new Promise((done) => setTimeout(done, 500))")


def look(browser: Browser, name: str, *, scheme: str, width: int, height: int) -> None:
    """Take one picture."""
    adjust(browser, scheme, width, height)
    path = IMAGES / f"{name}.png"
    taken = Image.open(io.BytesIO(browser.driver.get_screenshot_as_png()))
    # By coverage, small signs keep their colour.
    taken.convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    assert path.stat().st_size < LARGEST, path


def drawn(name: str) -> dict[str, Any]:
    """The definition of a campaign for these devices."""
    return {
        "name": name,
        "devices": DEVICES,
        "language": "en",
        "population": "keyboards",
        "batch": 50,
        "accept_weak_privacy": True,
        "parameters": {"epsilon": 10.0, "depth": 10},
    }


def begin(desk: Office, name: str) -> bytes:
    """Start a campaign, and wait for its first layer; its identity."""
    identity = bytes.fromhex(desk.served.ask("POST", "/v1/campaigns", drawn(name)).json["id"])
    desk.served.ask("POST", f"/v1/campaigns/{name}/start")
    wait_until(lambda: desk.town.layer(identity))
    return identity


def finish(desk: Office, name: str, identity: bytes, devices: Iterator[dict[str, int]]) -> None:
    """Let devices answer until a campaign is over."""
    while desk.served.ask("GET", f"/v1/campaigns/{name}").json["state"] == "running":
        answer(desk, identity, devices, 1.0)


def main(folder_of_all: Path | None = None) -> None:
    """Run two campaigns, and look at the first while it runs; with a folder, at every page."""
    with (
        tempfile.TemporaryDirectory() as folder,
        office(Path(folder), refresh=0.2) as desk,
        browsing(Path(folder) / "profile") as browser,
    ):
        desk.town.ledger.add_population("keyboards", Budget("item", 25.0, 1e-9))
        visitor, devices = Visitor(browser, desk), crowd(5)
        body = {"name": "ada", "role": "operator"}
        visitor.sign_in(desk.served.ask("POST", "/v1/tokens", body).json["token"])
        if folder_of_all:
            folder_of_all.mkdir(parents=True, exist_ok=True)
            for name, path in {"campaigns": "/", "trends": "/trends", "transparency": "/transparency"}.items():
                visitor.go(path)
                every_size(browser, folder_of_all, f"empty-{name}")
        identity = begin(desk, NAME)
        for index in range(2):
            wait_for_layer(desk, identity, index)
            answer(desk, identity, devices, 1.0)
        wait_for_layer(desk, identity, 2)
        answer(desk, identity, devices, 0.62)
        visitor.go(f"/campaigns/{NAME}")
        if folder_of_all:
            every_size(browser, folder_of_all, "running")
        else:
            look(browser, "dashboard-progress", scheme="light", width=1100, height=980)
        finish(desk, NAME, identity, devices)
        finish(desk, "autumn", begin(desk, "autumn"), crowd(6))
        if folder_of_all:
            assert desk.served.ask("POST", "/v1/campaigns", drawn("winter")).status == 201
            gallery(visitor, folder_of_all)
            return
        visitor.go("/create")
        visitor.fill(name="summer", devices="2000000")
        visitor.shows("#expected", "Report size")
        look(browser, "dashboard-create", scheme="light", width=1100, height=960)
        visitor.go(f"/campaigns/{NAME}/words")
        look(browser, "dashboard-words", scheme="dark", width=1100, height=740)
        visitor.go(f"/campaigns/{NAME}/privacy")
        look(browser, "dashboard-privacy", scheme="light", width=1100, height=900)
        visitor.go("/trends?show=risen")
        look(browser, "dashboard-trends", scheme="light", width=1100, height=820)
        visitor.go(f"/campaigns/{NAME}/trie")
        visitor.shows("#status", "first characters")
        first = visitor.driver.find_elements(By.CSS_SELECTOR, "#tree > li")
        first[0].send_keys(Keys.ARROW_RIGHT)
        look(browser, "dashboard-phone", scheme="dark", width=390, height=800)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
