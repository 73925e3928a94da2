"""`neologue key`: the keys of a service, and how they are replaced while campaigns run."""

import json
from pathlib import Path
from typing import Any

import click

from neologue.cli.service_client import AS_JSON, SERVER, TOKEN, ServiceClient, ServiceGroup, format_time
from neologue.errors import InputError, ParameterError

KEY_DIGITS = 64


@click.group(cls=ServiceGroup)
@SERVER
@TOKEN
@click.pass_context
def key(context: click.Context, server: str, token: str | None) -> None:
    """Show, replace and revoke the keys of a service."""
    context.obj = ServiceClient(server, token)


@key.command()
@AS_JSON
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write the public key in force and the succession that leads to it to a new file, for devices and certify.",
)
@click.pass_obj
def show(service: ServiceClient, as_json: bool, out: Path | None) -> None:
    """Show the keys of the service, and which of them are in force."""
    from neologue.cli.terminal import show_table

    public = service.request_json("GET", "key")
    if out is not None:
        if out.exists():
            raise InputError(f"{out} exists; give another name, a key is never overwritten")
        out.write_text(json.dumps(public, indent=1) + "\n", "utf-8")
    keys = service.request_json("GET", "keys")
    if as_json:
        click.echo(json.dumps({**public, "keys": keys}, indent=2))
        return
    show_table("Keys", ("purpose", "public key", "state", "wrapped", "since", "until"), [_row(each) for each in keys])
    recovery = public["recovery"] or "none is registered, so a stolen operator key can't be revoked"
    click.echo(f"recovery key: {recovery}")


@key.command()
@click.argument("purpose", type=click.Choice(["operator", "issuer", "ticket"]))
@click.pass_obj
def rotate(service: ServiceClient, purpose: str) -> None:
    """Replace the key in force by a new one, while campaigns go on.

    A new operator key is signed by the old one, and devices follow it when they next check in. Credentials of an old
    issuer key hold until their campaigns are over, tickets of an old ticket key until the next rotation.
    """
    keys = service.request_json("POST", "keys", purpose, "rotate")
    (new,) = (each for each in keys if each["purpose"] == purpose and each["state"] == "in force")
    click.echo(f"rotated the {purpose} key" + (f": {new['public']} is in force" if new["public"] else ""), err=True)


@key.command()
@click.argument("public", type=click.Path(path_type=Path))
@click.pass_obj
def recovery(service: ServiceClient, public: Path) -> None:
    """Register the recovery key, once: PUBLIC is the .pub file that `neologue keygen --recovery` wrote."""
    from neologue.protocol.succession import recovery_digest
    from neologue.release.signature import public_key

    digest = recovery_digest(public_key(public).public_bytes_raw()).hex()
    service.request_json("POST", "keys", "recovery", body={"digest": digest})
    click.echo(f"registered the recovery key {digest}: let devices pin it beside the operator's key", err=True)


@key.command()
@click.pass_obj
def prepare(service: ServiceClient) -> None:
    """Prepare the key that succeeds a key to be revoked, and print its public half, to be signed on another machine."""
    click.echo(service.request_json("POST", "keys", "successor")["operator"])


@key.command()
@click.option(
    "--recovery",
    "recovery_file",
    type=click.Path(path_type=Path),
    help="The private recovery key; it signs on this machine, and is sent nowhere.",
)
@click.option("--statement", type=click.Path(path_type=Path), help="A revocation that was signed elsewhere.")
@click.option("--key", "revoked", help="The operator key to revoke, in hex.  [default: the one in force]")
@click.pass_obj
def revoke(service: ServiceClient, recovery_file: Path | None, statement: Path | None, revoked: str | None) -> None:
    """Revoke an operator key that was stolen: devices never trust it again, whatever it has signed.

    If it is the key in force, a new key succeeds it; if it was replaced before, the key in force does. Devices follow
    when they next check in, if they have pinned the recovery key.
    """
    if (recovery_file is None) == (statement is None):
        raise ParameterError("give --recovery to sign a revocation here, or --statement with one that was signed")
    if statement is not None:
        signed = statement.read_text("utf-8", "replace").strip()
    else:
        assert recovery_file is not None
        present = service.request_json("GET", "key")["operator"]
        stolen = revoked or present
        successor = service.request_json("POST", "keys", "successor")["operator"] if stolen == present else present
        signed = sign(recovery_file, stolen, successor)
    keys = service.request_json("POST", "keys", "revocation", body={"statement": signed})
    (new,) = (each for each in keys if each["purpose"] == "operator" and each["state"] == "in force")
    click.echo(f"revoked; {new['public']} is in force", err=True)


@key.command(name="sign-revocation")
@click.option("--recovery", "recovery_file", type=click.Path(path_type=Path), required=True, help="The recovery key.")
@click.option("--key", "revoked", required=True, help="The operator key to revoke, in hex.")
@click.option("--successor", required=True, help="The key in its place, in hex: what `neologue key prepare` printed.")
def sign_revocation(recovery_file: Path, revoked: str, successor: str) -> None:
    """Print a revocation, for `neologue key revoke --statement`; works on a machine without a network."""
    click.echo(sign(recovery_file, revoked, successor))


def sign(recovery_file: Path, revoked: str, successor: str) -> str:
    """A revocation in hexadecimal."""
    from neologue.protocol.succession import revoke as sign_revocation_of
    from neologue.release.signature import private_key

    keys = (_public_key(revoked), _public_key(successor))
    return bytes(sign_revocation_of(private_key(recovery_file), *keys)).hex()


def _public_key(text: str) -> bytes:
    try:
        content = bytes.fromhex(text)
    except ValueError:
        content = b""
    if len(text) != KEY_DIGITS or not content:
        raise ParameterError(f"an operator's public key must be {KEY_DIGITS} hexadecimal digits, not {text[:200]!r}")
    return content


def _row(each: dict[str, Any]) -> tuple[str, ...]:
    return (
        each["purpose"],
        each["public"] or "–",
        each["state"],
        "yes" if each["wrapped"] else "erased" if each["state"] == "replaced" else "NO",
        *("–" if each[name] is None else format_time(each[name]) for name in ("since", "until")),
    )
