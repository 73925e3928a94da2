"""The first time that a page uses a term of the glossary, the term is a link to its entry."""

import posixpath
import re
from functools import cache
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

GLOSSARY = "glossary.md"
COMMON = {"Aggregation", "Item", "Pass", "Depth", "Target"}
"""Terms that are also everyday words, or part of others: they are explained, and not linked."""
UNLINKED = ("a", "code", "pre", "h1", "h2", "h3", "h4", "h5", "h6", "button", "title", "script", "style")
TAG = re.compile(r"(<[^>]+>)")
NAME = re.compile(r"</?([a-z0-9]+)")


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Link the terms of a page, but for the glossary's own and the reference, whose names are code."""
    here = page.file.src_uri
    if here == GLOSSARY or here.startswith("reference/"):
        return html
    glossary = posixpath.relpath("glossary.html", posixpath.dirname(page.file.dest_uri) or ".")
    return linked(html, glossary)


def linked(html: str, glossary: str) -> str:
    """The same text, in which each term is a link where it stands first outside headings, links and code."""
    wanted = dict(terms())
    depth = 0
    parts = TAG.split(html)
    for number, part in enumerate(parts):
        name = NAME.match(part)
        if name is None:
            if not depth:
                parts[number] = _link_terms(part, wanted, glossary)
        elif name[1] in UNLINKED:
            depth += -1 if part.startswith("</") else 1
    return "".join(parts)


def _link_terms(text: str, wanted: dict[str, str], glossary: str) -> str:
    """Link what is still wanted, and want it no more."""
    if not wanted:
        return text

    def link(found: re.Match[str]) -> str:
        anchor = wanted.pop(_singular(found[0], wanted), None)
        return found[0] if anchor is None else f'<a class="term" href="{glossary}#{anchor}">{found[0]}</a>'

    return _pattern().sub(link, text)


def _singular(found: str, wanted: dict[str, str]) -> str:
    lowered = found.lower()
    return lowered if lowered in wanted else lowered.removesuffix("s")


@cache
def terms() -> dict[str, str]:
    """The anchor of each term that is linked, by the term in lower case."""
    page = (Path(__file__).parents[1] / GLOSSARY).read_text("utf-8")
    named = re.findall(r"^## (.+)$", page, re.MULTILINE)
    anchor = slugify(case="lower")
    return {name.lower(): anchor(name, "-") for name in named if name not in COMMON}


@cache
def _pattern() -> re.Pattern[str]:
    """Any term, longest first, so that a local ε is not taken for an ε."""
    longest = sorted(terms(), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, longest))})s?(?![\w-])", re.IGNORECASE)
