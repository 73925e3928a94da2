"""A plan as tables and facts on a terminal."""

from typing import Any

from neologue.campaign.parameters import Parameters
from neologue.campaign.privacy_level import weaker
from neologue.campaign.profiles import profile
from neologue.cli.discovery.cost_tables import show_cost
from neologue.cli.discovery.tables import show_colluders
from neologue.cli.terminal import show_facts, show_table
from neologue.masking.rules import GroupRules
from neologue.planning.plan import Plan, Point
from neologue.privacy.digits import shown
from neologue.privacy.scale import grade
from neologue.reporting.plan_document import fewest_reports_of
from neologue.reporting.sentences import what_finds_more
from neologue.reporting.short_facts import OF_USE, Fact, percent, planting_facts, privacy_facts

HELD_BY_FEWER = 6
"""How many times fewer words a user of the example holds."""


def show_plan(plan: Plan, document: dict[str, Any], *, charged: bool) -> None:
    """Print the layers, what other ε would give, and facts about the plan and its privacy.

    `charged` is whether a ledger paid for the shape of the data, if there is one.
    """
    show_table("Layers, as foreseen", *_layer_table(plan))
    if plan.levels:
        show_table("Levels of privacy", *_level_table(plan))
    if plan.tradeoff:
        show_table("The trade-off", *_tradeoff_table(plan))
    show_colluders(plan.facts)
    about = [*_campaign_facts(plan), *_device_facts(plan, document), *_duration_fact(document["duration"])]
    show_facts("Plan", [*about, *_level_facts(plan), *_promise_facts(plan)])
    statement, words = document["privacy"], round(plan.expected.words)
    privacy = [*privacy_facts(statement), *_fewer_words_fact(plan)]
    protection = [*privacy, *planting_facts(document["planting"], words), *_full_layer_fact(plan)]
    show_facts(f"Privacy, at δ = {statement['delta']:g}", protection)
    if "cost" in document:
        show_cost(document["cost"])
    if document["shape"]:
        show_facts("Shape of the data", _shape_facts(document["shape"], charged=charged))


def _campaign_facts(plan: Plan) -> list[Fact]:
    campaign, expected = plan.campaign, plan.expected
    return [
        Fact(
            "campaign",
            f"{campaign.users:,} users, local ε = {campaign.epsilon:g}, {_words_of_a_user(campaign.parameters)}, words "
            f"of up to {campaign.parameters.depth} characters, {len(expected.layers)} layers (profile "
            f"{campaign.profile})",
        ),
        Fact("expected words", f"{expected.words:,.0f}, of which {expected.false_words:,.1f} false"),
        Fact("coverage", f"{percent(expected.coverage)} {OF_USE}"),
        Fact("rarest word", _rarest_word(plan)),
    ]


def _words_of_a_user(parameters: Parameters) -> str:
    """How many words of a user reports speak of."""
    later = ", ".join(map(str, parameters.later_words))
    fewer = f" ({later} in later layers)" if later else ""
    return f"{parameters.words_per_user} words a user{fewer}"


def _rarest_word(plan: Plan) -> str:
    """Which words are found, or why none is."""
    campaign, expected = plan.campaign, plan.expected
    if expected.rarest_share is None:
        largest = max((layer.layer_size for layer in expected.layers), default=0)
        advice = what_finds_more(campaign.parameters.k_anonymity, largest, largest)
        return f"no word is found with a chance of 95 %, however many users report it; {advice}"
    which = "that every layer asks about" if campaign.parameters.layers else "whose spelling is asked about"
    return (
        f"a word {which} is found with a chance of 95 % if {expected.rarest_share * campaign.users:,.0f} users report "
        f"it, {_one_in(expected.rarest_share)}"
    )


def _device_facts(plan: Plan, document: dict[str, Any]) -> list[Fact]:
    """What a device sends, and what it computes if votes are masked."""
    if plan.masked is None:
        return [Fact("upload", f"{plan.expected.report_bytes:,} bytes at most, once")]
    return _masked_facts(plan.masked, document["masked"])


def _masked_facts(rules: GroupRules, cost: dict[str, Any]) -> list[Fact]:
    return [
        Fact(
            "traffic",
            f"a device sends {cost['sent_bytes']:,} bytes at most and receives {cost['received_bytes']:,}",
        ),
        Fact(
            "group",
            f"{rules.size:,} devices; it survives {rules.dropout} % of dropouts: {cost['neighbours']} neighbours, "
            f"{cost['threshold']} of which recover a secret, {cost['candidates']:,} candidates",
        ),
        Fact("computing", f"{cost['milliseconds']:,.0f} ms on one core of this machine, as just measured"),
        Fact(
            "server sees",
            f"sums over at least {rules.smallest:,} devices, up to {rules.corrupt:,} of which may work with it, if "
            f"{rules.corruption} % of all devices do, but for a risk of {rules.risk:g}",
        ),
    ]


