"""`neologue study`: repeat the paper, compare methods, and measure what each parameter is worth."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue import __version__
from neologue.cli.data_options import data_options, read_columns
from neologue.cli.discovery.discover import LARGEST_SEED
from neologue.cli.help_sections import CommandGroup
from neologue.cli.shared_options import KNOWN, LANGUAGE, LanguageName, complete_from, language_names

if TYPE_CHECKING:
    from neologue.language.vocabulary import Vocabulary
    from neologue.populations.population import Population

PAPER_EPSILONS = {False: (4.0, 6.0, 8.0, 10.0, 12.0), True: (8.0, 10.0)}
PAPER_USERS = {False: 15_000_000, True: 300_000}
COMPARED_EPSILONS = {False: (4.0, 6.0, 8.0, 10.0), True: (8.0, 10.0)}
COMPARED_USERS = {False: (100_000, 300_000, 1_000_000), True: (50_000,)}
ABLATED_USERS = {False: 1_000_000, True: 50_000}
"""Defaults of the studies: in full (False) and with --quick (True)."""


def _methods() -> tuple[str, ...]:
    from neologue.studies.compare import METHODS

    return tuple(METHODS)


def _factors() -> tuple[str, ...]:
    from neologue.studies.factors import factors

    return tuple(factor.key for factor in factors())


def _study_options(study: Callable[..., None]) -> Callable[..., None]:
    """Add the options of every study."""
    for option in reversed(
        (
            click.option(
                "--quick", is_flag=True, help="A smaller study that takes a minute or two; its results are marked."
            ),
            click.option(
                "--seed",
                type=click.IntRange(0, LARGEST_SEED >> 1),
                default=0,
                show_default=True,
                help="The first seed; the same seed gives the same results.",
            ),
            click.option(
                "--seeds",
                type=click.IntRange(1, 1000),
                help="Number of seeds; more make the intervals narrower  [default: 3; fewer with --quick]",
            ),
            click.option("--depth", type=int, default=15, show_default=True, help="The longest word that counts (D)."),
            click.option("--out", type=click.Path(path_type=Path), help="Folder for study.json and report.html."),
            click.option("--resume", is_flag=True, help="Continue the unfinished study in the folder of --out."),
            click.option("--json", "as_json", is_flag=True, help="Print study.json instead of tables."),
        )
    ):
        study = option(study)
    return study


def _default_text(values: Mapping[bool, Any]) -> str:
    """The defaults of an option, as its help shows them."""

    def shown(value: object) -> str:
        return (
            ", ".join(f"{each:,g}" if isinstance(each, float) else f"{each:,}" for each in value)
            if isinstance(value, tuple)
            else f"{value:,}"
        )

    return f"[default: {shown(values[False])}; quick: {shown(values[True])}]"


@click.group(cls=CommandGroup)
def study() -> None:
    """Repeat the paper, compare methods, or measure what each parameter is worth."""


@study.command()
@click.option("--users", type=int, help=f"Users of a run  {_default_text(PAPER_USERS)}")
@click.option(
    "--epsilon",
    "epsilons",
    type=float,
    multiple=True,
    help=f"A point of the figure; may be repeated  {_default_text(PAPER_EPSILONS)}",
)
@_study_options
def paper(quick: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Repeat the paper's figure, table and production run.

    Shows measured figures beside the published ones. The users are simulated, not Gboard's.
    """
    from neologue.cli.studies.run import StudyCommand, check_output_options, run_study
    from neologue.cli.studies.tables import show_paper
    from neologue.studies.paper import PaperResult, PaperRun, PaperStudy, reproduce
    from neologue.studies.reproduction import Reproduction

    check_output_options(options)
    seeds = _seeds(options, 2 if quick else 3)
    wanted = PaperStudy(
        users=PAPER_USERS[quick] if options["users"] is None else options["users"],
        seeds=seeds,
        epsilons=options["epsilons"] or PAPER_EPSILONS[quick],
        beyond_table=1 if quick else len(seeds),
        depth=options["depth"],
    )

    def describe_run(run: PaperRun) -> tuple[str, int]:
        setting = run.setting
        passes = "1 pass" if setting.passes == 1 else f"{setting.passes} passes"
        return f"{setting.sampler}, {passes}, ε = {setting.epsilon:g}, {setting.words}, seed {run.seed}", wanted.users

    def describe_result(result: PaperResult) -> str:
        return f"{result.words:,} words cover {result.coverage:.1%}"

    work = StudyCommand(
        identity=_identity("paper", quick, asdict(wanted)),
        quick=f"Quick: {wanted.users:,} users, figures are not the paper's." if quick else None,
        runs=wanted.runs,
        begin=lambda done, advance: reproduce(wanted, done=done, advance=advance),
        read=PaperResult.from_dict,
        describe_run=describe_run,
        describe_result=describe_result,
        body=lambda results: Reproduction(wanted, results).as_dict(),
    )

    def report(document: dict[str, Any], command: str) -> str:
        from neologue.reporting.studies.paper_report import paper_report

        return paper_report(document, command)

    run_study(work, options, report, show_paper)


