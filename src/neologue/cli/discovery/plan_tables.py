"""A plan and its privacy as tables and lines on a terminal."""

from typing import Any

from neologue.campaign.parameters import Parameters
from neologue.campaign.privacy_level import weaker
from neologue.cli.discovery.tables import show_colluders
from neologue.cli.terminal import print_line, show_table
from neologue.masking.rules import GroupRules
from neologue.planning.plan import Plan, Point
from neologue.privacy.digits import shown
from neologue.privacy.scale import grade
from neologue.release.planting import planting_lines
from neologue.reporting.plan_document import fewest_reports_of
from neologue.reporting.sentences import privacy_lines, what_finds_more


def show_plan(plan: Plan, document: dict[str, Any]) -> None:
    """Print the tables of a plan, what is expected of it, and its privacy."""
    campaign, expected = plan.campaign, plan.expected
    show_table("Layers, as foreseen", *_layer_table(plan))
    if plan.levels:
        show_table("Levels of privacy", *_level_table(plan))
    if plan.tradeoff:
        show_table("The trade-off", *_tradeoff_table(plan))
    show_colluders(plan.facts)
    parameters = campaign.parameters
    for line in (
        f"Plan: {campaign.users:,} users, local ε = {campaign.epsilon:g}, {_words_line(parameters)}, words of up to "
        f"{parameters.depth} characters, {len(expected.layers)} layers (profile {campaign.profile}).",
        f"Expected: {expected.words:,.0f} words, {expected.false_words:,.1f} of them false; they cover "
        f"{expected.coverage:.1%} of what users hold.",
        _rarest_line(plan),
        *(
            [f"A device sends {expected.report_bytes:,} bytes at most, once."]
            if plan.masked is None
            else _masked_lines(plan.masked, document["masked"])
        ),
        *privacy_lines(document["privacy"]),
        *planting_lines(document["planting"], round(expected.words)),
        *_level_lines(plan),
        *_promise_lines(plan),
        *(
            [f"A full layer of {parameters.frontier:,} prefixes alone has ε = {shown(plan.full_layer)} for a word."]
            if plan.full_layer is not None
            else []
        ),
    ):
        print_line(line)


def _rarest_line(plan: Plan) -> str:
    """Which words are found, or why none is."""
    campaign, expected = plan.campaign, plan.expected
    if expected.rarest_share is None:
        largest = max((layer.layer_size for layer in expected.layers), default=0)
        advice = what_finds_more(campaign.parameters.k_anonymity, largest, largest)
        return f"No word is found with a chance of 95 %, however many users report it; {advice}"
    which = "that every layer asks" if campaign.parameters.layers else "whose spelling is asked"
    return (
        f"A word {which} about is found with a chance of 95 % if "
        f"{expected.rarest_share * campaign.users:,.0f} users report it, {_one_in(expected.rarest_share)}."
    )


def _layer_table(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
    """The columns and rows of the table of layers, and which columns are numbers."""
    grows_trie = plan.campaign.parameters.layers is None
    columns = (
        "layer",
        *(("characters", "added") if grows_trie else ()),
        "candidates",
        "users asked",
        "prefixes kept",
        "words",
        "votes for a word",
    )
    rows = [
        (
            f"{layer.pass_number}.{layer.layer}",
            *((f"{layer.length}", f"{layer.extension}") if grows_trie else ()),
            *(f"{number:,}" for number in (layer.candidates, layer.layer_size, layer.kept, layer.words)),
            f"{layer.word_votes:,}",
        )
        for layer in plan.expected.layers
    ]
    return columns, rows, range(1, len(columns))


def _tradeoff_table(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
    columns = ("local ε", "central ε, word", "central ε, user", "coverage", "words", "rarest word found (95 %)")
    return columns, [_point_cells(point) for point in plan.tradeoff], range(len(columns))


def _level_table(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
    columns = ("level", "local ε", "central ε, word", "central ε, user", "coverage", "words", "rarest word (95 %)")
    rows = [
        (outlook.level.name, *(_point_cells(outlook.point) if outlook.point else ("none",) + 5 * ("–",)))
        for outlook in plan.levels
    ]
    return columns, rows, range(1, len(columns))


def _point_cells(point: Point) -> tuple[str, ...]:
    return (
        f"{point.local_epsilon:g}",
        shown(point.item_epsilon),
        shown(point.user_epsilon),
        f"{point.coverage:.1%}",
        f"{point.words:,.0f}",
        _one_in(point.rarest_share),
    )


def _level_lines(plan: Plan) -> list[str]:
    """What the level is, what the next weaker one would buy, and how many users it takes if these are too few."""
    if plan.level is None:
        return []
    lines = [
        f"Level {plan.level.name}: {plan.level.promise}. {plan.campaign.users:,} users keep it with a local ε of "
        f"{plan.campaign.epsilon:g}."
    ]
    if plan.expected.words < 1:
        enough = f"; from about {plan.fewest_users:,} on they do" if plan.fewest_users else ""
        lines.append(f"So few users find nothing at this level{enough}.")
    other = weaker(plan.level)
    point = next((outlook.point for outlook in plan.levels if outlook.level == other), None)
    if other and point:
        lines.append(
            f"The next weaker level, {other.name}, would find {point.words:,.0f} words and cover {point.coverage:.1%}, "
            f"for a central ε of {shown(point.user_epsilon)} for a whole user: {grade(point.user_epsilon).words}."
        )
    return lines


def _promise_lines(plan: Plan) -> list[str]:
    """What the plan promises, and how to make a campaign promise it too."""
    fewest = fewest_reports_of(plan)
    parameters = plan.campaign.parameters
    if fewest is None:
        return []
    protected = "a whole user" if parameters.promised_unit == "user" else "a word"
    if plan.level:
        options = f"--privacy {plan.level.name}."
    else:
        live = " A live campaign needs --allocation drawn and --hours as well." if parameters.drawn else ""
        options = (
            f"--epsilon {plan.campaign.epsilon:g} --central-epsilon {parameters.promised_epsilon:g} "
            f"--unit {parameters.promised_unit}.{live}"
        )
    return [
        f"Promise: the release costs {protected} a central ε of at most {parameters.promised_epsilon:g}, whoever stays "
        f"away: a layer with fewer than {fewest:,} reports is not decided.",
        f"A campaign or a discovery promises it with {options}",
    ]


def _masked_lines(rules: GroupRules, cost: dict[str, Any]) -> list[str]:
    return [
        f"A device sends {cost['sent_bytes']:,} bytes at most and receives {cost['received_bytes']:,}, in a group of "
        f"{rules.size:,} that survives {rules.dropout} % of dropouts: {cost['neighbours']} neighbours, "
        f"{cost['threshold']} of which recover a secret, {cost['candidates']:,} candidates.",
        f"This takes {cost['milliseconds']:,.0f} ms on one core of this machine, as just measured.",
        f"The server sees sums over at least {rules.smallest:,} devices, up to {rules.corrupt:,} of which may work "
        f"with it, if {rules.corruption} % of all devices do, but for a risk of {rules.risk:g}.",
    ]


def _one_in(share: float | None) -> str:
    if share is None:
        return "none"
    return f"1 in {1 / share:,.0f}" if share else "any"


def _words_line(parameters: Parameters) -> str:
    """How many words of a user reports speak of."""
    later = ", ".join(map(str, parameters.later_words))
    fewer = f" ({later} in later layers)" if later else ""
    return f"{parameters.words_per_user} words a user{fewer}"
