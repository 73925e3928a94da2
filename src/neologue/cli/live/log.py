"""`neologue log`: the log of a service, written to files."""

from contextlib import closing
from pathlib import Path

import click

from neologue.cli.help_sections import CommandGroup
from neologue.cli.shared_options import DATABASE
from neologue.errors import InputError


@click.group(cls=CommandGroup)
def log() -> None:
    """Show and export the log of what a service has done."""


@log.command()
@DATABASE
def key(database: str) -> None:
    """Print the verifier key of the log, which witnesses and devices are given."""
    from neologue.service.ops.service_keys import public_log_key
    from neologue.service.storage.database_address import open_database
    from neologue.transparency.checkpoint import log_verifier

    with closing(open_database(database)) as opened, opened.reading() as db:
        click.echo(str(log_verifier(public_log_key(db))))


@log.command()
@click.argument("wheel", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def software(wheel: Path) -> None:
    """Print the digest of the package in WHEEL, by which the log of a service that runs it names it."""
    from zipfile import BadZipFile

    from neologue.service.ops.software import package_digest, wheel_files

    try:
        click.echo(package_digest(wheel_files(wheel)))
    except BadZipFile:
        raise InputError(f"{wheel} is no wheel: name the one that you have built or downloaded") from None


@log.command()
@DATABASE
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def export(database: str, folder: Path) -> None:
    """Write the log to FOLDER, as files that any web server can serve and `neologue certify --log FOLDER` reads."""
    from neologue.service.log.log_files import file_paths, read_file
    from neologue.service.storage.database_address import open_database

    written = 0
    with closing(open_database(database)) as opened, opened.reading() as db:
        for path in file_paths(db):
            content = read_file(db, path)
            if content is not None:
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)
                written += 1
    click.echo(f"wrote {written:,} files to {folder}")
