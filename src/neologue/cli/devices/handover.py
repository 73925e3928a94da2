"""`neologue device export-request`, `carry` and `answer`: a device without a network, and whoever carries its files."""

from pathlib import Path
from typing import Any

import click

from neologue.cli.devices.client import CERTIFICATES, FOLDER, KEY, SERVER, opened_client, policy_options, print_tick

OUT = click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")


@click.command("export-request")
@FOLDER
@KEY
@policy_options
@OUT
def export_request(folder: Path, key_file: Path | None, out: Path, **options: Any) -> None:  # noqa: ANN401
    """Write what the device asks the service next, for `carry`. Nothing is sent anywhere."""
    _step(folder, key_file, None, out, **options)


@click.command()
@SERVER
@CERTIFICATES
@OUT
@click.argument("request", type=click.Path(path_type=Path))
def carry(server: str, ca_file: Path | None, out: Path, request: Path) -> None:
    """Carry REQUEST, a file of a device, to the service, and write the answer for the device."""
    from neologue.device import HttpTransport
    from neologue.device.network.handover import HandedRequest
    from neologue.device.network.handover import carry as carried

    handed = HandedRequest.parse(_read(request))
    with HttpTransport(server, ca_file=ca_file) as transport:
        out.write_bytes(carried(handed, transport))


@click.command()
@FOLDER
@KEY
@policy_options
@OUT
@click.argument("carried", type=click.Path(path_type=Path))
def answer(folder: Path, key_file: Path | None, out: Path, carried: Path, **options: Any) -> None:  # noqa: ANN401
    """Take the next step with what was CARRIED back, and write what the device asks next. Nothing is sent anywhere."""
    _step(folder, key_file, carried, out, **options)


def _read(path: Path) -> bytes:
    """What is in a file that somebody else has carried, and no more than such a file may have."""
    from neologue.device.network.handover import LARGEST_FILE

    with path.open("rb") as file:
        return file.read(LARGEST_FILE + 1)


def _step(folder: Path, key_file: Path | None, carried: Path | None, out: Path, **options: Any) -> None:  # noqa: ANN401
    """Take one step with files in the place of a network; without anything to ask, no file is left."""
    from neologue.device.network.handover import HandoverTransport

    transport = HandoverTransport(None if carried is None else _read(carried))
    with opened_client(folder, key_file, transport, **options) as client:
        done = client.tick()
    out.unlink(missing_ok=True)
    if transport.pending is not None:
        out.write_bytes(bytes(transport.pending))
        click.echo(f"asks: the request of the device is in {out}; carry it to the service")
        return
    print_tick(done)
