"""`neologue certify` and `neologue keygen`: check the claims of a release, and make keys to sign one."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.help_sections import CommandWithExamples
from neologue.cli.log_options import LOG, TRUST, check_trust_has_a_log, read_log
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from neologue.release.certification.certificate import Certification
    from neologue.release.codec import ReleaseDocument
    from neologue.transparency.read_log import ReadLog

FAILED = 1


@click.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue certify found/release.json", "every figure, recomputed"),
        (
            "neologue certify found/release.json --verify operator.key.pub",
            "and the signature, with the public key that the operator gave you",
        ),
        (
            "neologue certify release.json --log https://words.example.org/log --trust trust.txt",
            "and what the operator logged, as witnesses have co-signed it",
        ),
    ),
)
@click.argument("release", type=click.Path(path_type=Path))
@click.option(
    "--verify",
    type=click.Path(path_type=Path),
    help="Require a signature by this public key (the .pub file of neologue keygen).",
)
@click.option(
    "--succession",
    type=click.Path(path_type=Path),
    help="The keys that have replaced it since: the file that `neologue key show --out` writes.",
)
@click.option("--recovery", help="The digest of the recovery key, in hex, if the succession revokes a key.")
@click.option(
    "--layers",
    type=click.Path(path_type=Path),
    help="The documents of its layers  [default: layers.zip in the folder of RELEASE]",
)
@LOG
@TRUST
@click.option(
    "--measurement",
    nargs=2,
    metavar="IMAGE ROOT",
    help="Require evidence in the log that the service ran this image on real hardware: its measurement, and the "
    "SHA-256 of the vendor's root certificate, in hex.",
)
@click.option("--json", "as_json", is_flag=True, help="Print every claim as JSON instead of a table.")
@click.pass_context
def certify(
    context: click.Context,
    release: Path,
    verify: Path | None,
    succession: Path | None,
    recovery: str | None,
    layers: Path | None,
    log: str | None,
    trust: Path | None,
    measurement: tuple[str, str] | None,
    as_json: bool,
) -> None:
    """Recompute the privacy statement of RELEASE, a release.json, from its facts and the documents of its layers.

    What devices were asked, and under which ε, is taken from the documents, without which nothing is certified. What
    rests on the operator's word alone is listed. A simulation with a known seed makes no privacy claim; of it, only
    the arithmetic is checked.

    With --log, every event of the campaign must be in the operator's log: which layers were asked, in which order, and
    that this is its only release.

    Exits with 1 if a claim is not covered or a document is missing, and with 2 if a file can't be read.
    """
    # Mistakes are found before anything that takes long to import.
    check_trust_has_a_log(log, trust)
    if measurement is not None and log is None:
        raise ParameterError("--measurement is about evidence in the log: give the log with --log")
    if verify is None and succession is not None:
        raise ParameterError("--succession continues a key that you trust: give that with --verify")
    release.open("rb").close()

    from neologue.release.certification.certificate import certify as check_claims
    from neologue.release.certification.logged_campaign import (
        certify_with_log,
        logged_documents,
        software_said,
        wrong_evidence,
    )
    from neologue.release.codec import read_release_file
    from neologue.release.key_file import read_succession
    from neologue.release.signature import public_key, signing_key
    from neologue.transparency.read_log import ReadLog

    key = public_key(verify) if verify else None
    document = read_release_file(release)
    if key is not None and succession is not None:
        key = signing_key(document.whole, key, read_succession(succession), recovery)
    archive, digests, documents = read_layers(document, release, layers)
    shown = None if log is None else read_log(log, trust)
    if isinstance(shown, ReadLog) and not archive.exists():
        documents = logged_documents(document, shown)
    certification = check_claims(document, documents, key)
    if isinstance(shown, ReadLog):
        certification = certify_with_log(certification, document, shown)
        missing = None if measurement is None else wrong_evidence(document, shown, *map(_parse_hex, measurement))
        if missing is not None:
            certification = replace(certification, objections=(*certification.objections, f"the log: {missing}"))
    elif shown is not None:
        certification = replace(certification, objections=(*certification.objections, shown))
    if as_json:
        click.echo(json.dumps(_as_json(certification), ensure_ascii=False, indent=1))
    else:
        if len(documents) < len(digests):
            click.echo(f"{len(documents)} of {len(digests)} layer documents are in {_printable(str(archive))}.")
        _show(certification, document.privacy, signed="signature" in document.whole, verified=key is not None)
        if isinstance(shown, ReadLog) and certification.passed:
            click.echo(_describe_log(shown))
            software = software_said(document, shown) or "nothing that the log still has"
            click.echo(f"The software that made it, by the service's own word: {_printable(software)}.")
    if not certification.passed:
        context.exit(FAILED)


def _parse_hex(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise ParameterError(f"a measurement and the digest of a root are hexadecimal, not {text[:80]!r}") from None


def _describe_log(log: "ReadLog") -> str:
    witnesses = ", ".join(log.cosigners) or "no witness that you trust"
    return (
        f"In the log {log.checkpoint.origin}, of {log.checkpoint.size:,} entries, co-signed by {witnesses}: the "
        "campaign, its layers one after the other, and this release, the only one."
    )


def read_layers(
    document: "ReleaseDocument", release: Path, layers: Path | None
) -> "tuple[Path, list[str], Mapping[str, bytes]]":
    """The archive of a release's layer documents, the digests that it should have, and those that it has."""
    from neologue.release.certification.layer_chain import document_digests
    from neologue.release.layer_archive import NAME, read_documents

    archive = layers or release.parent / NAME
    digests = [digest for digest in document_digests(document).values() if digest is not None]
    return archive, digests, read_documents(archive, digests)


