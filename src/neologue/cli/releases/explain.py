"""`neologue explain` and `neologue registry`: a release for lawyers, and for the public registry of deployments."""

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from neologue.cli.help_sections import CommandWithExamples
from neologue.errors import ParameterError, ReleaseError

if TYPE_CHECKING:
    from neologue.release.codec import ReleaseDocument

RELEASE = click.argument("release", type=click.Path(path_type=Path))


@click.command(
    cls=CommandWithExamples,
    examples=(("neologue explain found/release.json --out privacy.html", "a page to print and to discuss"),),
)
@RELEASE
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("privacy.html"), show_default=True, help="The page."
)
def explain(release: Path, out: Path) -> None:
    """Write one page for privacy and legal review of RELEASE, a release.json.

    The page says what was collected, what anyone can learn, how that compares with published deployments, and what is
    kept. It has an outline of an impact assessment and a consent text to start from. It can be printed, and loads
    nothing from elsewhere.
    """
    from neologue.reporting.legal_page import legal_page

    _write(out, legal_page(_read_covered(release)))


@click.command(
    cls=CommandWithExamples,
    examples=(
        (
            "neologue registry release.json --name Keys --curator Ex --region EU --published 2026-01-31 --author Ada",
            "a draft of an entry, in deployment.yaml",
        ),
    ),
)
@RELEASE
@click.option("--name", required=True, help="The name of the deployment.")
@click.option("--curator", required=True, help="Who publishes it.")
@click.option("--region", required=True, help="The region whose people took part, or whose law applies.")
@click.option("--published", required=True, help="The day on which it was published, such as 2026-01-31.")
@click.option("--author", required=True, help="Who writes the entry.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("deployment.yaml"), show_default=True, help="The entry."
)
def registry(release: Path, name: str, curator: str, region: str, published: str, author: str, out: Path) -> None:
    """Write RELEASE as an entry for OpenDP's public registry of deployments.

    The entry is a draft: read it, and propose it to the registry yourself.
    """
    from neologue.reporting.registry_entry import Publication, registry_entry, to_yaml

    try:
        date.fromisoformat(published)
    except ValueError as error:
        raise ParameterError(f"--published is a day such as 2026-01-31, not {published!r}") from error
    about = Publication(name, curator, region, published, author)
    _write(out, to_yaml(registry_entry(_read_covered(release), about)) + "\n")


def _read_covered(path: Path) -> "ReleaseDocument":
    """A release whose claims follow from its facts: others would read them as if they did."""
    from neologue.release.certification.certificate import certify
    from neologue.release.codec import read_release_file

    document = read_release_file(path)
    claims = certify(document, {}).claims
    if document.whole.get("digest") != document.digest or not claims or not all(claim.covered for claim in claims):
        raise ReleaseError(
            f"what {path} claims does not follow from its facts: `neologue certify {path}` says what is wrong"
        )
    return document


def _write(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    click.echo(f"wrote {path}", err=True)
