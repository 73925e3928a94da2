"""`neologue discover`: from a population to words, with progress, a table and files."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from neologue.cli.choices import alphabet_of, alphabets, completes, languages, profiles
from neologue.cli.ledger_charge import account_of
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from neologue.campaign.campaign import Campaign
    from neologue.campaign.measuring import Measuring
    from neologue.cli.display import LineProgress
    from neologue.populations.population import Population
    from neologue.simulation.discovery_run import Discovery
    from neologue.simulation.engine import Engine
    from neologue.simulation.journal import Journal
    from neologue.simulation.trie_trace import TrieTrace

DEFAULT_USERS = 1_000_000
JOURNAL = "unfinished"
"""The folder, inside that of the results, of a discovery under way."""
LARGEST_SEED = 2**53 - 1
"""The largest whole number that every reader of JSON takes as it is."""
CHANGEABLE = (
    "epsilon",
    "words_per_user",
    "depth",
    "passes",
    "sampler",
    "randomizer",
    "rule",
    "frontier",
    "candidates",
    "days",
    "k_anonymity",
    "alpha",
    "delta",
    "colluders",
)
REPEATED = (
    *CHANGEABLE,
    *("data", "profile", "language", "alphabet", "users", "known", "targets", "fidelity", "seed"),
    *("measure", "measure_users", "measure_rate"),
    *("user_column", "word_column", "count_column", "day_column"),
)
"""What a discovery is repeated with; other options say where its files go, or who is charged and signs."""


@click.command()
@click.argument("data", required=False, type=click.Path(path_type=Path))
@click.option(
    "--profile",
    default="neologue",
    show_default=True,
    shell_complete=completes(profiles),
    help="Named parameters.",
)
@click.option(
    "--language",
    default="en",
    show_default=True,
    shell_complete=completes(languages),
    help="Language of the embedded population and of the built-in known words.",
)
@click.option(
    "--alphabet",
    shell_complete=completes(alphabets),
    help="Name of an alphabet, or a text file to take the characters from.",
)
@click.option("--users", type=int, help=f"Users to ask  [default: all of DATA, or {DEFAULT_USERS:,} embedded]")
@click.option("--epsilon", type=float, help="Local ε of one word  [default: the profile's, or by population]")
@click.option("--words-per-user", type=int, help="The most words in one report (B).")
@click.option("--depth", type=int, help="The longest word that counts (D).")
@click.option("--passes", type=int, help="How many tries are grown.")
@click.option(
    "--sampler",
    type=click.Choice(["greedy", "random"]),
    help="Which words go into a report if there are too many.",
)
@click.option("--randomizer", type=click.Choice(["unary", "subset-selection"]), help="What a device does to its words.")
@click.option("--rule", type=click.Choice(["top", "significant"]), help="Which prefixes are kept.")
@click.option("--frontier", type=int, help="The most prefixes kept in a layer (η_max).")
@click.option("--candidates", type=int, help="The most candidates voted on in a layer.")
@click.option("--k-anonymity", type=int, help="Keep what fewer than k users of a cohort hold at most 1-α of the time.")
@click.option("--alpha", type=float, help="How certain k-anonymity is (α).")
@click.option("--delta", type=float, help="The δ of the central privacy statement.")
@click.option("--colluders", type=float, help="Assumed share of reports that hide nobody.")
@click.option(
    "--known",
    type=click.Path(path_type=Path),
    help="Known words: a text file, one a line, or a Hunspell .dic  [default: built in]",
)
@click.option(
    "--targets",
    type=click.Path(path_type=Path),
    help="Limit contributions to the words of this file, to try parameters without learning unknown words.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="Measure coverage and counts privately: as many users as a layer has count the words that others found.",
)
@click.option("--measure-users", type=int, help="So many users measure instead; implies --measure.")
@click.option(
    "--measure-rate",
    type=float,
    help="The chance with which each new word of theirs may be counted; implies --measure  [default: 1]",
)
@click.option(
    "--fidelity",
    type=click.Choice(["fast", "exact", "devices"]),
    default="fast",
    show_default=True,
    help="Draw the sum of all reports from its law, draw every report, or make every report with the device code.",
)
@click.option(
    "--engine",
    type=click.Choice(["local", "ray"]),
    default="local",
    show_default=True,
    help="Simulate on the cores of this machine, or on a Ray cluster; the result is the same.",
)
@click.option("--address", help="The running cluster that --engine ray uses, such as 10.0.0.7:6379  [default: its own]")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    default=0,
    show_default=True,
    help="The same seed gives the same result.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for words.csv, words.dic, words.aff, release.json and report.html.",
)
@click.option("--resume", is_flag=True, help="Go on with the unfinished discovery in the folder of --out.")
@click.option(
    "--sign",
    type=click.Path(path_type=Path),
    help="Sign release.json with this private key (see neologue keygen).",
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    help="Charge the campaign to this ledger, and release nothing that its budget does not cover.",
)
@click.option("--population", help="Whom the ledger knows these users as; with --ledger.")
@click.option("--campaign", help="The campaign's name in the ledger, never used twice; with --ledger.")
@click.option("--json", "as_json", is_flag=True, help="Print release.json instead of tables.")
@click.option("--days", type=int, help="How many days of typing count (T); of DATA, those up to its newest day.")
@click.option("--user-column", help="Column of DATA that tells users apart  [default: user]")
@click.option("--word-column", help="Column of DATA with the words  [default: word]")
@click.option("--count-column", help="Column of DATA with the times typed  [default: count, if there]")
@click.option("--day-column", help="Column of DATA with the day  [default: day, if there]")
def discover(data: Path | None, as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Find the new words of a population.

    DATA is a CSV, TSV, JSON lines or Parquet file with the columns user and word, and optionally count and
    day. Without it, the population is an embedded one: users who write a language with its real word
    frequencies.
    """
    from neologue.cli.display import show_discovery, show_progress
    from neologue.discovery.decision import no_trace
    from neologue.release.codec import release_text
    from neologue.release.signature import private_key, signed
    from neologue.reporting.extra import EXTRA, can_report
    from neologue.reporting.files import REPORT, check_folder, write_files
    from neologue.reporting.simulated_release import discovery_document
    from neologue.simulation.discovery_run import discover as run
    from neologue.simulation.memory import check_memory
    from neologue.simulation.trie_trace import TrieTrace

    if options["out"]:
        check_folder(options["out"])
    if options["resume"] and not options["out"]:
        raise ParameterError("--resume needs --out, the folder in which the discovery was begun")
    key = private_key(options["sign"]) if options["sign"] else None
    account = account_of(options["ledger"], options["population"], options["campaign"])
    wanted = _checked(data, options)
    with show_progress(sys.stderr) as progress, _engine(options, progress) as engine:
        progress.say("Reading words; the first run also compiles, which takes some seconds …")
        campaign, population, measure = _set_up(data, wanted, engine, options)
        progress.say(population.description)
        check_memory(campaign, engine.threads)
        journal = _journal(population, campaign, measure, options)
        if not (journal and journal.resumed):
            account.plan(campaign, measure)
        trie_trace = TrieTrace(population.words) if options["out"] and can_report() else None
        discovery = run(
            population,
            campaign,
            fidelity=options["fidelity"],
            seed=options["seed"],
            progress=progress,
            journal=journal,
            trace=trie_trace.trace if trie_trace else no_trace,
            engine=engine,
            measure=measure,
        )
        progress.say("Working out what the release gives away …")
        account.settle(discovery.release)
        document = discovery_document(discovery)
        if key:
            document = signed(document, key)
        report = _report(discovery, document, trie_trace, progress) if trie_trace else None
    # Files first: whatever becomes of the screen, what was asked for is kept.
    if options["out"]:
        for path in write_files(discovery.release.words, document, options["out"], report):
            click.echo(f"wrote {path}", err=True)
        if report is None:
            click.echo(f"no new {REPORT}: install what it is made with, {EXTRA}", err=True)
        elif data:
            click.echo(f"{REPORT} compares with what users hold: keep it as confidential as {data}", err=True)
    if journal:
        journal.close()
    if as_json:
        click.echo(release_text(document).encode(), nl=False)
    else:
        show_discovery(discovery, document)


