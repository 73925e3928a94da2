"""`neologue plan`: forecast what a campaign will find and cost, before anyone is asked."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.consent import YES, require_consent
from neologue.cli.data_options import check_rows
from neologue.cli.discovery.cost_options import cost_options, hosting_of
from neologue.cli.discovery.ledger_charge import DiscoveryCharge
from neologue.cli.discovery.plan_shape import check_shape, learn_shape, read_people, shape_options
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
    from neologue.campaign.privacy_level import PrivacyLevel
    from neologue.language.alphabet import Alphabet
    from neologue.language.vocabulary import Vocabulary
    from neologue.masking.rules import GroupRules
    from neologue.planning.masking_cost import MaskingCost
    from neologue.planning.plan import Plan
    from neologue.planning.typing_shape import TypingShape

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
        ("neologue plan --users 50000000 --cost --check-in-hours 24", "the machines and the money that it takes"),
        ("neologue plan typed.parquet --shape-epsilon 0.5", "for people who hold as many words as yours do"),
        ("neologue plan --users 500000 --check-ins 80000", "how many days it takes, too"),
    ),
)
@shape_options
@click.option(
    "--users",
    type=int,
    help=f"Users that can be asked  [default: all of DATA, the fewest within both epsilons, or {DEFAULT_USERS:,}]",
)
@click.option(
    "--check-ins",
    type=click.IntRange(1),
    help="Devices that check in on a day; the plan then says how long the campaign takes.",
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
@cost_options
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the trade-off into this SVG file.")
@YES
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON instead of tables.")
def plan(data: Sequence[Path], plot: Path | None, as_json: bool, yes: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Plan a campaign: choose parameters within limits on ε, and forecast what they find and cost.

    Give any of --users, --local-epsilon and --central-epsilon; the rest is chosen. The forecast is computed from the
    word frequencies of the language. With DATA, a table of users and words as for discover, it is for users who hold
    as many new words as these. How many those are is estimated under an ε of its own. Exits with 2 if the plan has a
    central ε above 10 for a whole user, unless --yes accepts it.
    """
    # Mistakes are found before anything that takes long to import.
    charge = check_shape(data, options)
    wanted = _check_options(options)
    check_rows(data, options, wanted.days)
    hosting = hosting_of(options)
    from neologue.cli.discovery.plan_tables import show_plan
    from neologue.cli.terminal import show_progress
    from neologue.planning.duration import duration
    from neologue.reporting.plan_document import check_plot, plan_document, plot_tradeoff

    if plot:
        check_plot(plot)
    with show_progress(sys.stderr) as progress:
        progress.print_line("Reading words …")
        found, shape = _make_plan(data, wanted, charge, options, progress.print_line)
        lasting = None if options["check_ins"] is None else duration(found.campaign, options["check_ins"])
        masked = None
        if found.masked:
            progress.print_line("Measuring the cost of masking …")
            masked = _masking_cost(found)
        progress.print_line("Computing the privacy statement …")
        document = plan_document(found, options["language"], masked, hosting, shape, lasting)
    if plot:
        plot_tradeoff(found, plot)
        click.echo(f"wrote {plot}", err=True)
    if as_json:
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False).encode())
    else:
        show_plan(found, document, charged=charge.charges)
    if not yes:
        require_consent(found.user_epsilon)


@dataclass(frozen=True)
class _Wanted:
    """What the options ask for, as far as it is known before any word is read."""

    profile: str
    days: int
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
    days, chosen = profile.parameters.days, first_epsilon(options, level) | changes
    wanted = _Wanted(profile.name, days, language, alphabet, chosen, masked, level)
    # If the users are yet to be chosen, there are enough of them for any other parameter to be judged.
    wanted.campaign(MOST_USERS if options["users"] is None else options["users"], options["local_epsilon"])
    return wanted


def _make_plan(
    data: Sequence[Path],
    wanted: _Wanted,
    charge: DiscoveryCharge,
    options: dict[str, Any],
    print_line: Callable[[str], None],
) -> "tuple[Plan, TypingShape | None]":
    from neologue.language import builtin
    from neologue.language.vocabulary import Vocabulary
    from neologue.planning.plan import FIRST_USERS, EpsilonLimits
    from neologue.planning.plan_for import plan_for
    from neologue.privacy.statement import Exposure

    limits = EpsilonLimits(options["local_epsilon"], options["central_epsilon"], options["unit"])
    users = options["users"]
    # Before anything is read.
    asked = wanted.campaign(FIRST_USERS if users is None else users, limits.local_epsilon)
    known = Vocabulary.from_file(options["known"]) if options["known"] else builtin.vocabulary(wanted.language)
    shape = None
    if data:
        people = read_people(data, options, asked.parameters.days, asked)
        users = people.users if users is None else users
        wanted.campaign(users, limits.local_epsilon)
        shape = learn_shape(people, replace(asked, known=known), charge, options)
    found = plan_for(
        lambda asked, epsilon: wanted.campaign(asked, epsilon, known),
        wanted.language,
        users,
        limits,
        Exposure(masked=wanted.masked),
        level=wanted.level,
        shape=shape,
        chooses_words=options["words_per_user"] is None,
        on_progress=print_line,
    )
    return found, shape


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
