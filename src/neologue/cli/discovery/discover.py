"""`neologue discover`: find the new words of a population, with progress, a table and files."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.consent import YES, require_consent_to
from neologue.cli.data_options import check_rows, data_options, name_of_data
from neologue.cli.discovery.inputs import CHANGEABLE, DEFAULT_USERS, check_options, read_inputs
from neologue.cli.discovery.ledger_charge import ledger_charge
from neologue.cli.help_sections import SectionedCommand
from neologue.cli.privacy_option import PRIVACY, level_lines
from neologue.cli.repeating_command import repeating_command
from neologue.cli.resume_hint import set_resume_hint
from neologue.cli.shared_options import (
    ALLOCATION,
    ALPHA,
    ALPHABET,
    CANDIDATES,
    CASE,
    CENTRAL_EPSILON,
    CENTRAL_UNIT,
    COLLUDERS,
    DELTA,
    DEPTH,
    EPSILON,
    HOSTILE_DEVICES,
    K_ANONYMITY,
    KNOWN,
    LANGUAGE,
    LAYERS,
    PASSES,
    PROFILE,
    PUNCTUATION,
    RANDOMIZER,
    RULE,
    TARGETS,
    UNIQUE_CHANCE,
    WORDS_PER_USER,
)
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from neologue.campaign.campaign import Campaign
    from neologue.campaign.measuring import Measuring
    from neologue.cli.terminal import LineProgress
    from neologue.populations.population import Population
    from neologue.reporting.discovery.discovery_report import Traced
    from neologue.simulation.discovery_run import DiscoveryRun
    from neologue.simulation.engines.engine import Engine
    from neologue.simulation.journal import Journal

JOURNAL = "unfinished"
"""The folder of an unfinished discovery, inside the folder of its results."""
LARGEST_SEED = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly."""
REPEATED = (
    *CHANGEABLE,
    *("data", "profile", "privacy", "language", "alphabet", "users", "known", "targets", "fidelity", "seed"),
    *("measure", "measure_users", "measure_rate"),
    *("user_column", "word_column", "count_column", "day_column"),
)
"""The options that a discovery is repeated with; the others say where its files go, who is charged and who signs."""


