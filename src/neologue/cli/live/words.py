"""`neologue campaign`: the commands on the words of a released campaign."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.service_client import AS_JSON, NAME, ServiceClient, format_time
from neologue.errors import ParameterError

if TYPE_CHECKING:
    from neologue.release.codec import ReleaseDocument

SHOWN_WORDS = 20
VERDICT_OF = {"accept": "accepted", "reject": "rejected", "hide": "hidden", "reopen": "open"}
VERDICTS = tuple(VERDICT_OF.values())
EXPORTED = ("accepted", "rejected", "open")
FORMATS = {"csv": "csv", "dic": "dic", "aosp": "combined", "json": "json"}
"""The formats of exported words, and how their files end."""
FLAGS = ("personal", "profanity", "near")


@click.command()
@NAME
@AS_JSON
@click.pass_obj
def words(service: ServiceClient, name: str, as_json: bool) -> None:
    """Show the words of a released campaign."""
    from neologue.cli.terminal import print_line, show_table

    found = service.request_json("GET", "campaigns", name, "words")
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = [
        (each["word"], f"{each['estimate']:,.0f}", f"{each['low']:,.0f} – {each['high']:,.0f}")
        for each in found[:SHOWN_WORDS]
    ]
    show_table(f"New words of {name}", ("word", "users", "95 % interval"), rows, numbers=(1, 2))
    print_line(f"{len(found):,} words; neologue campaign export {name} --out DIR writes them all.")


@click.command()
@NAME
@click.option("--hostile", type=click.IntRange(0), default=100, show_default=True, help="How many hostile devices.")
@click.pass_obj
def influence(service: ServiceClient, name: str, hostile: int) -> None:
    """Show how far hostile devices could have moved a released campaign."""
    for sentence in service.request_json("GET", "campaigns", name, "influence", str(hostile))["sentences"]:
        click.echo(sentence)


@click.command()
@NAME
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder for the files.")
@click.option("--verdict", type=click.Choice(EXPORTED), help="Export only words with this verdict.")
@click.option(
    "--format",
    "formats",
    type=click.Choice(FORMATS),
    multiple=True,
    help="File formats, with --verdict  [default: all four]",
)
@click.pass_obj
def export(service: ServiceClient, name: str, out: Path, verdict: str | None, formats: tuple[str, ...]) -> None:
    """Write words.csv, prefixes.csv, a Hunspell dictionary, the signed release.json and layers.zip, what was asked.

    With --verdict, write the reviewed words instead: accepted.csv, accepted.dic with accepted.aff, the AOSP word list
    accepted.combined and accepted.json. Hidden words are never written, except to release.json and layers.zip,
    which are signed as a whole.
    """
    from neologue.reporting.files import check_folder, write_files, write_texts

    if verdict is None:
        if formats:
            raise ParameterError("--format goes with --verdict, such as --verdict accepted")
        check_folder(out)
        for path in write_files(*_read_release(service, name), out):
            click.echo(f"wrote {path}", err=True)
        return
    files = {
        f"{verdict}.{ending}": service.request_text(
            "GET", "campaigns", name, "review", "export", format=kind, verdict=verdict
        )
        for kind, ending in FORMATS.items()
        if kind in (formats or FORMATS)
    }
    if f"{verdict}.dic" in files:
        files[f"{verdict}.aff"] = "SET UTF-8\n"
    check_folder(out, files)
    for path in write_texts(files, out):
        click.echo(f"wrote {path}", err=True)


def fetch_layers(service: ServiceClient, document: "ReleaseDocument") -> list[bytes]:
    """Fetch the documents of the layers of a release, as devices do."""
    from neologue.release.certification.layer_chain import document_digests

    digests = filter(None, document_digests(document).values())
    return [service.request_text("GET", "layers", digest).encode() for digest in digests]


def _read_release(service: ServiceClient, name: str) -> tuple[Any, Any, Any, list[bytes]]:
    """Fetch what a release has but for hidden words and how they begin, the whole document and those of its layers."""
    from neologue.release.codec import decode_release

    text = service.request_text("GET", "campaigns", name, "release")
    document = decode_release(text.encode(), f"the release of {name}")
    shown = {each["word"] for each in service.request_json("GET", "campaigns", name, "words")}
    hidden = [word.word for word in document.words if word.word not in shown]
    words = [word for word in document.words if word.word in shown]
    prefixes = [kept for kept in document.prefixes if not any(word.startswith(kept.prefix) for word in hidden)]
    return words, prefixes, document.whole, fetch_layers(service, document)


@click.command()
@NAME
@click.option("--accept", multiple=True, metavar="WORD", help="Accept a word; may be given many times.")
@click.option("--reject", multiple=True, metavar="WORD", help="Reject a word.")
@click.option("--hide", multiple=True, metavar="WORD", help="Hide a word from lists and exports.")
@click.option("--reopen", multiple=True, metavar="WORD", help="Take a verdict back.")
@click.option("--note", default="", help="The reason for the verdict.")
@click.option("--history", "history_of", metavar="WORD", help="Show every verdict on a word.")
@click.option("--search", default="", help="List only words that contain this text.")
@click.option("--verdict", type=click.Choice([*VERDICTS, "any"]), help="List only words with this verdict.")
@click.option("--flag", type=click.Choice([*FLAGS, "any", "none"]), help="List only words with this flag.")
@click.option(
    "--limit", type=click.IntRange(1, 1000), default=SHOWN_WORDS, show_default=True, help="The most words to list."
)
@AS_JSON
@click.pass_obj
def review(
    service: ServiceClient,
    /,
    name: str,
    note: str,
    history_of: str | None,
    as_json: bool,
    **given: Any,  # noqa: ANN401 - the verdicts and filters declared above
) -> None:
    """Accept, reject or hide released words, and note why; or list them with their flags."""
    from neologue.cli.terminal import print_line, show_table

    verdicts = {verdict: given.pop(option) for option, verdict in VERDICT_OF.items()}
    if any(verdicts.values()):
        for verdict, words_ in verdicts.items():
            if words_:
                body = {"words": words_, "verdict": verdict, "note": note}
                decided = service.request_json("POST", "campaigns", name, "review", body=body)
                click.echo(f"{decided['words']:,} {verdict}", err=True)
        return
    if note:
        raise ParameterError("--note is the reason for a verdict: give one, such as --accept WORD")
    if history_of is not None:
        found = service.request_json("GET", "campaigns", name, "review", "history", word=history_of)
        rows: list[tuple[str, ...]] = [
            (format_time(each["at"]), each["verdict"], each["by"], each["note"]) for each in found
        ]
        columns: tuple[str, ...] = ("when", "verdict", "by", "note")
    else:
        filters = {key: value for key, value in given.items() if value is not None}
        listed = service.request_json("GET", "campaigns", name, "review", **filters)
        found = listed["words"]
        rows = [_review_row(each) for each in found]
        columns = ("word", "users", "verdict", "flags", "note")
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif history_of is not None:
        show_table("Verdicts, the latest first", columns, rows)
    else:
        show_table(f"Words of {name}", columns, rows, numbers=(1,))
        print_line(f"{len(found):,} of {listed['total']:,} words; --limit shows more.")


def _review_row(word: dict[str, Any]) -> tuple[str, ...]:
    return (
        word["word"],
        f"{word['estimate']:,.0f}",
        word["verdict"],
        "; ".join(flag["reason"] for flag in word["flags"]),
        word["ruling"]["note"] if word["ruling"] else "",
    )
