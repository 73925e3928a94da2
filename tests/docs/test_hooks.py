"""The steps of the site's build: links that leave docs/, links to the glossary, and examples in docstrings."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from mkdocs.exceptions import PluginError

HOOKS = Path(__file__).parents[2] / "docs" / "hooks"
SITE = {"index.md", "plan.md", "deploy.md", "decisions/README.md", "images/a.png", "privacy/local.md"}


def hook(name: str) -> ModuleType:
    spec = spec_from_file_location(name, HOOKS / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def followed(page: str, text: str) -> str:
    files = SimpleNamespace(get_file_from_path=lambda path: path in SITE or None)
    here = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    return str(hook("outside_pages").on_page_markdown(text, here, None, files))


@pytest.mark.parametrize(
    ("page", "link", "becomes"),
    [
        ("index.md", "[plan](docs/plan.md#promises)", "[plan](plan.md#promises)"),
        ("index.md", "![a](docs/images/a.png)", "![a](images/a.png)"),
        ("index.md", "[why](docs/decisions)", "[why](decisions/README.md)"),
        ("privacy/local.md", "[units](../../deploy/README.md)", "[units](../deploy.md)"),
        ("deploy.md", "[plan](../docs/plan.md)", "[plan](plan.md)"),
        ("plan.md", "[here](#promises)", "[here](#promises)"),
        ("plan.md", "[far](https://example.org/plan.md)", "[far](https://example.org/plan.md)"),
        ("plan.md", "[the tests](../tests/docs)", "the tests (`tests/docs`)"),
        ("plan.md", "[tests/docs](../tests/docs)", "tests/docs"),
    ],
)
def test_a_link_leads_to_a_page_of_the_site_or_names_what_lies_outside(page: str, link: str, becomes: str) -> None:
    assert followed(page, f"See {link}.") == f"See {becomes}."


def test_a_link_to_what_is_nowhere_is_an_error_that_names_it() -> None:
    with pytest.raises(PluginError, match=r"docs/plan.md links to ../gone.md, and there is no gone.md"):
        followed("plan.md", "[gone](../gone.md)")


def test_a_term_is_linked_once_and_neither_in_headings_nor_in_links_nor_in_code() -> None:
    html = (
        "<h2>Layers</h2><p><code>layer</code> <a href='#'>a layer</a>: two <b>layers</b>, a layered one, a layer.</p>"
    )
    found = hook("glossary_links").linked(html, "glossary.html")
    assert found == html.replace("<b>layers</b>", '<b><a class="term" href="glossary.html#layer">layers</a></b>')


def test_the_longest_term_is_linked() -> None:
    found = hook("glossary_links").linked("<p>a local ε and an ε</p>", "g")
    assert found == ('<p>a <a class="term" href="g#local-ε">local ε</a> and an <a class="term" href="g#ε">ε</a></p>')


def test_examples_of_a_docstring_become_code() -> None:
    docstring = "Add.\n\n    >>> add(\n    ...     1)\n    2\n\nOr not."
    assert hook("doctest_fences").fenced(docstring) == ("Add.\n\n```pycon\n>>> add(\n...     1)\n    2\n```\n\nOr not.")
