"""`neologue plan`: forecast what a campaign will find and cost, before anyone is asked."""

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.consent import YES, require_consent
from neologue.cli.group_options import group_options, require_masks
from neologue.cli.help_sections import SectionedCommand
from neologue.cli.privacy_option import PRIVACY, asked_level, first_epsilon
from neologue.cli.shared_options import (
    ALPHA,
    ALPHABET,
    CASE,
    COLLUDERS,
    DELTA,
    DEPTH,
    HOSTILE_DEVICES,
    K_ANONYMITY,
    KNOWN,
    LAYERS,
    PASSES,
    PROFILE,
    PUNCTUATION,
    RANDOMIZER,
    RULE,
    UNIQUE_CHANCE,
    WORDS_PER_USER,
    choose_alphabet,
    language_option,
)
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.parameters import Parameters
    from neologue.campaign.privacy_level import PrivacyLevel
    from neologue.language.alphabet import Alphabet
    from neologue.language.vocabulary import Vocabulary
    from neologue.masking.rules import GroupRules
    from neologue.planning.masking_cost import MaskingCost
    from neologue.planning.plan import Plan, Point

DEFAULT_USERS = 1_000_000
CHANGEABLE = (
    *("case", "punctuation", "words_per_user", "depth", "passes", "layers", "randomizer", "rule"),
    *("k_anonymity", "alpha", "unique_chance", "hostile_devices", "delta", "colluders"),
)


