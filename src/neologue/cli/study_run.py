"""How a study is carried out: run after run, with progress, a record to go on from, tables and files."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import click
from click.core import ParameterSource

from neologue.cli.discover import JOURNAL
from neologue.errors import JournalError, ParameterError

if TYPE_CHECKING:
    from neologue.cli.terminal import LineProgress
    from neologue.studies.record import Record

ELSEWHERE = ("out", "resume", "as_json")
"""Options that change nothing about a study, and are left out of the command that repeats it."""

Document = dict[str, Any]


class Finished(Protocol):
    """The result of a run."""

    @property
    def run(self) -> Any:  # noqa: ANN401 - each study has runs of its own
        """What was run."""

    def as_dict(self) -> Document:
        """The result as JSON can hold it."""


Result = TypeVar("Result", bound=Finished)


@dataclass(frozen=True)
class StudyWork(Generic[Result]):
    """A study as the command line sees it."""

    identity: Mapping[str, object]
    """All that its results are a function of."""
    quick: str | None
    """What to say of a study that was shortened."""
    runs: Sequence[Any]
    begin: Callable[[Mapping[Any, Result], Callable[[int], None]], Iterator[Result]]
    """The results, given those that are done and who hears of progress."""
    read: Callable[[Mapping[str, Any]], Result]
    """A result from the record."""
    said: Callable[[Any], tuple[str, int]]
    """The name of a run, and how many users it has."""
    told: Callable[[Result], str]
    """A result in a few words."""
    body: Callable[[tuple[Result, ...]], Document]
    """What all results come to."""


def carry_out(
    work: StudyWork[Any],
    options: Mapping[str, Any],
    report: Callable[[Document, str], str],
    show: Callable[[Document], None],
) -> None:
    """Run a study and leave its files; or refuse before any work is done."""
    from neologue.cli.terminal import show_progress
    from neologue.reporting.extra import EXTRA, can_report
    from neologue.reporting.files import REPORT
    from neologue.reporting.study_files import check_study_folder, study_document, study_text, write_study

    out: Path | None = options["out"]
    if out:
        check_study_folder(out, work.identity)
    with show_progress(sys.stderr) as progress:
        record = _record(out, work.identity, resume=options["resume"])
        document = study_document(work.identity, work.quick, work.body(_results(work, record, progress)))
        page = report(document, _command(click.get_current_context())) if out and can_report() else None
    if out:
        for path in write_study(document, page, out):
            click.echo(f"wrote {path}", err=True)
        if page is None:
            click.echo(f"no new {REPORT}: install what it is made with, {EXTRA}", err=True)
    if record:
        record.close()
    if options["as_json"]:
        click.echo(study_text(document).encode(), nl=False)
    else:
        show(document)


def check_out(options: Mapping[str, Any]) -> None:
    """Refuse what can be seen to be wrong before anything is read."""
    from neologue.reporting.files import check_folder
    from neologue.reporting.study_files import NAMES

    if options["out"]:
        check_folder(options["out"], NAMES)
    elif options["resume"]:
        raise ParameterError("--resume needs --out, the folder in which the study was begun")


def _record(out: Path | None, identity: Mapping[str, object], *, resume: bool) -> "Record | None":
    from neologue.simulation.journal import IDENTITY
    from neologue.studies.record import Record

    if not out:
        return None
    if (out / JOURNAL / IDENTITY).exists():
        raise JournalError(f"{out} has an unfinished discovery; give --out another folder")
    return Record(out / JOURNAL, identity, resume=resume)


def _results(work: StudyWork[Result], record: "Record | None", progress: "LineProgress") -> tuple[Result, ...]:
    """The results of all runs; those on record are not run again."""
    done = {result.run: result for result in map(work.read, record.recall())} if record else {}
    if work.quick:
        progress.say(work.quick)
    progress.say(f"{len(work.runs)} runs" + (f", {len(done)} of them done before" if done else ""))
    results = work.begin(done, progress.on_users)
    finished = []
    for number, run in enumerate(work.runs, 1):
        if run in done:
            finished.append(next(results))
            continue
        name, users = work.said(run)
        progress.start(f"run {number} of {len(work.runs)}: {name}", users)
        result = next(results)
        if record:
            record.keep(number, result.as_dict())
        progress.say(f"{name}: {work.told(result)}")
        finished.append(result)
    return tuple(finished)


def _command(context: click.Context) -> str:
    """The command that makes the same study again, wherever its files are and go."""
    parts = context.command_path.split()
    for parameter in context.command.params:
        name = parameter.name or ""
        if context.get_parameter_source(name) is not ParameterSource.COMMANDLINE or name in ELSEWHERE:
            continue
        value = context.params[name]
        if isinstance(parameter, click.Option) and parameter.is_flag:
            parts.append(parameter.opts[0])
            continue
        for each in value if parameter.multiple else [value]:
            text = each.name if isinstance(each, Path) else str(each)
            parts += [text] if isinstance(parameter, click.Argument) else [parameter.opts[0], text]
    return shlex.join(parts)