def _report(discovery: "Discovery", document: dict[str, Any], trie_trace: "TrieTrace", progress: "LineProgress") -> str:
    from neologue.reporting.discovery_report import discovery_report

    progress.say("Drawing the report …")
    return discovery_report(discovery, document, trie_trace, _command(click.get_current_context()))


def _command(context: click.Context) -> str:
    """The command that makes the same discovery again, wherever its files are and go."""
    parts = ["neologue", "discover"]
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name not in REPEATED:
            continue
        value = context.params[name]
        if value is True:
            parts.append(parameter.opts[0])
            continue
        text = value.name if isinstance(value, Path) else str(value)
        parts += [text] if isinstance(parameter, click.Argument) else [parameter.opts[0], text]
    return shlex.join(parts)


def _journal(
    population: "Population", campaign: "Campaign", measure: "Measuring | None", options: dict[str, Any]
) -> "Journal | None":
    """The journal in the folder of results, if there is one to be."""
    from neologue.simulation.discovery_run import identity
    from neologue.simulation.journal import Journal

    if not options["out"]:
        return None
    whole = identity(population, campaign, options["fidelity"], options["seed"], measure)
    return Journal(options["out"] / JOURNAL, whole, resume=options["resume"])


def _checked(data: Path | None, options: dict[str, Any]) -> "Campaign":
    """The campaign that the options ask for, without words; most mistakes show here, before anything is read."""
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.profiles import profile as profile_named
    from neologue.language import builtin

    for name in ("user_column", "word_column", "count_column", "day_column"):
        if data is None and options[name] is not None:
            option = "--" + name.replace("_", "-")
            raise ParameterError(f"{option} {options[name]} is about a column of DATA; give a file, or leave it out")
    profile, language = profile_named(options["profile"]), builtin.check_language(options["language"])
    campaign = Campaign.from_profile(
        profile.name,
        users=DEFAULT_USERS if options["users"] is None else options["users"],
        alphabet=alphabet_of(options["alphabet"], profile.alphabet, language),
        **_changes(options),
    )
    if data is None or options["users"]:
        _set_aside(campaign, options)
    return campaign