@click.command(
    cls=SectionedCommand,
    examples=(
        ("neologue plan --users 500000", "what half a million people give, and what it costs them"),
        ("neologue plan --users 500000 --privacy strict", "what they find at a level of privacy, beside the others"),
        ("neologue plan --central-epsilon 1 --unit user", "how many people it takes"),
        ("neologue plan --users 2000000 --language id --local-epsilon 7", "Indonesian, within a limit on ε"),
    ),
)
@click.option(
    "--users",
    type=int,
    help=f"Users that can be asked  [default: the fewest within both epsilons, or {DEFAULT_USERS:,}]",
)
@language_option("en", "The language whose word frequencies the plan uses.")
@PROFILE
@PRIVACY
@click.option("--local-epsilon", type=float, help="The largest local ε of one word.")
@click.option("--central-epsilon", type=float, help="The largest central ε of the release, which is then promised.")
@click.option(
    "--unit",
    type=click.Choice(["item", "user"]),
    default="item",
    show_default=True,
    help="What the central ε protects: one word, or a whole user.",
)
@DELTA
@WORDS_PER_USER
@DEPTH
@PASSES
@LAYERS
@RANDOMIZER
@RULE
@K_ANONYMITY
@ALPHA
@UNIQUE_CHANCE
@HOSTILE_DEVICES
@COLLUDERS
@ALPHABET
@CASE
@PUNCTUATION
@KNOWN
@group_options
@click.option(
    "--upload-bytes",
    type=click.IntRange(1),
    default=200_000,
    show_default=True,
    help="The most a device may send with masked votes: layers get as many candidates as fit.",
)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the trade-off into this SVG file.")
@YES
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON instead of tables.")
def plan(plot: Path | None, as_json: bool, yes: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Plan a campaign: choose parameters within limits on ε, and forecast what they find and cost.

    Give any of --users, --local-epsilon and --central-epsilon; the rest is chosen. Nobody is asked: the forecast is
    computed from the word frequencies of the language. Exits with 2 if the plan has a central ε above 10 for a whole
    user, unless --yes accepts it.
    """
    # Mistakes are found before anything that takes long to import.
    wanted = _check_options(options)
    from neologue.cli.terminal import show_progress
    from neologue.reporting.plan_document import check_plot, plan_document, plot_tradeoff

    if plot:
        check_plot(plot)
    with show_progress(sys.stderr) as progress:
        progress.print_line("Reading words …")
        found = _make_plan(wanted, options, progress.print_line)
        masked = None
        if found.masked:
            progress.print_line("Measuring the cost of masking …")
            masked = _masking_cost(found)
        progress.print_line("Computing the privacy statement …")
        document = plan_document(found, options["language"], masked)
    if plot:
        plot_tradeoff(found, plot)
        click.echo(f"wrote {plot}", err=True)
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode())
    else:
        _show(found, document)
    if not yes:
        require_consent(found.user_epsilon)


@dataclass(frozen=True)
class _Wanted:
    """What the options ask for, as far as it is known before any word is read."""

    profile: str
    language: str
    alphabet: "Alphabet"
    changes: dict[str, Any]
    masked: "GroupRules | None"
    level: "PrivacyLevel | None"

    def campaign(self, users: int, epsilon: float | None, known: "Vocabulary | None" = None) -> "Campaign":
        """The campaign with so many users, at this local ε or the profile's."""
        from neologue.campaign.campaign import Campaign

        chosen = self.changes | ({} if epsilon is None else {"epsilon": epsilon})
        asking = Campaign.from_profile(self.profile, users=users, alphabet=self.alphabet, known=known, **chosen)
        return replace(asking, groups=self.masked)


def _check_options(options: dict[str, Any]) -> _Wanted:
    from neologue.campaign.campaign import MOST_USERS
    from neologue.campaign.profiles import profile as profile_named
    from neologue.language import builtin

    profile, language = profile_named(options["profile"]), builtin.check_language(options["language"])
    changes = {name: options[name] for name in CHANGEABLE if options[name] is not None}
    masked = _group_rules(options)
    if masked:
        parameters = profile.parameters
        votes = _most_votes(
            changes.get("randomizer", parameters.randomizer), changes.get("words_per_user", parameters.words_per_user)
        )
        changes["candidates"] = min(parameters.candidates, _candidates_that_fit(options["upload_bytes"], masked, votes))
    alphabet = choose_alphabet(options["alphabet"], profile.alphabet, language)
    level = asked_level(options, "local_epsilon", "central_epsilon")
    wanted = _Wanted(profile.name, language, alphabet, first_epsilon(options, level) | changes, masked, level)
    # If the users are yet to be chosen, there are enough of them for any other parameter to be judged.
    wanted.campaign(MOST_USERS if options["users"] is None else options["users"], options["local_epsilon"])
    return wanted


def _make_plan(wanted: _Wanted, options: dict[str, Any], print_line: Any) -> "Plan":  # noqa: ANN401 - a function of a line
    from neologue.language import builtin
    from neologue.language.vocabulary import Vocabulary
    from neologue.planning.plan import FIRST_USERS, EpsilonLimits
    from neologue.planning.plan_for import plan_for
    from neologue.privacy.statement import Exposure

    limits = EpsilonLimits(options["local_epsilon"], options["central_epsilon"], options["unit"])
    users = options["users"]
    # Before anything is read.
    wanted.campaign(FIRST_USERS if users is None else users, limits.local_epsilon)
    known = Vocabulary.from_file(options["known"]) if options["known"] else builtin.vocabulary(wanted.language)
    return plan_for(
        lambda asked, epsilon: wanted.campaign(asked, epsilon, known),
        wanted.language,
        users,
        limits,
        Exposure(masked=wanted.masked),
        level=wanted.level,
        on_progress=print_line,
    )


def _group_rules(options: dict[str, Any]) -> "GroupRules | None":
    """The rules of masking, if votes are masked."""
    from neologue.campaign.campaign import MOST_USERS
    from neologue.masking.rules import GroupRules, groups_of

    require_masks(options)
    if options["aggregation"] != "secure":
        return None
    names = {
        "size": "cohort_size",
        "smallest": "smallest_cohort",
        "dropout": "dropout",
        "corruption": "corruption",
        "risk": "corruption_risk",
    }
    given = {name: options[option] for name, option in names.items() if options[option] is not None}
    # As many groups as there can be, if the users are yet to be chosen.
    groups = groups_of(options["users"] or MOST_USERS, given.get("smallest", GroupRules.smallest))
    return GroupRules(**given, groups=groups, limited=True)


def _words_line(parameters: "Parameters") -> str:
    """How many words of a user reports speak of."""
    later = ", ".join(map(str, parameters.later_words))
    fewer = f" ({later} in later layers)" if later else ""
    return f"{parameters.words_per_user} words a user{fewer}"


def _most_votes(randomizer: str, words_per_user: int) -> int:
    """The most votes of a device for one candidate."""
    from neologue.randomizers.registry import RANDOMIZERS

    return RANDOMIZERS[randomizer](1, 1.0, words_per_user).channel.contributions


def _candidates_that_fit(upload: int, rules: "GroupRules", votes: int) -> int:
    from neologue.planning.masking_cost import candidates_within

    fitting = candidates_within(upload, rules, votes)
    if not fitting:
        raise ParameterError(f"{upload:,} bytes are too few for any masked votes: allow more --upload-bytes")
    return fitting


def _masking_cost(found: "Plan") -> "MaskingCost":
    from neologue.planning.masking_cost import masking_cost

    assert found.masked
    parameters = found.campaign.parameters
    widest = max(layer.candidates for layer in found.expected.layers)
    return masking_cost(found.masked, widest, _most_votes(parameters.randomizer, parameters.words_per_user))


def _show(plan: "Plan", document: dict[str, Any]) -> None:
    from neologue.cli.discovery.tables import show_colluders
    from neologue.cli.terminal import print_line, show_table
    from neologue.privacy.digits import shown
    from neologue.release.planting import planting_lines
    from neologue.reporting.sentences import privacy_lines

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


def _rarest_line(plan: "Plan") -> str:
    """Which words are found, or why none is."""
    from neologue.reporting.sentences import what_finds_more

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


def _layer_table(plan: "Plan") -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
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


def _tradeoff_table(plan: "Plan") -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
    columns = ("local ε", "central ε, word", "central ε, user", "coverage", "words", "rarest word found (95 %)")
    return columns, [_point_cells(point) for point in plan.tradeoff], range(len(columns))


def _level_table(plan: "Plan") -> tuple[tuple[str, ...], list[tuple[str, ...]], range]:
    columns = ("level", "local ε", "central ε, word", "central ε, user", "coverage", "words", "rarest word (95 %)")
    rows = [
        (outlook.level.name, *(_point_cells(outlook.point) if outlook.point else ("none",) + 5 * ("–",)))
        for outlook in plan.levels
    ]
    return columns, rows, range(1, len(columns))


def _point_cells(point: "Point") -> tuple[str, ...]:
    from neologue.privacy.digits import shown

    return (
        f"{point.local_epsilon:g}",
        shown(point.item_epsilon),
        shown(point.user_epsilon),
        f"{point.coverage:.1%}",
        f"{point.words:,.0f}",
        _one_in(point.rarest_share),
    )


def _level_lines(plan: "Plan") -> list[str]:
    """What the level is, what the next weaker one would buy, and how many users it takes if these are too few."""
    from neologue.campaign.privacy_level import weaker
    from neologue.privacy.digits import shown
    from neologue.privacy.scale import grade

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


def _promise_lines(plan: "Plan") -> list[str]:
    """What the plan promises, and how to make a campaign promise it too."""
    from neologue.reporting.plan_document import fewest_reports_of

    fewest = fewest_reports_of(plan)
    parameters = plan.campaign.parameters
    if fewest is None:
        return []
    protected = "a whole user" if parameters.promised_unit == "user" else "a word"
    live = " A live campaign needs --allocation drawn and --hours as well." if parameters.drawn else ""
    return [
        f"Promise: the release costs {protected} a central ε of at most {parameters.promised_epsilon:g}, whoever stays "
        f"away: a layer with fewer than {fewest:,} reports is not decided.",
        f"A campaign or a discovery promises it with --epsilon {plan.campaign.epsilon:g} --central-epsilon "
        f"{parameters.promised_epsilon:g} --unit {parameters.promised_unit}.{live}",
    ]


def _masked_lines(rules: "GroupRules", cost: dict[str, Any]) -> list[str]:
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
