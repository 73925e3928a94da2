"""The frame of every report: one file that opens offline, loads nothing and runs no script but its own."""

import base64
import hashlib
import json
import unicodedata
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

import jinja2

from neologue.privacy.digits import shown
from neologue.privacy.scale import grade

JOINERS = "\u200c\u200d"
"""Characters without a shape that words of some scripts are spelled with."""


def render(template: str, scripts: Sequence[str] = (), **values: object) -> str:
    """A page from a template that extends `page.html`, with these scripts from beside it."""
    style, script = _source("page.css"), "\n".join(map(_source, scripts))
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{digest(style)}'",
            f"script-src '{digest(script)}'" if script else "script-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    return (
        environment("neologue.reporting")
        .get_template(template)
        .render(style=style, script=script, policy=policy, **values)
    )


def digest(text: str) -> str:
    """The hash by which a Content-Security-Policy allows a block of a page."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def embedded_json(value: object) -> str:
    """JSON that is safe inside a script element, whatever texts it contains."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def visible(text: str) -> str:
    """A text in which blank and control characters are replaced by visible signs."""
    return "".join(map(_sign, text))


def _sign(character: str) -> str:
    code = ord(character)
    if code <= 0x20:
        return chr(0x2400 + code)
    category = unicodedata.category(character)
    blank = category[0] == "Z" or category in {"Cc", "Cf", "Cs"}
    return f"⟨{code:04X}⟩" if blank and character not in JOINERS else character


def _source(name: str) -> str:
    return files("neologue.reporting").joinpath("templates", name).read_text("utf-8")


@cache
def environment(*packages: str) -> jinja2.Environment:
    """Where pages are made from the templates of some packages: of two with one name, that of the first."""
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["visible"] = visible
    made.filters["epsilon"] = shown
    made.filters["grade"] = grade
    made.filters["number"] = lambda value: f"{value:,.0f}"
    return made