def _as_json(certification: "Certification") -> dict[str, object]:
    from neologue.release.certification.certificate import claim_rows

    return {
        "passed": certification.passed,
        "simulated": certification.simulated,
        "objections": list(certification.objections),
        "claims": claim_rows(certification),
        "warnings": list(certification.warnings),
        "operator_word": [asdict(word) for word in certification.operator_word],
    }


def _show(certification: "Certification", statement: "Mapping[str, Any]", *, signed: bool, verified: bool) -> None:
    from neologue.cli.discovery.tables import show_colluders
    from neologue.cli.terminal import show_facts, show_table
    from neologue.privacy.colluders import cost_by_colluders
    from neologue.privacy.scale import grade
    from neologue.reporting.short_facts import Fact, planting_facts, rare_facts

    rows = [
        (
            _printable(claim.name.replace("_", " ")),
            _format_value(claim.stated),
            _format_value(claim.recomputed),
            "yes" if claim.covered else "NO",
        )
        for claim in certification.claims
        if not claim.covered or (isinstance(claim.recomputed, int | float) and not claim.name.startswith("thresholds."))
    ]
    if rows:
        show_table("Claims", ("claim", "stated", "computed again", "covered"), rows, numbers=(1, 2))
    for objection in certification.objections:
        click.echo(f"Objection: {objection}.")
    for warning in certification.warnings:
        click.echo(f"Warning of the operator: {_printable(warning)}")
    if not certification.passed:
        missing = sum(not claim.covered for claim in certification.claims)
        click.echo(f"NOT CERTIFIED: {missing} claims are not covered, {len(certification.objections)} objections.")
        return
    facts = [*rare_facts(statement), *planting_facts(certification.planting)]
    if certification.facts:
        show_colluders(certification.facts)
        assumed = next(
            cost for cost in cost_by_colluders(certification.facts) if cost.share == certification.facts.colluders
        )
        judged = f"{grade(assumed.item).words} of a word, {grade(assumed.user).words} of a whole user"
        facts = [Fact("judged", judged), *facts]
    show_facts("Privacy", facts)
    click.echo()
    click.echo("What rests on the operator's word alone:")
    for word in certification.operator_word:
        click.echo(f"- {word.name}: {word.claim} (who could notice a lie: {word.noticed_by})")
    signature = "signature verified" if verified else "signed, signature not verified" if signed else "not signed"
    if certification.simulated:
        click.echo(
            f"A simulation with a known seed: no privacy claim. All {len(certification.claims)} figures follow from "
            f"the facts of the release and the documents of its layers ({signature})."
        )
        return
    click.echo(
        f"Certified: all {len(certification.claims)} claims follow from the facts of the release and the documents of "
        f"its layers ({signature})."
    )


def _format_value(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else _printable(str(value))


def _printable(text: str) -> str:
    """Replace characters that could control a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)


@click.command(
    cls=CommandWithExamples,
    examples=(
        ("neologue keygen operator.key", "a key that signs releases; operator.key.pub is for everyone"),
        ("neologue keygen --recovery recovery.key", "a key for emergencies, made before the first device is shipped"),
    ),
)
@click.option("--recovery", is_flag=True, help="A recovery key, which revokes an operator key that was stolen.")
@click.argument("path", type=click.Path(path_type=Path))
def keygen(path: Path, recovery: bool) -> None:
    """Make a key pair that signs releases: keep PATH secret, and give PATH.pub to everyone.

    With --recovery, the pair revokes a service's operator key. Keep PATH and a copy of it on machines without a
    service, register PATH.pub with `neologue key recovery`, and let devices pin the printed digest from the start.
    """
    from neologue.protocol.succession import recovery_digest
    from neologue.release.signature import generate_key, public_key

    private, public = generate_key(path)
    what = "revokes: keep it offline" if recovery else "signs: keep it secret"
    click.echo(f"wrote {private}, which {what}", err=True)
    click.echo(f"wrote {public}, which verifies: give it to everyone", err=True)
    if recovery:
        click.echo(recovery_digest(public_key(public).public_bytes_raw()).hex())
