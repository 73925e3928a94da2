"""The review as an analyst uses it: by mouse, by keyboard and without scripts."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from service.releases import released
from service.serving import wait_until

from .chromium import Browser, click_on
from .office import TAG, Office, Visitor, office

WORDS = {"lol": 90.0, "yeet": 80.0, "jo@x.org": 70.0, "fuckkk": 60.0, TAG: 50.0, "teh": 40.0}
PATH = "/campaigns/spring/review"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """An office with two released campaigns, one for the browser and one for plain requests."""
    with office(tmp_path_factory.mktemp("review")) as opened:
        released(opened.town.database, WORDS)
        released(opened.town.database, {f"word{number}": 1000.0 - number for number in range(120)}, name="many")
        yield opened


@pytest.fixture
def analyst(desk: Office, browser: Browser) -> Visitor:
    """An analyst at the review."""
    visitor = Visitor(browser, desk)
    visitor.sign_in(desk.token("analyst"))
    visitor.go(PATH)
    return visitor


def verdicts(visitor: Visitor) -> dict[str, str]:
    """The verdicts that the page shows."""
    told: dict[str, str] = visitor.browser.run(
        "return Object.fromEntries(Array.from(document.querySelectorAll('tr[data-word]'),"
        " (row) => [row.dataset.word, row.querySelector('.verdict span').textContent]))"
    )
    return told


def ruled(office: Office, name: str = "spring") -> dict[str, str]:
    """The verdicts that the service has."""
    listed = office.served.ask("GET", f"/v1/campaigns/{name}/review?verdict=any&limit=1000").json["words"]
    return {each["word"]: each["verdict"] for each in listed if each["verdict"] != "open"}


def test_words_are_decided_by_keyboard_and_by_mouse(desk: Office, analyst: Visitor) -> None:
    body = analyst.part("body")
    body.send_keys("j")  # the first word
    assert analyst.browser.run("return document.activeElement.dataset.word") == "lol"
    analyst.driver.switch_to.active_element.send_keys("a")
    assert analyst.browser.run("return document.activeElement.dataset.word") == "yeet"
    wait_until(lambda: verdicts(analyst)["lol"] == "accepted")
    assert analyst.part("[data-count=accepted]").text == "1"
    analyst.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    analyst.driver.switch_to.active_element.send_keys("h")
    wait_until(lambda: verdicts(analyst)["jo@x.org"] == "hidden")
    analyst.driver.switch_to.active_element.send_keys("kk")
    analyst.driver.switch_to.active_element.send_keys("r")
    wait_until(lambda: verdicts(analyst)["yeet"] == "rejected")
    assert analyst.part("#announcement").get_property("textContent") == "yeet: rejected"
    click_on(analyst.part(f'button[value="accepted {TAG}"]'))
    wait_until(lambda: verdicts(analyst)[TAG] == "accepted")
    assert ruled(desk) == {"lol": "accepted", "jo@x.org": "hidden", "yeet": "rejected", TAG: "accepted"}
    analyst.go(PATH)
    assert "jo@x.org" not in verdicts(analyst)
    analyst.go(f"{PATH}?verdict=hidden")
    assert verdicts(analyst) == {"jo@x.org": "hidden"}
    assert analyst.browser.complaints() == []


def test_letters_do_nothing_while_one_types_or_has_switched_them_off(desk: Office, analyst: Visitor) -> None:
    before = ruled(desk)
    analyst.part("body").send_keys("/")
    field = analyst.driver.switch_to.active_element
    assert field.get_attribute("id") == "search"
    field.send_keys("jarh/")
    assert field.get_attribute("value") == "jarh/"
    click_on(analyst.part("#keys"))
    analyst.part("body").send_keys("j")
    assert analyst.browser.run("return document.activeElement.dataset.word ?? null") is None
    analyst.go(PATH)
    assert not analyst.part("#keys").is_selected()
    click_on(analyst.part("#keys"))
    assert ruled(desk) == before


def test_flags_are_labelled_and_words_are_text(analyst: Visitor) -> None:
    analyst.go(f"{PATH}?verdict=any")
    flags: Any = analyst.browser.run(
        "return Object.fromEntries(Array.from(document.querySelectorAll('tr[data-word]'),"
        " (row) => [row.dataset.word, row.querySelector('.flags')?.textContent.trim() ?? '']))"
    )
    assert flags["jo@x.org"] == "Personal data may be an e-mail address"
    assert flags["fuckkk"].startswith("Profanity")
    assert flags["lol"] == ""
    row = analyst.driver.find_element(By.XPATH, f"//tr[@data-word='{TAG}']/th")
    assert row.text == TAG
    assert analyst.browser.run("return document.querySelectorAll('main svg[onload]').length") == 0
    assert analyst.browser.complaints() == []


def test_the_ticked_ones_are_decided_together_with_a_note(desk: Office, analyst: Visitor) -> None:
    for word in ("fuckkk", "teh"):
        click_on(analyst.part(f"input[value='{word}']"))
    analyst.fill(note="not for keyboards")
    click_on(analyst.part(".rulings button[value=rejected][name=rule]"))
    wait_until(lambda: {"fuckkk", "teh"} <= {word for word, verdict in ruled(desk).items() if verdict == "rejected"})
    analyst.go(f"{PATH}/history?word=teh")
    assert "not for keyboards" in analyst.part("main table").text


def test_a_phone_shows_it_without_scrolling_sideways(analyst: Visitor) -> None:
    analyst.driver.set_window_size(390, 800)
    try:
        analyst.go(f"{PATH}?verdict=any")
        assert analyst.browser.run("return document.documentElement.scrollWidth <= innerWidth")
    finally:
        analyst.driver.set_window_size(1200, 900)


def test_all_that_a_filter_finds_are_decided_at_once_unless_it_finds_others_by_now(desk: Office) -> None:
    cookie = desk.cookie(desk.token("analyst"))
    path = "/campaigns/many/review"
    found = {"search": "word1", "verdict": "open", "flag": "", "sort": "estimate", "page": "1"}
    assert (
        "31 words that match the filter" in desk.ask("GET", f"{path}?search=word1&verdict=open", cookie).body.decode()
    )
    stale = desk.post(path, cookie, **found, all="accepted", found="30")
    assert stale.status == 400
    assert "have changed meanwhile" in stale.body.decode()
    assert not ruled(desk, "many")
    done = desk.post(path, cookie, **found, all="accepted", found="31", note="fine")
    assert (done.status, done.headers["location"]) == (
        303,
        f"{path}?search=word1&verdict=open&flag=&sort=estimate&page=1",
    )
    assert len(ruled(desk, "many")) == 31
    assert all(word.startswith("word1") for word in ruled(desk, "many"))


def test_pages_follow_each_other_and_nonsense_is_the_first_page(desk: Office) -> None:
    cookie = desk.cookie(desk.token("analyst"))

    def shown(query: str) -> list[str]:
        page = desk.ask("GET", f"/campaigns/many/review?{query}", cookie).body.decode()
        return [part.partition('"')[0] for part in page.split('data-word="')[1:]]

    assert shown("page=3") == [f"word{number}" for number in range(100, 120)]
    assert shown("page=x&sort=best&flag=red&verdict=maybe") == shown("") == [f"word{number}" for number in range(50)]
    assert shown("page=99") == []


def test_accepted_words_are_downloaded_and_hidden_ones_never(desk: Office) -> None:
    cookie = desk.cookie(desk.token("analyst"))
    desk.post(PATH, cookie, rule="accepted lol")
    desk.post(PATH, cookie, rule="hidden jo@x.org")
    for kind, ending in (("csv", "csv"), ("dic", "dic"), ("aosp", "combined"), ("json", "json")):
        reply = desk.ask("GET", f"{PATH}/export?format={kind}", cookie)
        assert reply.headers["content-disposition"] == f'attachment; filename="spring-accepted.{ending}"'
        assert "lol" in reply.body.decode()
        assert "jo@x.org" not in reply.body.decode()
    assert desk.ask("GET", f"{PATH}/export?format=exe", cookie).status == 400
    for path in ("/campaigns/spring/words", "/campaigns/spring/review"):
        assert "jo@x.org" not in desk.ask("GET", path, cookie).body.decode()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"rule": "accepted"}, "word is selected"),
        ({"rule": "great lol"}, "verdict can"),
        ({"rule": "accepted nowhere"}, "is not among the released words"),
        ({"rule": "accepted lol", "note": 501 * "x"}, "verdict can"),
    ],
)
def test_a_form_that_makes_no_sense_is_told_so(desk: Office, form: dict[str, str], message: str) -> None:
    before = ruled(desk)
    reply = desk.post(PATH, desk.cookie(desk.token("analyst")), **form)
    assert reply.status == 400
    assert message in reply.body.decode()
    assert ruled(desk) == before


def test_nobody_decides_from_another_site_or_without_a_session(desk: Office) -> None:
    cookie = desk.cookie(desk.token("analyst"))
    before = ruled(desk)
    form = {"word": "teh", "verdict": "accepted"}
    assert desk.ask("POST", f"{PATH}/one", cookie, form).status == 403
    assert desk.ask("POST", f"{PATH}/one", "", form).status == 401
    own = {**form, "form_token": desk.form_token(cookie)}
    assert desk.ask("POST", f"{PATH}/one", cookie, own, Sec_Fetch_Site="cross-site").status == 403
    assert desk.ask("GET", f"{PATH}/history?word={quote('lol')}").status == 303
    assert ruled(desk) == before
