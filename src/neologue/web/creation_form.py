"""The form for a new campaign: its fields, the definition that they describe, and what is wrong with which field."""

import math
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

import msgspec
from starlette.datastructures import QueryParams

from neologue.campaign.privacy_level import DEFAULT_LEVEL, LEVELS, PrivacyLevel
from neologue.campaign.profiles import PROFILES
from neologue.errors import InputError
from neologue.language.alphabet import NAMED, WITH_EMOJI
from neologue.language.builtin import languages
from neologue.service.campaigns.definition import Definition
from neologue.web.price import hold_to

HOUR: Final = 3600
CONSENT: Final = "accept_weak_privacy"
"""The checkbox that comes with the price of a campaign which protects no whole user."""


@dataclass(frozen=True)
class Field:
    """A field of the form."""

    name: str
    label: str
    hint: str
    kind: str = "text"
    """Of its value: text, whole, number, choice or lines."""
    value: str = ""
    """Its first value."""
    choices: tuple[tuple[str, str], ...] = ()
    required: bool = False
    of_profile: bool = False
    """Whether it changes one of the profile's parameters."""
    decides: tuple[str, ...] = ()
    """Other parameters that follow from this field, whose errors are shown here."""


FIELDS: Final = (
    Field("name", "Name", "Any name that no other campaign has.", required=True),
    Field(
        "devices",
        "Devices",
        "The number of devices that you expect to check in.",
        "whole",
        required=True,
        decides=("users",),
    ),
    Field("population", "Population", "The population in the ledger whose privacy budget pays.", "choice"),
    Field("language", "Language", "Sets the alphabet and the known words.", "choice", value="en"),
    Field(
        "privacy",
        "Level of privacy",
        "A promise that the release keeps. The local ε follows from it and from the number of devices.",
        "choice",
        value=DEFAULT_LEVEL,
        decides=("promised_epsilon", "promised_unit", "delta", "later_words"),
    ),
    Field(
        "epsilon",
        "Local ε of a word",
        "Leave it empty to have the level choose it; choose no level to give your own. A smaller ε is more private and "
        "finds fewer words.",
        "number",
        of_profile=True,
    ),
    Field(
        "hours", "Hours per layer", "How long a layer waits for reports.", "number", "168", decides=("layer_seconds",)
    ),
)
ADVANCED_FIELDS: Final = (
    Field(
        "profile", "Profile", "A named set of parameters, which the fields below override.", "choice", value="neologue"
    ),
    Field("alphabet", "Alphabet", "The characters that words may have.", "choice"),
    Field("case", "Case", "Whether Yeet and YEET are counted as yeet.", "choice", of_profile=True),
    Field("punctuation", "Punctuation", "Whether signs around a word are removed.", "choice", of_profile=True),
    Field("known", "Known words", "One per line, in place of those of the language.", "lines"),
    Field("words_per_user", "Words per report", "The most words of one user (B).", "whole", of_profile=True),
    Field("depth", "Longest word", "In characters.", "whole", of_profile=True),
    Field(
        "passes", "Passes", "How many times the campaign goes through all lengths of words.", "whole", of_profile=True
    ),
    Field(
        "layers",
        "Layers",
        "The number of layers that ask about likely strings, each with as many devices; 3 or 4 are good.",
        "whole",
        of_profile=True,
    ),
    Field(
        "allocation",
        "End of layers",
        "If layers end by time alone, readers of a release can’t tell who was in which. ε is smaller; it takes longer.",
        "choice",
        of_profile=True,
    ),
    Field(
        "k_anonymity",
        "k",
        "What fewer than k users report to the layers that judge it is published with a probability of at most 1 − α.",
        "whole",
        of_profile=True,
    ),
    Field("alpha", "Certainty of k-anonymity (α)", "The paper uses 0.95.", "number", of_profile=True),
    Field(
        "unique_chance",
        "Probability of a unique word",
        "The largest probability that a word which one device alone reports is shown; 0 promises nothing.",
        "number",
        of_profile=True,
    ),
    Field(
        "hostile_devices",
        "Hostile devices",
        "The most hostile devices in a layer with which that probability holds.",
        "whole",
        of_profile=True,
    ),
    Field("smallest_layer", "Fewest reports", "A layer with fewer is not decided.", "whole", of_profile=True),
    Field(
        "aggregation",
        "Aggregation",
        "Secure aggregation costs devices more traffic. The cost says what the server still learns.",
        "choice",
        value="ephemeral",
    ),
    Field("batch", "Batch", "The fewest reports that are stored together.", "whole", "100"),
    Field("reserve", "Reserve", "The share of devices that no layer relies on.", "number", "0.1"),
    Field(
        "measure_devices",
        "Measuring devices",
        "The number of devices that count the words found.",
        "whole",
        decides=("measure_users",),
    ),
    Field("check_in_seconds", "Check-in interval", "In seconds, for a device that waits.", "whole", "3600"),
    Field("answer_seconds", "Time to answer", "In seconds, for a device that is invited.", "number", "300"),
)
ALL_FIELDS: Final = (*FIELDS, *ADVANCED_FIELDS)
_FIELD_OF: Final = {parameter: field.name for field in ALL_FIELDS for parameter in (field.name, *field.decides)}
"""The field that shows the errors of each parameter."""