def _set_aside(campaign: "Campaign", options: dict[str, Any]) -> "tuple[Campaign, Measuring | None]":
    """The campaign without those of its users who measure, if any are to."""
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
            f"{measure.users:,} of {campaign.users:,} users are to measure, and nobody is left to be asked; "
            "let fewer measure"
        )
    rest = replace(campaign, users=campaign.users - measure.users)
    measure.check(rest, campaign.users)
    return rest, measure


def _engine(options: dict[str, Any], progress: "LineProgress") -> "AbstractContextManager[Engine]":
    from neologue.simulation.engine import LocalEngine

    if options["engine"] == "local":
        if options["address"] is not None:
            raise ParameterError(f"--address {options['address']} is of a cluster; use it with --engine ray")
        return LocalEngine()
    from neologue.simulation.cluster import RayEngine

    own = options["address"] is None
    progress.say("Starting a cluster …" if own else f"Joining the cluster at {options['address']} …")
    return RayEngine(options["address"])


def _set_up(
    data: Path | None, wanted: "Campaign", engine: "Engine", options: dict[str, Any]
) -> "tuple[Campaign, Population, Measuring | None]":
    """The campaign with its words, the population, and who of it measures."""
    from neologue.campaign.campaign import Campaign
    from neologue.language import builtin
    from neologue.language.vocabulary import Vocabulary
    from neologue.populations.population import Population
    from neologue.populations.records import Columns

    population: Population | None = None
    if data is not None:
        columns = Columns(
            options["user_column"] or "user",
            options["word_column"] or "word",
            options["count_column"],
            options["day_column"],
        )
        days = wanted.parameters.days
        population = engine.read(data, columns, days=days, users=options["users"], seed=options["seed"])
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
    campaign = Campaign.from_profile(
        wanted.profile,
        users=population.users,
        alphabet=wanted.alphabet,
        known=known,
        targets=targets,
        **_changes(options),
    )
    rest, measure = _set_aside(campaign, options)
    return rest, population, measure


def _changes(options: dict[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in CHANGEABLE if options[name] is not None}
