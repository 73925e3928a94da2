"""Devices bring in words that are markup, in a campaign whose name is markup: every page shows them as text."""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote

import pytest

from attacks.stranger.wire import attacked
from neologue.web.dashboard import dashboard
from web.office import TAG, TAGGED, Office, release_tags

FILES = ("words.csv", "prefixes.csv", "words.dic", "words.aff", "release.json", "layers.zip", "nothing")
SAFE_KINDS = ("application/json", "text/csv", "text/plain", "application/zip", "text/event-stream")
"""What browsers show as text or save, if they are told not to guess."""


class Handlers(HTMLParser):
    """What of a page would run: handlers of events, scripts in the page, and addresses that are scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[object] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        self.found += [(tag, name) for name in told if name.startswith("on")]
        self.found += [
            (tag, value) for value in told.values() if (value or "").strip().lower().startswith("javascript:")
        ]
        if tag == "script" and "src" not in told and told.get("type") != "application/json":
            self.found.append((tag, attrs))


@dataclass(frozen=True)
class Shown:
    """A service that has released the words, and all its pages."""

    office: Office
    cookie: str
    paths: tuple[str, ...]


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    folder: Path = tmp_path_factory.mktemp("tags")
    release_tags(folder)
    for file in folder.glob("office.db*"):
        file.rename(file.with_name(file.name.replace("office", "service")))
    with attacked(folder, dashboard) as (service, worker):
        office = Office(service, None)  # type: ignore[arg-type]
        pages = [
            route.path  # type: ignore[attr-defined]
            for route in worker._app.routes
            if "GET" in route.methods and not route.path.startswith(("/v1/", "/log/", "/static", "/device", "/favicon"))  # type: ignore[attr-defined]
        ]
        streams = ("/campaigns/{name}/progress", "/metrics")
        paths = [
            page.replace("{name}", quote(TAGGED, safe="")).replace("{file}", file)
            for page in pages
            if page not in streams
            for file in (FILES if "{file}" in page else ("",))
        ]
        paths += [
            f"{path}?{key}={quote(TAG)}"
            for path in paths
            if path.endswith(("/words", "/review", "/trie", "/branches", "/create", "/history", "/privacy", "/sign-in"))
            for key in ("query", "word", "q", "path", "prefix", "next", "layer", "after")
        ]
        yield Shown(office, office.cookie(service.token), tuple(paths))


def test_no_page_takes_a_word_or_a_name_for_markup(shown: Shown) -> None:
    seen_word, seen_name = 0, 0
    for path in shown.paths:
        reply = shown.office.ask("GET", path, shown.cookie)
        body = reply.body.decode("utf-8", "replace")
        kind = reply.headers.get("content-type", "")
        if not kind.startswith("text/html"):
            assert kind.startswith(SAFE_KINDS) or not body, path
            continue
        assert TAG not in body, path
        assert TAGGED not in body, path
        parsed = Handlers()
        parsed.feed(body)
        assert parsed.found == [], path
        seen_word += html.escape(TAG) in body
        seen_name += html.escape(TAGGED) in body
    assert seen_word >= 3
    assert seen_name >= 5


def test_a_name_and_a_word_make_no_header_of_a_file(shown: Shown) -> None:
    for file in FILES:
        path = f"/campaigns/{quote(TAGGED, safe='')}/files/{file}"
        reply = shown.office.ask("GET", path, shown.cookie)
        if reply.status == 404:
            continue
        assert "<" not in reply.headers.get("content-disposition", "")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in reply.headers["content-security-policy"]
