"""The documentation site is built without a warning, every page can be reached, and it needs no network."""

import os
import posixpath
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).parents[2]
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
"""What a browser loads by itself, by the attribute that names it."""


def build(config: Path, place: Path) -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(config),
        "--site-dir",
        str(place),
    ]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.terms: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.anchors |= {told[name] for name in ("id", "name") if name in told}
        if tag == "a" and "href" in told:
            self.links.add(told["href"])
            if told.get("class") == "term":
                self.terms.append(told["href"])
        if tag in LOADED and LOADED[tag] in told and told.get("rel") != "canonical":
            self.loaded.add(told[LOADED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Page]:
    place = tmp_path_factory.mktemp("site")
    built = build(ROOT / "mkdocs.yml", place)
    assert built.returncode == 0, built.stdout + built.stderr
    return {path.relative_to(place).as_posix(): Page(path.read_text("utf-8")) for path in place.rglob("*.html")}


def follow(page: str, link: str) -> tuple[str, str] | None:
    """The page and the place in it where a link leads, if it stays in the site."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(page), unquote(parts.path))) if parts.path else page
    return path, unquote(parts.fragment)


def test_every_page_can_be_reached_from_the_first(site: dict[str, Page]) -> None:
    reached, ahead = set[str](), ["index.html"]
    while ahead:
        page = ahead.pop()
        if page in reached or page not in site:
            continue
        reached.add(page)
        ahead += [to[0] for link in site[page].links if (to := follow(page, link))]
    assert set(site) - reached == {"404.html"}
    assert len(reached) > 100


def test_every_link_within_the_site_leads_to_a_place_that_is_there(site: dict[str, Page]) -> None:
    astray = [
        (page, link)
        for page, parsed in site.items()
        if page != "404.html"
        for link in parsed.links
        if (to := follow(page, link)) and to[0].endswith(".html")
        if to[0] not in site or (to[1] and to[1] not in site[to[0]].anchors)
    ]
    assert astray == []


def test_nothing_is_loaded_from_elsewhere(site: dict[str, Page]) -> None:
    elsewhere = {link for parsed in site.values() for link in parsed.loaded if urlsplit(link).netloc}
    assert elsewhere == set()


def test_there_is_a_page_for_each_room_and_each_public_name_is_on_the_first_of_them(site: dict[str, Page]) -> None:
    package = ROOT / "src" / "neologue"
    rooms = {
        ".".join(path.parent.relative_to(package).parts)
        for path in package.rglob("__init__.py")
        if path.parent != package and len(list(path.parent.glob("*.py"))) > 1
    }
    assert {f"reference/{room}.html" for room in rooms} <= set(site)
    from neologue import __all__

    assert {f"neologue.{name}" for name in __all__} <= site["reference/index.html"].anchors


def test_the_first_use_of_a_term_on_a_page_links_to_the_glossary_and_no_other_use(site: dict[str, Page]) -> None:
    terms = site["privacy/index.html"].terms
    assert "../glossary.html#campaign" in terms
    assert "../glossary.html#local-ε" in terms
    assert len(terms) == len(set(terms))
    assert not site["glossary.html"].terms
    headings = {anchor for anchor in site["glossary.html"].anchors if not anchor.startswith("_")}
    used = {link.partition("#")[2] for parsed in site.values() for link in parsed.terms}
    assert used <= headings


def test_a_broken_link_ends_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(
        "# One\n\n[a](gone.md) [b](index.md#nowhere) [c](../README.md) [d](#one)\n"
    )
    config = tmp_path / "mkdocs.yml"
    config.write_text(f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: docs\nhooks: []\nplugins: []\nnav: [index.md]\n")
    built = build(config, tmp_path / "site")
    assert built.returncode != 0
    assert "Aborted with 3 warnings" in built.stdout + built.stderr
    assert all(target in built.stderr for target in ("gone.md", "#nowhere", "../README.md"))
