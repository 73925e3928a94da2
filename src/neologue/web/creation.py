"""A new campaign: a form, and beside it what the campaign would cost and find, before anything is paid."""

import math
import re
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from starlette.datastructures import QueryParams
from starlette.responses import Response

from neologue.campaign.profiles import PROFILES
from neologue.errors import InputError
from neologue.language.alphabet import NAMED
from neologue.language.builtin import languages
from neologue.release.foreseen import foreseen_charge
from neologue.reporting.sentences import privacy_lines
from neologue.service.api import operator_api
from neologue.service.api.responses import answer
from neologue.service.campaigns.definition import Definition
from neologue.web.page import Page, Visit, fragment, rendered, seen, to_campaign
from neologue.web.price import LANGUAGE, account, planned, stated

HOUR: Final = 3600
_pricing, _planning = threading.Lock(), threading.Lock()
"""Each is worked out for one at a time: the other processors and threads are for devices."""


@dataclass(frozen=True)
class Field:
    """Something that the form asks for."""

    name: str
    label: str
    hint: str
    kind: str = "text"
    """Of its value: text, whole, number, choice or lines."""
    begins: str = ""
    """How an error begins that is about it."""
    value: str = ""
    """What stands in it at first."""
    choices: tuple[tuple[str, str], ...] = ()
    required: bool = False
    parameter: bool = False
    """Whether it is one of the profile's parameters."""


FIELDS: Final = (
    Field("name", "Name", "Yours to choose, and never used twice.", begins="a campaign's name", required=True),
    Field("devices", "Devices", "How many are expected to check in.", "whole", "devices must", required=True),
    Field("population", "Population", "Whose budget in the ledger pays.", "choice"),
    Field("language", "Language", "Brings an alphabet and the known words.", "choice", "no language", value="en"),
    Field(
        "epsilon",
        "Local ε of a word",
        "Left empty, it is chosen for the number of devices. Smaller is more private, and finds less.",
        "number",
        "epsilon must",
        parameter=True,
    ),
    Field("hours", "Hours a layer waits", "For the reports of its cohort.", "number", "layer seconds", value="168"),
)
MORE: Final = (
    Field("profile", "Profile", "Named parameters, of which those below may differ.", "choice", value="neologue"),
    Field("alphabet", "Alphabet", "Only if no language is chosen.", "choice", "no alphabet"),
    Field("known", "Known words", "One a line, instead of the language's.", "lines", "a known word"),
    Field("words_per_user", "Words in a report", "At most, of a user (B).", "whole", "words per user", parameter=True),
    Field("depth", "Longest word", "In characters.", "whole", "depth must", parameter=True),
    Field("passes", "Passes", "How many tries are grown.", "whole", "passes must", parameter=True),
    Field("k_anonymity", "k", "What fewer devices of a cohort hold is not shown.", "whole", "k must", parameter=True),
    Field("alpha", "Certainty of that (α)", "0.95 is the paper's.", "number", "alpha must", parameter=True),
    Field("smallest_layer", "Fewest reports", "That decide a layer.", "whole", "smallest layer", parameter=True),
    Field("aggregation", "How reports become a sum", "Secure costs devices more traffic.", "choice", value="ephemeral"),
    Field("batch", "Batch", "The fewest reports that are written together.", "whole", "(a )?batch", value="100"),
    Field("reserve", "Reserve", "The share of devices that no layer counts on.", "number", "reserve", value="0.1"),
    Field("measure_devices", "Devices that measure", "They count the words instead.", "whole", "devices that measure"),
    Field(
        "check_in_seconds", "Seconds until asked again", "Of a device that waits.", "whole", "check-in", value="3600"
    ),
)
_CHOICES: Final = {
    "aggregation": (
        ("ephemeral", "in memory, as they are"),
        ("secure", "under masks, of which only the sum is learnt"),
    ),
    "profile": tuple((name, name) for name in PROFILES),
    "alphabet": (("", "the profile's"), *((name, f"{name}: {about}") for name, (_, about) in NAMED.items())),
}


def show(visit: Visit) -> Response:
    """The form as it is at first."""
    values = {field.name: field.value for field in (*FIELDS, *MORE)}
    return _form(visit, values, {})


def create(visit: Visit) -> Response:
    """Write the campaign down, or show the form again with all that was typed and what is wrong with it."""
    definition, problems = _read(visit.form)
    if definition is not None:
        try:
            return seen(to_campaign(operator_api.create(visit.service.context, visit.call(definition)).name))
        except InputError as error:
            problems = _about(error)
    values = {field.name: visit.form.get(field.name, "") for field in (*FIELDS, *MORE)}
    return _form(visit, values, problems, status=422)