@study.command()
@data_options
@click.option(
    "--method",
    "methods",
    multiple=True,
    shell_complete=complete_from(_methods),
    help="A method to compare; may be repeated  [default: all]",
)
@click.option(
    "--epsilon", "epsilons", type=float, multiple=True, help=f"May be repeated  {_default_text(COMPARED_EPSILONS)}"
)
@click.option(
    "--users",
    type=int,
    multiple=True,
    help=f"How many are asked; may be repeated  {_default_text(COMPARED_USERS)[:-1]}; all of DATA]",
)
@click.option(
    "--model", type=click.Choice(["local", "central"]), default="local", show_default=True, help="The trust model of ε."
)
@click.option(
    "--unit",
    type=click.Choice(["item", "user"]),
    default="item",
    show_default=True,
    help="What ε protects: a word or a user.",
)
@click.option("--delta", type=float, default=1e-10, show_default=True, help="The δ of central figures.")
@click.option("--top", type=int, default=1000, show_default=True, help="The K of F1@K, and of methods that need one.")
@LANGUAGE
@KNOWN
@_study_options
def compare(data: Sequence[Path], quick: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Compare methods on the same users with the same privacy.

    DATA is a file of users and words as for `neologue discover`; without it, users are simulated.
    """
    from neologue.campaign.profiles import NEOLOGUE
    from neologue.cli.studies.run import StudyCommand, check_output_options, run_study
    from neologue.cli.studies.tables import show_comparison
    from neologue.cli.terminal import show_progress
    from neologue.language import builtin
    from neologue.language.vocabulary import Vocabulary
    from neologue.language.word_form import WordForm, without_capitals
    from neologue.studies.compare import METHODS, Comparison, ComparisonResult, ComparisonRun, Study
    from neologue.studies.compare import compare as run_all
    from neologue.studies.side_by_side import side_by_side

    check_output_options(options)
    language = builtin.check_language(options["language"])
    wanted = Study(
        methods=options["methods"] or tuple(METHODS),
        epsilons=options["epsilons"] or COMPARED_EPSILONS[quick],
        users=options["users"] or COMPARED_USERS[quick],
        seeds=_seeds(options, 1 if quick else 3),
        **{name: options[name] for name in ("model", "unit", "delta", "depth", "top")},
    )
    with show_progress(sys.stderr) as progress:
        progress.print_line("Reading words …")
        known = Vocabulary.from_file(options["known"]) if options["known"] else builtin.vocabulary(language)
        population = _read_population(data, max(wanted.users), known, options)
        # All methods find words of one form, that of the default profile.
        alphabet = without_capitals(builtin.alphabet(language))
        form = WordForm.chosen(NEOLOGUE.parameters.case, NEOLOGUE.parameters.punctuation, alphabet)
        known, population = known.in_form(form), population.in_form(form)
        progress.print_line(population.description)
    if data and not options["users"]:
        most = max(COMPARED_USERS[quick]) if quick else population.users
        wanted = replace(wanted, users=(min(population.users, most),))
    # Refuse everything that can be refused before a folder is created.
    run_all(population, wanted, alphabet=alphabet, known=known)

    def describe_run(run: ComparisonRun) -> tuple[str, int]:
        return f"{run.method}, ε = {run.epsilon:g}, {run.users:,} users, seed {run.seed}", run.users

    def describe_result(result: ComparisonResult) -> str:
        found = result.outcome
        return f"{found.words:,} words cover {found.coverage:.1%}" if found else f"not possible: {result.refusal}"

    def body(results: tuple[ComparisonResult, ...]) -> dict[str, Any]:
        comparison = Comparison(wanted, population.description, results)
        whole = comparison.as_dict()
        return {"asked": whole.pop("study"), **side_by_side(comparison), **whole}

    inputs = {"population": population.digest, "alphabet": alphabet.characters, "known": known.digest}
    work = StudyCommand(
        identity=_identity("compare", quick, asdict(wanted) | inputs),
        quick=f"Quick: {max(wanted.users):,} users; the full study asks up to {max(COMPARED_USERS[False]):,}."
        if quick
        else None,
        runs=wanted.runs,
        begin=lambda done, advance: run_all(
            population, wanted, alphabet=alphabet, known=known, done=done, advance=advance
        ),
        read=ComparisonResult.from_dict,
        describe_run=describe_run,
        describe_result=describe_result,
        body=body,
    )

    def report(document: dict[str, Any], command: str) -> str:
        from neologue.reporting.studies.comparison_report import comparison_report

        return comparison_report(document, command)

    run_study(work, options, report, show_comparison)


@study.command()
@click.option("--users", type=int, help=f"Users of a run, unless their number varies  {_default_text(ABLATED_USERS)}")
@click.option(
    "--factor",
    "factors",
    multiple=True,
    shell_complete=complete_from(_factors),
    help="What to vary, such as words-per-user; may be repeated  [default: everything]",
)
@click.option(
    "--language",
    "languages",
    type=LanguageName(),
    multiple=True,
    shell_complete=complete_from(language_names),
    help="A language to try beside English; may be repeated  [default: seven of them; quick: one]",
)
@click.option(
    "--size",
    "sizes",
    type=int,
    multiple=True,
    help="A number of users to try; may be repeated  [default: 10,000 to 15,000,000; quick: 10,000]",
)
@_study_options
def ablation(quick: bool, **options: Any) -> None:  # noqa: ANN401 - click passes what is declared above
    """Measure what each parameter of the profile neologue is worth, by changing one at a time."""
    from neologue.cli.studies.run import StudyCommand, check_output_options, run_study
    from neologue.cli.studies.tables import show_ablation
    from neologue.studies.ablation import Ablation, AblationResult, AblationRun, AblationStudy, ablate
    from neologue.studies.factors import LANGUAGES, SIZES, factors, select_factors

    check_output_options(options)
    offered = factors(
        options["languages"] or (("id",) if quick else LANGUAGES), options["sizes"] or (SIZES[:1] if quick else SIZES)
    )
    tried = select_factors(options["factors"], offered)
    if quick:
        tried = tuple(
            factor if factor.name in {"population", "language"} else replace(factor, others=factor.others[:1])
            for factor in tried
        )
    wanted = AblationStudy(
        factors=tried,
        users=ABLATED_USERS[quick] if options["users"] is None else options["users"],
        seeds=_seeds(options, 1 if quick else 3),
        depth=options["depth"],
    )

    def describe_run(run: AblationRun) -> tuple[str, int]:
        changed = [f"{name.replace('_', ' ')} {value}" for name, value in run.changes]
        alphabet = [f"alphabet {run.alphabet}"] if run.alphabet else []
        return ", ".join(
            [*(changed + alphabet or ["as it is"]), run.language, f"{run.users:,} users", f"seed {run.seed}"]
        ), run.users

    def describe_result(result: AblationResult) -> str:
        found = result.found
        return f"{found.words:,} words cover {found.coverage:.1%}" if found else f"not possible: {result.refusal}"

    work = StudyCommand(
        identity=_identity("ablation", quick, asdict(wanted)),
        quick=f"Quick: {wanted.users:,} users and one other way for each choice." if quick else None,
        runs=wanted.runs,
        begin=lambda done, advance: ablate(wanted, done=done, advance=advance),
        read=AblationResult.from_dict,
        describe_run=describe_run,
        describe_result=describe_result,
        body=lambda results: Ablation(wanted, results).as_dict(),
    )

    def report(document: dict[str, Any], command: str) -> str:
        from neologue.reporting.studies.ablation_report import ablation_report

        return ablation_report(document, command)

    run_study(work, options, report, show_ablation)


def _identity(kind: str, quick: bool, asked: Mapping[str, Any]) -> dict[str, object]:
    return {"study": kind, "version": __version__, "quick": quick, **asked}


def _seeds(options: Mapping[str, Any], usual: int) -> tuple[int, ...]:
    return tuple(range(options["seed"], options["seed"] + (options["seeds"] or usual)))


def _read_population(data: Sequence[Path], users: int, known: "Vocabulary", options: Mapping[str, Any]) -> "Population":
    from neologue.populations.piped_input import seekable
    from neologue.populations.population import Population

    columns = read_columns(data, options)
    if not data:
        return Population.embedded(options["language"], users, known=known, seed=options["seed"])
    with seekable(data) as files:
        return Population.from_file(files, columns, seed=options["seed"])