def _limit(level: PrivacyLevel) -> str:
    """What a level limits, in the width of a field on a phone; the price of the campaign says the rest."""
    if level.user_epsilon is None:
        return f"local ε ≤ {level.local_epsilon:g} only"
    return f"whole user, central ε ≤ {level.user_epsilon:.3g}"


_CHOICES: Final = {
    "privacy": (
        ("", "none: set by the fields below"),
        *((name, f"{name}: {_limit(level)}") for name, level in LEVELS.items()),
    ),
    "aggregation": (
        ("ephemeral", "ephemeral: single reports, in memory only"),
        ("secure", "secure: under masks, the service learns sums of groups"),
    ),
    "allocation": (
        ("", "as the level needs: drawn at strict and standard where possible, else filled"),
        ("filled", "filled: when they have enough reports"),
        ("drawn", "drawn: by the hours per layer alone"),
    ),
    "profile": tuple((name, name) for name in PROFILES),
    "alphabet": (
        ("", "the language's, or the profile's"),
        *((name, f"{name}: {about}") for name, (_, about) in NAMED.items()),
        *((f"{name}{WITH_EMOJI}", f"{name}{WITH_EMOJI}: the same and emoji") for name in NAMED),
    ),
    "case": (("", "the profile's"), ("fold", "fold: yeet, Yeet and YEET are one word"), ("keep", "keep: as typed")),
    "punctuation": (("", "the profile's"), ("strip", "strip: “yeet!” is yeet"), ("keep", "keep: as typed")),
}


def offered_fields(populations: Collection[str]) -> tuple[list[Field], list[Field]]:
    """The fields of the form with what can be chosen, and the advanced ones; the population only if there is one."""
    choices = _CHOICES | {"language": (("", "none"), *((name, name) for name in languages()))}
    if populations:
        choices |= {"population": tuple((name, name) for name in populations)}

    def offered(part: Iterable[Field]) -> list[Field]:
        return [
            replace(field, choices=choices.get(field.name, ()))
            for field in part
            if field.kind != "choice" or field.name in choices
        ]

    return offered(FIELDS), offered(ADVANCED_FIELDS)


def form_values(definition: Definition) -> dict[str, str]:
    """What the form would have to hold to describe a campaign."""
    given = {**msgspec.to_builtins(definition), "hours": definition.seconds / HOUR}
    return {
        field.name: _text_of(definition.parameters.get(field.name) if field.of_profile else given.get(field.name))
        for field in ALL_FIELDS
    }


def _text_of(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        return "\n".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def parse_form(form: QueryParams, base: Definition | None = None) -> tuple[Definition | None, dict[str, str]]:
    """The definition that the form describes; or None, and what is wrong with which field.

    What the form has no field for is as in the `base`.
    """
    given: dict[str, Any] = {}
    parameters: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in ALL_FIELDS:
        text = form.get(field.name, "").strip()
        if not text:
            if field.required:
                problems[field.name] = f"{field.label} is required."
            continue
        value = _parse_value(field, text)
        if value is None:
            kind = "a whole number" if field.kind == "whole" else "a number"
            problems[field.name] = f"{field.label} must be {kind}, not “{text[:40]}”."
        else:
            (parameters if field.of_profile else given)[field.name] = value
    if problems:
        return None, problems
    if "hours" in given:
        given["layer_seconds"] = HOUR * given.pop("hours")
    accepted = {CONSENT: True} if form.get(CONSENT) else {}
    level = given.pop("privacy", None)
    kept, kept_parameters = _without_fields(base) if base else ({}, {})
    wanted = {**kept, **given, **accepted, "parameters": {**kept_parameters, **parameters}}
    try:
        definition = msgspec.convert(wanted, Definition)
        assert definition.campaign
        if level:
            definition = hold_to(definition, level)
    except InputError as error:
        return None, problem_of(error)
    except msgspec.ValidationError as error:
        return None, {"": f"The form can't be used: {error}."}
    return definition, {}


def _without_fields(base: Definition) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a definition has beside the fields of the form, and its parameters beside them."""
    ours = {field.name for field in ALL_FIELDS} | {"layer_seconds", CONSENT}
    given = {name: value for name, value in msgspec.to_builtins(base).items() if name not in ours}
    parameters = given.pop("parameters")
    return given, {name: value for name, value in parameters.items() if name not in ours}


def _parse_value(field: Field, text: str) -> object | None:
    """The value of a field; None if its text can't be read."""
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


def problem_of(error: InputError) -> dict[str, str]:
    """An error beside the field of its parameter, or above the form if it has none."""
    message = str(error)
    if error.parameter == CONSENT:
        return {CONSENT: f"{message[:1].upper()}{message[1:]}."}
    return {_FIELD_OF.get(error.parameter or "", ""): f"{message[:1].upper()}{message[1:]}."}
