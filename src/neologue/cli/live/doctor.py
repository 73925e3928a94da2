"""`neologue doctor` and `neologue backup`: maintenance of a service."""

from contextlib import closing
from pathlib import Path

import click

from neologue.cli.help_sections import CommandWithExamples
from neologue.cli.service_client import TOKEN
from neologue.cli.shared_options import DATABASE
from neologue.errors import InputError

MARKS = {"good": "ok     ", "doubtful": "warning", "unsafe": "ERROR  "}


@click.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue doctor --database words.db --backups backups", "a service on this machine"),
        ("neologue doctor --server https://words.example.org", "by the address that devices use"),
    ),
)
@DATABASE
@click.option(
    "--server", envvar="NEOLOGUE_SERVER", show_envvar=True, help="The address under which devices reach the service."
)
@TOKEN
@click.option(
    "--backups", type=click.Path(exists=True, file_okay=False, path_type=Path), help="The folder that backups are in."
)
@click.option(
    "--witnesses",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The file that names the witnesses of the log, as of `serve --witnesses`.",
)
@click.pass_context
def doctor(
    context: click.Context,
    database: str,
    server: str | None,
    token: str | None,
    backups: Path | None,
    witnesses: Path | None,
) -> None:
    """Check a deployment and report errors, warnings and passed checks; exits with 1 if anything is unsafe.

    With an operator's token, it also asks the service how it is deployed: proxies, file descriptors, privileges.
    """
    from neologue.service.doctor import examine
    from neologue.service.storage.database_address import open_database, read_address

    address = read_address(database)
    if not address.startswith(("postgresql:", "postgres:")) and not Path(address.removeprefix("sqlite:///")).exists():
        raise InputError(f"there is no database {database}: start the service once, or name the one it uses")
    with closing(open_database(database)) as opened:
        findings = examine(opened, server, token, backups, witnesses)
    for finding in findings:
        click.echo(f"{MARKS[finding.verdict]}  {finding.what}")
    if any(finding.verdict == "unsafe" for finding in findings):
        context.exit(1)


@click.command(
    cls=CommandWithExamples,
    examples=(("neologue backup --database words.db backups/today.db", "while the service runs"),),
)
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