def price(visit: Visit) -> Response:
    """What the campaign that the form describes would be charged."""

    def told(definition: Definition) -> str:
        statement = stated(definition)
        return fragment(
            "price.html",
            users=definition.campaign.users,
            statement=statement,
            lines=privacy_lines(statement),
            layers=len(foreseen_charge(definition.campaign, definition.measuring).batches),
            account=account(visit.service.ledger, definition),
        )

    return _priced(visit, _pricing, told)


def expected(visit: Visit) -> Response:
    """What it is expected to find; that takes a moment longer."""

    def told(definition: Definition) -> str:
        plan = planned(definition)
        return fragment("expected.html", plan=plan, statement=plan.statement, language=definition.language or LANGUAGE)

    return _priced(visit, _planning, told)


PAGES = (
    Page("GET", "/create", show),
    # A list of known words may be long.
    Page("POST", "/create", create, largest=None),
    Page("POST", "/create/price", price, for_script=True, largest=None),
    Page("POST", "/create/expected", expected, for_script=True, largest=None),
)


class Priced(msgspec.Struct, frozen=True):
    """A piece of the page; or what has to be filled in otherwise; or neither, if it is to be asked for again."""

    html: str = ""
    problems: dict[str, str] = {}
    again: bool = False


def _priced(visit: Visit, alone: threading.Lock, told: Callable[[Definition], str]) -> Response:
    # Somebody who is still typing is not wrong: that a price can't be told yet is an answer like any other.
    definition, problems = _read(visit.form)
    if definition is None:
        return answer(Priced(problems=problems))
    if not alone.acquire(blocking=False):
        return answer(Priced(again=True))
    try:
        definition.check()
        return answer(Priced(told(definition)))
    except InputError as error:
        return answer(Priced(problems=_about(error)))
    finally:
        alone.release()


def _form(visit: Visit, values: dict[str, str], problems: dict[str, str], status: int = 200) -> Response:
    choices = _CHOICES | {"language": (("", "none"), *((name, name) for name in languages()))}
    if visit.service.ledger:
        choices |= {"population": tuple((name, name) for name in visit.service.ledger.populations())}
    asked = [
        [replace(field, choices=choices.get(field.name, ())) for field in fields if _is_asked(field, choices)]
        for fields in (FIELDS, MORE)
    ]
    labels = {field.name: field.label for field in (*FIELDS, *MORE)}
    opened = any(field.name in problems for field in MORE)
    return rendered(
        visit,
        "create.html",
        status,
        fields=asked[0],
        more=asked[1],
        values=values,
        problems=problems,
        labels=labels,
        opened=opened,
    )


def _is_asked(field: Field, choices: Collection[str]) -> bool:
    """A population is asked for where there is a ledger."""
    return field.kind != "choice" or field.name in choices


def _read(form: QueryParams) -> tuple[Definition | None, dict[str, str]]:
    """The definition that the form describes; or None, and what is wrong with which field."""
    given: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in (*FIELDS, *MORE):
        text = form.get(field.name, "").strip()
        if not text:
            if field.required:
                problems[field.name] = f"{field.label} has to be filled in."
            continue
        value = _value(field, text)
        if value is None:
            kind = "a whole number" if field.kind == "whole" else "a number"
            problems[field.name] = f"{field.label} has to be {kind}, not “{text[:40]}”."
        else:
            (parameters if field.parameter else given)[field.name] = value
    if problems:
        return None, problems
    if "hours" in given:
        given["layer_seconds"] = HOUR * given.pop("hours")
    try:
        definition = msgspec.convert({**given, "parameters": parameters}, Definition)
        assert definition.campaign
    except InputError as error:
        return None, _about(error)
    except msgspec.ValidationError as error:
        return None, {"": f"The form can't be used: {error}."}
    return definition, {}


def _value(field: Field, text: str) -> object | None:
    """What the text of a field stands for; None if it can't be read."""
    match field.kind:
        case "whole":
            plain = text.replace(",", "").replace(" ", "")
            return int(plain) if re.fullmatch("[0-9]{1,12}", plain, re.ASCII) else None
        case "number":
            try:
                number = float(text)
            except ValueError:
                return None
            return number if math.isfinite(number) else None
        case "lines":
            return [line.strip() for line in text.splitlines() if line.strip()]
    return text


def _about(error: InputError) -> dict[str, str]:
    """An error beside the field that it is about, or on top of the form."""
    message = str(error)
    told = f"{message[:1].upper()}{message[1:]}."
    for field in (*FIELDS, *MORE):
        if field.begins and re.match(field.begins, message):
            return {field.name: told}
    return {"": told}
