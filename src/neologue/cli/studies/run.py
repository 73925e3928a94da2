"""Running a study from the command line: progress, a record to resume from, tables and files."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import click

from neologue.cli.discovery.discover import JOURNAL
from neologue.cli.repeating_command import repeating_command
from neologue.errors import JournalError, ParameterError

if TYPE_CHECKING:
    from neologue.cli.terminal import LineProgress
    from neologue.studies.record import Record

ELSEWHERE = {"out", "resume", "as_json"}
"""Options that do not change the results, left out of the command that repeats a study."""

Document = dict[str, Any]


class RunResult(Protocol):
    """The result of a run."""

    @property
    def run(self) -> Any:  # noqa: ANN401 - each study has its own type of runs
        """The run."""

    def as_dict(self) -> Document:
        """The result as JSON values."""


Result = TypeVar("Result", bound=RunResult)


@dataclass(frozen=True)
class StudyCommand(Generic[Result]):
    """A study as the command line sees it."""

    identity: Mapping[str, object]
    """Everything that the results depend on."""
    quick: str | None
    """The remark about a study with --quick."""
    runs: Sequence[Any]
    begin: Callable[[Mapping[Any, Result], Callable[[int], None]], Iterator[Result]]
    """Yields the results, given those that are done and a callback for progress."""
    read: Callable[[Mapping[str, Any]], Result]
    """Parses a result from the record."""
    describe_run: Callable[[Any], tuple[str, int]]
    """The name of a run, and its number of users."""
    describe_result: Callable[[Result], str]
    """One phrase about a result."""
    body: Callable[[tuple[Result, ...]], Document]
    """The content of study.json, from all results."""


def run_study(
    work: StudyCommand[Any],
    options: Mapping[str, Any],
    report: Callable[[Document, str], str],
    show: Callable[[Document], None],
) -> None:
    """Run a study, write its files and print its tables."""
    from neologue.cli.terminal import show_progress
    from neologue.reporting.extra import EXTRA, can_report
    from neologue.reporting.files import REPORT
    from neologue.reporting.studies.study_files import check_study_folder, study_document, study_text, write_study

    out: Path | None = options["out"]
    if out:
        check_study_folder(out, work.identity)
    with show_progress(sys.stderr) as progress:
        record = _open_record(out, work.identity, resume=options["resume"])
        document = study_document(work.identity, work.quick, work.body(_run_all(work, record, progress)))
        page = report(document, _command_line()) if out and can_report() else None
    if out:
        for path in write_study(document, page, out):
            click.echo(f"wrote {path}", err=True)
        if page is None:
            click.echo(f"no {REPORT} was written: it needs {EXTRA}", err=True)
    if record:
        record.close()
    if options["as_json"]:
        click.echo(study_text(document).encode(), nl=False)
    else:
        show(document)


def check_output_options(options: Mapping[str, Any]) -> None:
    """Refuse wrong --out and --resume before anything is read."""
    from neologue.reporting.files import check_folder
    from neologue.reporting.studies.study_files import NAMES

    if options["out"]:
        check_folder(options["out"], NAMES)
    elif options["resume"]:
        raise ParameterError("--resume needs --out, the folder of the unfinished study")


def _open_record(out: Path | None, identity: Mapping[str, object], *, resume: bool) -> "Record | None":
    from neologue.simulation.journal import IDENTITY
    from neologue.studies.record import Record

    if not out:
        return None
    if (out / JOURNAL / IDENTITY).exists():
        raise JournalError(f"{out} has an unfinished discovery; give --out another folder")
    return Record(out / JOURNAL, identity, resume=resume)


def _run_all(work: StudyCommand[Result], record: "Record | None", progress: "LineProgress") -> tuple[Result, ...]:
    """Run everything that is not on record; the results of all runs, in order."""
    done = {result.run: result for result in map(work.read, record.recall())} if record else {}
    if work.quick:
        progress.print_line(work.quick)
    progress.print_line(f"{len(work.runs)} runs" + (f", {len(done)} of them done before" if done else ""))
    results = work.begin(done, progress.on_users)
    finished = []
    for number, run in enumerate(work.runs, 1):
        if run in done:
            finished.append(next(results))
            continue
        name, users = work.describe_run(run)
        progress.start(f"run {number} of {len(work.runs)}: {name}", users)
        result = next(results)
        if record:
            record.keep(number, result.as_dict())
        progress.print_line(f"{name}: {work.describe_result(result)}")
        finished.append(result)
    return tuple(finished)


def _command_line() -> str:
    context = click.get_current_context()
    return repeating_command(context, {parameter.name or "" for parameter in context.command.params} - ELSEWHERE)