def _duration_fact(lasting: dict[str, Any] | None) -> list[Fact]:
    if lasting is None:
        return []
    hours = lasting["layer_hours"]
    return [
        Fact(
            "duration",
            f"about {lasting['days']:,.1f} days: with {lasting['check_ins']:,} devices that check in on a day, a layer "
            f"waits {hours:,} hours (--hours {hours}) for 95 % of its own",
        )
    ]


def _fewer_words_fact(plan: Plan) -> list[Fact]:
    """What the release costs users who hold fewer words than a report has room for."""
    most = plan.campaign.parameters.words_per_user
    fewer = max(1, most // HELD_BY_FEWER)
    epsilon = None if fewer == most else plan.user_epsilon_of(fewer)
    if epsilon is None:
        return []
    return [Fact("fewer words", f"who holds fewer than {most} is protected better: with {fewer}, ε = {shown(epsilon)}")]


def _shape_facts(shape: dict[str, Any], *, charged: bool) -> list[Fact]:
    """What was learnt about people, and what it cost them."""
    return [
        Fact("users", f"{shape['users']:,}, who hold {shape['mean']:,.1f} new words on average"),
        Fact(
            "estimated",
            f"from one report of each, with a local ε of {shape['local_epsilon']:g}: a central ε of "
            f"{shown(shape['user_epsilon'])} for a whole user, beside what a campaign will cost",
        ),
        Fact("ledger", "charged for it" if charged else "none was charged for it; --ledger does that"),
        Fact("shares of words", "the public frequencies of the language, whatever is in the data"),
    ]


def _level_facts(plan: Plan) -> list[Fact]:
    """What the level is, what the next weaker one would buy, and how many users it takes if these are too few."""
    if plan.level is None:
        return []
    kept = f"{plan.campaign.users:,} users keep it with a local ε of {plan.campaign.epsilon:g}"
    facts = [Fact("level", f"{plan.level.name}: {plan.level.promise}; {kept}")]
    if plan.expected.words < 1:
        enough = f"; from about {plan.fewest_users:,} on they do" if plan.fewest_users else ""
        facts.append(Fact("too few users", f"so few users find nothing at this level{enough}"))
    other = weaker(plan.level)
    point = next((outlook.point for outlook in plan.levels if outlook.level == other), None)
    if other and point:
        facts.append(
            Fact(
                "next level",
                f"{other.name} would find {point.words:,.0f} words and cover {percent(point.coverage)}, for a central "
                f"ε of {shown(point.user_epsilon)} for a whole user: {grade(point.user_epsilon).words}",
            )
        )
    return facts


def _promise_facts(plan: Plan) -> list[Fact]:
    """What the plan promises, and how to make a campaign promise it too."""
    fewest, parameters = fewest_reports_of(plan), plan.campaign.parameters
    if fewest is None:
        return []
    protected = "a whole user" if parameters.promised_unit == "user" else "a word"
    if plan.level:
        usual = profile(plan.campaign.profile).parameters.words_per_user
        words = "" if parameters.words_per_user == usual else f" --words-per-user {parameters.words_per_user}"
        options = f"--privacy {plan.level.name}{words}"
    else:
        live = "; a live campaign needs --allocation drawn and --hours as well" if parameters.drawn else ""
        options = (
            f"--epsilon {plan.campaign.epsilon:g} --central-epsilon {parameters.promised_epsilon:g} --unit "
            f"{parameters.promised_unit}{live}"
        )
    return [
        Fact(
            "promise",
            f"a central ε of at most {parameters.promised_epsilon:g} for {protected}, whoever stays away: a layer with "
            f"fewer than {fewest:,} reports is not decided",
        ),
        Fact("promised by", options),
    ]


def _full_layer_fact(plan: Plan) -> list[Fact]:
    if plan.full_layer is None:
        return []
    prefixes = plan.campaign.parameters.frontier
    return [Fact("a full layer", f"of {prefixes:,} prefixes alone has ε = {shown(plan.full_layer)} for a word")]


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
        f"{percent(point.coverage)}",
        f"{point.words:,.0f}",
        _one_in(point.rarest_share),
    )


def _one_in(share: float | None) -> str:
    if share is None:
        return "none"
    return f"1 in {1 / share:,.0f}" if share else "any"
