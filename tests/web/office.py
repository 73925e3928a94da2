"""A service with its pages, as browsers and other programs see it, and a crowd of devices behind it."""

import http.client
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from selenium.common.exceptions import NoSuchElementException, StaleElementReferenceException
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from neologue.service.ops.settings import Settings
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate
from neologue.service.worker import Worker
from neologue.web.dashboard import dashboard
from service.campaigns import Town, definition
from service.serving import Reply, Served, served, wait_until

from .chromium import Browser, click_on

TAG = "<svg/onload=hack()>"
"""A word that is an attack, if anybody takes it for more than a word."""
TAGGED = "<img src=x onerror=hack()>"
"""And the name of a campaign that is one."""


@dataclass(frozen=True)
class Office:
    """A running service with pages."""

    served: Served
    town: Town
    """Its devices."""

    @property
    def address(self) -> str:
        return self.served.address

    def token(self, role: str) -> str:
        """A new token for somebody of this role."""
        body = {"name": f"{role} {time.monotonic_ns()}", "role": role}
        token: str = self.served.ask("POST", "/v1/tokens", body).json["token"]
        return token

    def ask(
        self, method: str, path: str, cookie: str = "", form: Mapping[str, str] | None = None, **sent: str
    ) -> Reply:
        """One request as a browser makes it, which goes nowhere else by itself."""
        there = urlsplit(self.address)
        connection = http.client.HTTPConnection(there.hostname or "", there.port, timeout=300)
        headers = {name.replace("_", "-"): value for name, value in sent.items()} | (
            {"Cookie": cookie} if cookie else {}
        )
        if form is not None and not {"Origin", "Sec-Fetch-Site"} & headers.keys():
            # As a browser that is on a page of ours.
            scheme = headers.get("X-Forwarded-Proto", there.scheme)
            headers["Origin"] = f"{scheme}://{there.netloc}"
        body = None if form is None else urlencode(form)
        try:
            connection.request(method, path, body, headers)
            with connection.getresponse() as reply:
                return Reply(reply.status, reply.read(), {name.lower(): value for name, value in reply.getheaders()})
        finally:
            connection.close()

    def cookie(self, token: str) -> str:
        """The session of whoever has a token."""
        reply = self.ask("POST", "/sign-in", form={"token": token})
        assert reply.status == 303, reply.body
        return reply.headers["set-cookie"].partition(";")[0]

    def form_token(self, cookie: str) -> str:
        """What the forms of a session carry."""
        page = self.ask("GET", "/", cookie).body.decode()
        return page.partition('name="form-token" content="')[2].partition('"')[0]

    def post(self, path: str, cookie: str, **form: str) -> Reply:
        """A form, sent from a page of this very session."""
        return self.ask("POST", path, cookie, {"form_token": self.form_token(cookie), **form})

    def create(self, name: str, **changes: Any) -> bytes:  # noqa: ANN401 - checked by the definition
        """A campaign that waits to be started; its identity."""
        return self.town.coordinator.create(definition(name=name, **changes), time.time()).id

    def begin(self, name: str, **changes: Any) -> bytes:  # noqa: ANN401
        """A campaign whose first layer is open."""
        identity = self.create(name, **changes)
        assert self.served.ask("POST", f"/v1/campaigns/{quote(name, safe='')}/start").status == 200
        wait_until(lambda: self.town.layer(identity))
        return identity

    def finish(self, identity: bytes, words: Mapping[str, int]) -> None:
        """Devices with these words answer whatever is asked, until the campaign is over."""

        def over() -> bool:
            asked = self.town.layer(identity)
            cached = self.town.layer_cache.campaign(identity)
            assert cached
            if asked and cached.layer:
                self.town.answer_layer(identity, asked, cached.layer.round.missing, words)
            return cached.entry.state != "running"

        wait_until(over)


@contextmanager
def office(folder: Path, made: Callable[[Settings], Worker] = dashboard, **settings: Any) -> Iterator[Office]:  # noqa: ANN401
    """An office without any campaign."""
    url = f"sqlite:///{folder}/office.db"
    database = open_database(url)
    migrate(database)
    with served(url, made, **{"failures_per_minute": 1e5, **settings}) as running:
        yield Office(running, Town(database))
    database.close()


def release_tags(folder: Path) -> None:
    """Have a campaign in an office to be: released, its name and one of its words a tag."""
    database = open_database(f"sqlite:///{folder}/office.db")
    migrate(database)
    town = Town(database)
    wide = {"depth": len(TAG), "candidates": 20_000, "frontier": 20, "punctuation": "keep"}
    drawn = definition(name=TAGGED, devices=600, alphabet="ascii", parameters=wide)
    identity = town.coordinator.create(drawn, time.time()).id
    town.coordinator.start(TAGGED, time.time())
    town.run(identity, time.time(), {TAG: 1, "lol": 1, "lolz": 1})
    database.close()


class Visitor:
    """Somebody at a browser."""

    def __init__(self, browser: Browser, office: Office) -> None:
        self.browser, self.driver, self.office = browser, browser.driver, office

    def go(self, path: str) -> None:
        self.browser.visit(self.office.address + path)

    def part(self, selector: str) -> WebElement:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, text: str) -> None:
        """Click the link or button that says this, once it is there."""
        path = (
            f"//main//*[self::a or self::button][normalize-space()='{text}'] | //header//button[.='{text}']"
            f" | //nav//a[.='{text}']"
        )

        def is_clicked() -> bool:
            try:
                click_on(self.driver.find_element(By.XPATH, path))
            except (NoSuchElementException, StaleElementReferenceException):  # the page is on its way, or renewed
                return False
            return True

        wait_until(is_clicked)

    def fill(self, **fields: str) -> None:
        for name, text in fields.items():
            field = self.part(f"[name={name}]")
            field.clear()
            field.send_keys(text)

    def sign_in(self, token: str) -> None:
        self.driver.delete_all_cookies()
        self.go("/sign-in")
        self.fill(token=token)
        self.click("Sign in")
        self.shows("h1", "Campaigns")

    def shows(self, selector: str, text: str) -> None:
        """Wait until a part of the page says something; parts may be replaced while they are looked at."""

        def says() -> bool:
            # At once, and not as a promise: the page may be left while one waits for that.
            told: str = self.driver.execute_script(
                "return document.querySelector(arguments[0])?.textContent ?? ''", selector
            )
            return text in " ".join(told.split())

        wait_until(says)
