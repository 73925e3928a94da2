"""The campaign and the population that the options of `neologue discover` describe."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from neologue.cli.data_options import read_columns
from neologue.cli.privacy_option import asked_level, first_epsilon
from neologue.cli.shared_options import choose_alphabet
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.measuring import Measuring
    from neologue.campaign.privacy_level import PrivacyLevel
    from neologue.populations.population import Population
    from neologue.simulation.engines.engine import Engine

DEFAULT_USERS = 1_000_000
CHANGEABLE = (
    "case",
    "punctuation",
    "epsilon",
    "words_per_user",
    "depth",
    "passes",
    "layers",
    "allocation",
    "sampler",
    "randomizer",
    "rule",
    "frontier",
    "candidates",
    "days",
    "k_anonymity",
    "alpha",
    "unique_chance",
    "hostile_devices",
    "delta",
    "colluders",
    "promised_epsilon",
    "promised_unit",
)


def check_options(data: Sequence[Path], options: dict[str, Any]) -> "Campaign":
    """Make the campaign of the options, without known words: most mistakes are found here, before anything is read."""
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.profiles import profile as profile_named
    from neologue.language import builtin

    read_columns(data, options)
    for name in ("known", "targets"):
        if options[name] and not options[name].exists():
            raise ParameterError(f"--{name} {options[name]} does not exist; give a file with one word per line")
    profile, language = profile_named(options["profile"]), builtin.check_language(options["language"])
    level = asked_level(options, "promised_epsilon")
    campaign = Campaign.from_profile(
        profile.name,
        users=DEFAULT_USERS if options["users"] is None else options["users"],
        alphabet=choose_alphabet(options["alphabet"], profile.alphabet, language),
        **_changed_parameters(options, level),
    )
    if not data or options["users"]:
        rest, measure = _split_off_measuring(campaign, options)
        if level:
            chosen = _held_to(level, rest, measure, options)
            campaign = replace(campaign, parameters=chosen.parameters)
    return campaign


def _held_to(
    level: "PrivacyLevel", campaign: "Campaign", measure: "Measuring | None", options: dict[str, Any]
) -> "Campaign":
    """The campaign at a level of privacy."""
    from neologue.privacy.statement import Exposure
    from neologue.release.levelled_campaign import at_level

    return at_level(campaign, level, measure, Exposure(), options["epsilon"])


def _split_off_measuring(campaign: "Campaign", options: dict[str, Any]) -> "tuple[Campaign, Measuring | None]":
    """Split the users who measure, if any, off the campaign."""
    from neologue.campaign.measuring import Measuring
    from neologue.discovery.measurement import usual_measuring

    if not options["measure"] and options["measure_users"] is None and options["measure_rate"] is None:
        return campaign, None
    rate = 1.0 if options["measure_rate"] is None else options["measure_rate"]
    if options["measure_users"] is None:
        measure = usual_measuring(campaign, rate)
    else:
        measure = Measuring(options["measure_users"], rate)
    if measure.users >= campaign.users:
        raise ParameterError(
            f"{measure.users:,} of {campaign.users:,} users are to measure, so nobody is left to find words; "
            "let fewer measure"
        )
    rest = replace(campaign, users=campaign.users - measure.users)
    measure.check(rest, campaign.users)
    return rest, measure


def read_inputs(
    data: Sequence[Path], wanted: "Campaign", engine: "Engine", options: dict[str, Any]
) -> "tuple[Campaign, Population, Measuring | None]":
    """Read the words and the users: the campaign with its words, the population, and how many of it measure."""
    from neologue.campaign.campaign import Campaign
    from neologue.language import builtin
    from neologue.language.vocabulary import Vocabulary
    from neologue.populations.piped_input import seekable
    from neologue.populations.population import Population

    population: Population | None = None
    if data:
        columns, days = read_columns(data, options), wanted.parameters.days
        with seekable(data) as files:
            population = engine.read(
                files, columns, days=days, users=options["users"], seed=options["seed"], form=wanted.form
            )
    targets = Vocabulary.from_file(options["targets"]).words if options["targets"] else None
    known = Vocabulary.from_file(options["known"]) if options["known"] else builtin.vocabulary(options["language"])
    if population is None:
        population = Population.embedded(
            options["language"],
            wanted.users,
            known=known,
            targets=targets,
            days=wanted.parameters.days,
            seed=options["seed"],
        )
    level = asked_level(options, "promised_epsilon")
    campaign = Campaign.from_profile(
        wanted.profile,
        users=population.users,
        alphabet=wanted.alphabet,
        known=known,
        targets=targets,
        **_changed_parameters(options, level),
    )
    rest, measure = _split_off_measuring(campaign, options)
    if level and not data:
        rest = replace(rest, parameters=wanted.parameters)
    elif level:
        rest = _held_to(level, rest, measure, options)
    return rest, population, measure


def _changed_parameters(options: dict[str, Any], level: "PrivacyLevel | None") -> dict[str, Any]:
    return first_epsilon(options, level) | {name: options[name] for name in CHANGEABLE if options[name] is not None}