@click.command(
    cls=SectionedCommand,
    examples=(
        ("neologue discover --users 100000", "a hundred thousand simulated people who write English"),
        ("neologue discover typed.csv --out found", "your own data; files of the result in the folder found"),
        ("neologue discover 'days/*.parquet' --known ours.txt", "several files, and your own known words"),
        ("zcat typed.csv.gz | neologue discover - --language de", "data from a pipe"),
    ),
)
@data_options
@PROFILE
@LANGUAGE
@ALPHABET
@CASE
@PUNCTUATION
@click.option("--users", type=int, help=f"Users to ask  [default: all of DATA, or {DEFAULT_USERS:,} embedded]")
@PRIVACY
@EPSILON
@WORDS_PER_USER
@DEPTH
@PASSES
@LAYERS
@ALLOCATION
@click.option(
    "--sampler",
    type=click.Choice(["greedy", "random"]),
    help="Which words of a user go into a report if there are too many  [default: the profile's, random]",
)
@RANDOMIZER
@RULE
@click.option(
    "--frontier", type=int, help="The most prefixes kept in a layer (η_max)  [default: the profile's, 200000]"
)
@CANDIDATES
@K_ANONYMITY
@ALPHA
@UNIQUE_CHANCE
@HOSTILE_DEVICES
@DELTA
@COLLUDERS
@CENTRAL_EPSILON
@CENTRAL_UNIT
@KNOWN
@TARGETS
@click.option(
    "--measure",
    is_flag=True,
    help="Measure coverage and counts privately: further users, as many as in a layer, count the words found.",
)
@click.option("--measure-users", type=int, help="How many users measure; implies --measure.")
@click.option(
    "--measure-rate",
    type=float,
    help="The chance with which each of their new words is counted; implies --measure  [default: 1]",
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
@click.option("--address", help="The cluster for --engine ray, such as 10.0.0.7:6379  [default: start one]")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    help="The same seed gives the same result; on DATA, the result is then a simulation without a privacy claim  "
    "[default: 0, or for DATA the system's entropy]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for words.csv, prefixes.csv, words.dic, words.aff, release.json, layers.zip, truth.json, report.html.",
)
@click.option("--resume", is_flag=True, help="Continue the unfinished discovery in the folder of --out.")
@click.option(
    "--sign",
    type=click.Path(path_type=Path),
    help="Sign release.json with this private key (see neologue keygen); for DATA, without --seed.",
)
@click.option(
    "--ledger",
    type=click.Path(path_type=Path),
    help="Charge the campaign to this ledger, and release nothing that its budget does not cover.",
)
@click.option("--population", help="The name of these users in the ledger; with --ledger.")
@click.option("--campaign", help="The campaign's name in the ledger, a new one for each campaign; with --ledger.")
@YES
@click.option("--json", "as_json", is_flag=True, help="Print release.json instead of tables.")
@click.option(
    "--days", type=int, help="How many days of typing count (T); with DATA, the last ones  [default: the profile's, 60]"
)
def discover(data: Sequence[Path], as_json: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Find the new words of a population.

    DATA is a CSV, TSV, JSON lines or Parquet file with the columns user and word, and optionally count and day: a file,
    several files, a pattern in quotes, a folder of Parquet files, or - for the standard input. Without DATA, the
    users are simulated, with the real word frequencies of a language. If a release of DATA could cost a person a
    central ε above 10, the command stops before anyone is asked, unless --yes accepts it.
    """
    # Mistakes are found before anything that takes long to import.
    wanted = _check_arguments(data, options)
    check_rows(data, options, wanted.parameters.days)
    from neologue.cli.discovery.result_files import next_step, write_results
    from neologue.cli.discovery.tables import show_discovery
    from neologue.cli.terminal import show_progress
    from neologue.discovery.decision import no_trace
    from neologue.privacy.statement import Exposure
    from neologue.release.codec import release_text
    from neologue.release.foreseen import foreseen_facts
    from neologue.release.signature import private_key, sign_document
    from neologue.reporting.extra import can_report
    from neologue.reporting.files import check_folder
    from neologue.reporting.simulated_release import discovery_document
    from neologue.simulation.discovery_run import discover as run
    from neologue.simulation.engines.memory import check_memory
    from neologue.simulation.likely_trace import LikelyTrace
    from neologue.simulation.trie_trace import TrieTrace

    if options["out"]:
        check_folder(options["out"])
    key = private_key(options["sign"]) if options["sign"] else None
    charge = ledger_charge(options["ledger"], options["population"], options["campaign"])
    options["seed"] = _choose_seed(data, options)
    with show_progress(sys.stderr) as progress, _open_engine(options, progress) as engine:
        progress.print_line("Reading words; the first run also compiles, which takes some seconds …")
        campaign, population, measure = read_inputs(data, wanted, engine, options)
        population = population.in_form(campaign.form)
        progress.print_line(population.description)
        for line in level_lines(campaign, options):
            progress.print_line(line)
        check_memory(campaign, engine.threads)
        journal = _open_journal(population, campaign, measure, options)
        set_resume_hint("the same command with --resume goes on" if journal else "with --out, a run can be resumed")
        if not (journal and journal.resumed):
            if data and not options["yes"]:
                require_consent_to(foreseen_facts(campaign, measure, Exposure()))
            charge.plan(campaign, measure)
        kind = TrieTrace if campaign.parameters.layers is None else LikelyTrace
        traced = kind(population.words) if options["out"] and can_report() else None
        discovery = run(
            population,
            campaign,
            fidelity=options["fidelity"],
            seed=options["seed"],
            progress=progress,
            journal=journal,
            trace=traced.trace if traced else no_trace,
            engine=engine,
            measure=measure,
        )
        progress.print_line("Computing the privacy statement …")
        charge.settle(discovery.release)
        document = discovery_document(discovery)
        if key:
            document = sign_document(document, key)
        report = _make_report(discovery, document, traced, progress) if traced else None
    # Files first: they are kept even if printing fails.
    folder = options["out"]
    said = write_results(discovery, document, report, folder, name_of_data(data) if data else None) if folder else []
    if journal:
        journal.close()
    if as_json:
        click.echo(release_text(document).encode(), nl=False)
    else:
        show_discovery(discovery, document)
        said.append(next_step(folder, with_report=report is not None))
    for line in said:
        click.echo(line, err=True)


def _check_arguments(data: Sequence[Path], options: dict[str, Any]) -> "Campaign":
    """Refuse options that do not go together; the campaign of the others, without its words."""
    if options["resume"] and not options["out"]:
        raise ParameterError("--resume needs --out, the folder of the unfinished discovery")
    for option in ("sign", "ledger"):
        if data and options[option] and options["seed"] is not None:
            raise ParameterError(
                f"--seed {options['seed']} makes a run on {name_of_data(data)} a simulation without a privacy claim, "
                f"so --{option} has nothing to vouch for; leave out --seed, or --{option}"
            )
    if options["engine"] == "local" and options["address"] is not None:
        raise ParameterError(f"--address {options['address']} is the address of a cluster; add --engine ray")
    return check_options(data, options)


def _make_report(
    discovery: "DiscoveryRun", document: dict[str, Any], traced: "Traced", progress: "LineProgress"
) -> str:
    from neologue.reporting.discovery.discovery_report import discovery_report

    progress.print_line("Drawing the report …")
    return discovery_report(discovery, document, traced, repeating_command(click.get_current_context(), REPEATED))


def _open_journal(
    population: "Population", campaign: "Campaign", measure: "Measuring | None", options: dict[str, Any]
) -> "Journal | None":
    """Open the journal in the folder of --out, if one is given."""
    from neologue.simulation.discovery_run import identity
    from neologue.simulation.journal import Journal

    if not options["out"]:
        return None
    whole = identity(population, campaign, options["fidelity"], options["seed"], measure)
    return Journal(options["out"] / JOURNAL, whole, resume=options["resume"])


def _choose_seed(data: Sequence[Path], options: dict[str, Any]) -> int:
    """The seed of the run: a run on DATA without --seed has a secret one, and goes on with it when it is resumed."""
    from neologue.simulation.discovery_run import choose_seed
    from neologue.simulation.journal import stored_secret_seed

    seed: int | None = options["seed"]
    if seed is None and data and options["resume"]:
        seed = stored_secret_seed(options["out"] / JOURNAL)
    return choose_seed(seed, simulated=not data)


def _open_engine(options: dict[str, Any], progress: "LineProgress") -> "AbstractContextManager[Engine]":
    from neologue.simulation.engines.engine import LocalEngine

    if options["engine"] == "local":
        return LocalEngine()
    from neologue.simulation.engines.ray_engine import RayEngine

    own = options["address"] is None
    progress.print_line("Starting a cluster …" if own else f"Joining the cluster at {options['address']} …")
    return RayEngine(options["address"])
