"""The page of a new campaign: its form, and beside it what it would cost and find, before anything is charged."""

import threading
from collections.abc import Callable
from typing import Final

import msgspec
from starlette.responses import Response

from neologue.errors import InputError
from neologue.privacy.scale import ASKED_ABOVE
from neologue.release.foreseen import foreseen_charge
from neologue.reporting.short_facts import privacy_facts
from neologue.service.api import operator_api
from neologue.service.api.responses import answer
from neologue.service.api.schemas import CampaignView
from neologue.service.campaigns.consent import foreseen_user_epsilon
from neologue.service.campaigns.definition import Definition
from neologue.web.creation_form import (
    ADVANCED_FIELDS,
    ALL_FIELDS,
    CONSENT,
    form_values,
    offered_fields,
    parse_form,
    problem_of,
)
from neologue.web.page import Page, PageRequest, campaign_path, redirect, render_fragment, render_page
from neologue.web.price import DEFAULT_LANGUAGE, budget_view, foreseen_statement, plan_campaign

_pricing, _planning = threading.Lock(), threading.Lock()
"""Each is calculated for one person at a time: the other processors and threads are for devices."""


LIKE: Final = "like"
"""Names the campaign that a new one is made from."""


def show_form(request: PageRequest) -> Response:
    """The form with its first values, or with those of a campaign that it is to be like."""
    like = request.query.get(LIKE, "")
    if not like:
        return _render_form(request, {field.name: field.value for field in ALL_FIELDS}, {})
    values = form_values(_definition_of(request, like))
    return _render_form(request, values | {"name": ""}, {}, like=like)


def show_edit_form(request: PageRequest) -> Response:
    """The form with the values of a draft."""
    name = request.names["name"]
    return _render_form(request, form_values(_definition_of(request, name)), {}, editing=name)


def create(request: PageRequest) -> Response:
    """Create a draft, or show the form again with everything that was typed and what is wrong with it."""
    return _save(request, operator_api.create, like=request.form.get(LIKE, ""))


def edit(request: PageRequest) -> Response:
    """Change a draft, or show the form again."""
    return _save(request, operator_api.replace, editing=request.names["name"])


def _save(
    request: PageRequest,
    save: Callable[[operator_api.Context, operator_api.Call], CampaignView],
    like: str = "",
    editing: str = "",
) -> Response:
    definition, problems = parse_form(request.form, _base(request))
    if definition is not None:
        try:
            return redirect(campaign_path(save(request.service.context, request.call(definition)).name))
        except InputError as error:
            problems = problem_of(error)
    values = {field.name: request.form.get(field.name, "") for field in ALL_FIELDS}
    return _render_form(request, values, problems, status=422, like=like, editing=editing)


def _base(request: PageRequest) -> Definition | None:
    """The campaign that a posted form was made from, if it was."""
    like = request.form.get(LIKE, "")
    return _definition_of(request, like) if like else None


def _definition_of(request: PageRequest, name: str) -> Definition:
    return operator_api.definition(request.service.context, request.call(name=name))


def show_price(request: PageRequest) -> Response:
    """What the campaign that the form describes would be charged."""

    def render(definition: Definition) -> str:
        statement = foreseen_statement(definition)
        return render_fragment(
            "price.html",
            users=definition.campaign.users,
            statement=statement,
            named_facts=privacy_facts(statement),
            layers=len(foreseen_charge(definition.campaign, definition.measuring).batches),
            budget=budget_view(request.service.ledger, definition),
            consent=foreseen_user_epsilon(definition) > ASKED_ABOVE,
            accepted=definition.accept_weak_privacy,
            limit=ASKED_ABOVE,
            problems={},
        )

    return _answer_form(request, _pricing, render)


def show_forecast(request: PageRequest) -> Response:
    """What the campaign is expected to find; this takes a moment longer."""

    def render(definition: Definition) -> str:
        plan = plan_campaign(definition)
        language = definition.language or DEFAULT_LANGUAGE
        return render_fragment("expected.html", plan=plan, statement=plan.statement, language=language)

    return _answer_form(request, _planning, render)


PAGES = (
    Page("GET", "/create", show_form),
    # A list of known words may be long.
    Page("POST", "/create", create, largest=None),
    Page("GET", "/campaigns/{name}/edit", show_edit_form),
    Page("POST", "/campaigns/{name}/edit", edit, largest=None),
    Page("POST", "/create/price", show_price, for_script=True, largest=None),
    Page("POST", "/create/expected", show_forecast, for_script=True, largest=None),
)


class FormAnswer(msgspec.Struct, frozen=True):
    """A piece of the page, or what is wrong with which field; neither if the script has to ask again."""

    html: str = ""
    problems: dict[str, str] = {}
    again: bool = False


def _answer_form(request: PageRequest, lock: threading.Lock, render: Callable[[Definition], str]) -> Response:
    # An unfinished form is no error: that there is no price yet is an answer like any other.
    definition, problems = parse_form(request.form, _base(request))
    if definition is None:
        return answer(FormAnswer(problems=problems))
    if not lock.acquire(blocking=False):
        return answer(FormAnswer(again=True))
    try:
        definition.check()
        return answer(FormAnswer(render(definition)))
    except InputError as error:
        return answer(FormAnswer(problems=problem_of(error)))
    finally:
        lock.release()


def _render_form(
    request: PageRequest,
    values: dict[str, str],
    problems: dict[str, str],
    status: int = 200,
    *,
    like: str = "",
    editing: str = "",
) -> Response:
    """The form; `like` and `editing` name the campaign that it is made from, or that it changes."""
    fields, advanced = offered_fields(request.service.ledger.populations())
    return render_page(
        request,
        "create.html",
        status,
        fields=fields,
        advanced=advanced,
        values=values,
        like=like,
        editing=editing,
        consent=CONSENT in problems or bool(request.form.get(CONSENT)),
        accepted=bool(request.form.get(CONSENT)),
        limit=ASKED_ABOVE,
        problems=problems,
        labels={field.name: field.label for field in ALL_FIELDS} | {CONSENT: "Consent"},
        is_open=any(field.name in problems for field in ADVANCED_FIELDS),
    )
