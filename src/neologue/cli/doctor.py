"""`neologue doctor` and `neologue backup`: maintenance of a service."""

from contextlib import closing
from pathlib import Path

import click

from neologue.errors import InputError

DATABASE = click.option(
    "--database",
    default="neologue.db",
    show_default=True,
    envvar="NEOLOGUE_DATABASE",
    show_envvar=True,
    help="The database of the service: a file, or postgresql://…",
)
MARKS = {"good": "ok      ", "doubtful": "doubtful", "unsafe": "UNSAFE  "}


@click.command()
@DATABASE
@click.option(
    "--server", envvar="NEOLOGUE_SERVER", show_envvar=True, help="The address under which devices reach the service."
)
@click.pass_context
def doctor(context: click.Context, database: str, server: str | None) -> None:
    """Check a deployment and report errors, warnings and passed checks; exits with 1 if anything is unsafe."""
    from neologue.service.doctor import examine
    from neologue.service.storage.database import open_database

    if not database.startswith(("postgresql:", "postgres:")) and not Path(database.removeprefix("sqlite:///")).exists():
        raise InputError(f"there is no database {database}: start the service once, or name the one it uses")
    with closing(open_database(database)) as opened:
        findings = examine(opened, server)
    for finding in findings:
        click.echo(f"{MARKS[finding.verdict]}  {finding.what}")
    if any(finding.verdict == "unsafe" for finding in findings):
        context.exit(1)


@click.command()
@DATABASE
@click.argument("copy", type=click.Path(path_type=Path))
def backup(database: str, copy: Path) -> None:
    """Write a consistent copy of the database of a running service to a new file.

    To restore it, stop the service and replace the database by the copy. Reports confirmed after the backup are not in
    it and are not sent again, so their layers have fewer reports. For PostgreSQL use pg_dump.

    The keys in the copy are wrapped, and the wrapping key is not in it: keep a copy of that somewhere else.
    """
    from neologue.service.storage.backup import copy_database

    copy_database(database, copy)
    click.echo(f"wrote {copy}", err=True)
