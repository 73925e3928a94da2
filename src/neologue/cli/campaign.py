"""`neologue campaign`: what an operator does to the campaigns of a service, and an analyst reads of them."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from neologue.cli.choices import completes, languages, profiles
from neologue.cli.group_options import group_options, require_masks
from neologue.cli.remote import SERVER, TOKEN, Remote
from neologue.errors import ParameterError

NAME = click.argument("name")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of a table.")
AT_ONCE = 100_000
MOST_SPARE = 100
"""Up to how many times as many credentials as devices are issued: apps give them out before they know who comes."""
SHOWN_WORDS = 20
VERDICT_OF = {"accept": "accepted", "reject": "rejected", "hide": "hidden", "reopen": "open"}
VERDICTS = tuple(VERDICT_OF.values())
EXPORTED = ("accepted", "rejected", "open")
FORMATS = {"csv": "csv", "dic": "dic", "aosp": "combined", "json": "json"}
"""The formats of exported words, and how their files end."""
FLAGS = ("personal", "profanity", "near")


@click.group()
@SERVER
@TOKEN
@click.pass_context
def campaign(context: click.Context, server: str, token: str | None) -> None:
    """Run campaigns on a live service.

    Create one, issue credentials for its devices, start it, and read its words when it is released.
    """
    context.obj = Remote(server, token)


@campaign.command()
@NAME
@click.option("--devices", type=int, required=True, help="How many devices are expected to check in.")
@click.option("--population", help="Whose budget pays, by its name in the service's ledger.")
@click.option(
    "--profile", default="neologue", show_default=True, shell_complete=completes(profiles), help="Parameters."
)
@click.option("--language", shell_complete=completes(languages), help="Brings an alphabet and known words.")
@click.option("--known", type=click.Path(path_type=Path), help="A file of known words, instead of the language's.")
@click.option("--targets", type=click.Path(path_type=Path), help="A file of words: devices contribute these alone.")
@click.option("--epsilon", type=float, help="The local ε of a word  [default: by the number of devices]")
@click.option("--passes", type=int, help="How many tries are grown.")
@click.option("--candidates", type=int, help="The most candidates of a layer.")
@click.option("--k", "k_anonymity", type=int, help="What fewer than k devices of a cohort hold is not shown.")
@click.option("--alpha", type=float, help="How certain that is.")
@click.option("--minimum", "smallest_layer", type=int, help="The fewest reports that decide a layer.")
@click.option("--batch", type=int, help="The fewest reports that are written together.")
@click.option("--hours", type=float, help="How long a layer waits for reports  [default: 168]")
@click.option("--too-few", type=click.Choice(["extend", "end"]), help="What becomes of a layer with too few of them.")
@click.option("--check-in-seconds", type=int, help="When a device with nothing to do asks again  [default: 3600]")
@click.option("--measure", "measure_devices", type=int, help="How many of the devices count the words instead.")
@click.option("--measure-rate", type=float, help="The chance with which each word of theirs comes into a sample.")
@click.option("--reserve", type=float, help="The share of devices that no layer counts on  [default: 0.1]")
@group_options
@click.option("--gather-seconds", type=float, help="How long a cohort waits for its devices  [default: 600]")
@click.option("--stage-seconds", type=float, help="How long each of its stages waits for answers  [default: 120]")
@click.option("--issuer", "issuers", multiple=True, help="The public key, in hexadecimal, of an app's own backend.")
@click.pass_obj
def create(remote: Remote, /, name: str, known: Path | None, targets: Path | None, **given: Any) -> None:  # noqa: ANN401
    """Write a campaign down. Nobody is asked before it is started."""
    from neologue.language.vocabulary import Vocabulary

    require_masks(given)
    inside = ("epsilon", "passes", "candidates", "k_anonymity", "alpha", "smallest_layer")
    definition = {"name": name} | {
        key: value for key, value in given.items() if value not in (None, ()) and key not in (*inside, "hours")
    }
    definition["parameters"] = {key: given[key] for key in inside if given[key] is not None}
    if given["hours"] is not None:
        definition["layer_seconds"] = 3600 * given["hours"]
    if known:
        definition["known"] = sorted(Vocabulary.from_file(known).words)
    if targets:
        definition["targets"] = sorted(Vocabulary.from_file(targets).words)
    _show(remote.ask("POST", "campaigns", body=definition))


@campaign.command(name="list")
@AS_JSON
@click.pass_obj
def list_(remote: Remote, as_json: bool) -> None:
    """List all campaigns."""
    from neologue.cli.display import show_table

    campaigns = remote.ask("GET", "campaigns")
    if as_json:
        click.echo(json.dumps(campaigns, indent=2, ensure_ascii=False))
        return
    rows = [
        (each["name"], each["state"], f"{each['users']:,}", f"{each['epsilon']:g}", _time(each["changed"]))
        for each in campaigns
    ]
    show_table("Campaigns", ("name", "state", "users", "local ε", "since"), rows, numbers=(2, 3))


@campaign.command()
@NAME
@click.pass_obj
def start(remote: Remote, name: str) -> None:
    """Begin a campaign, or go on with one that is paused."""
    _show(remote.ask("POST", "campaigns", name, "start"))


@campaign.command()
@NAME
@click.pass_obj
def pause(remote: Remote, name: str) -> None:
    """Ask nobody, and count nothing, until it is started again."""
    _show(remote.ask("POST", "campaigns", name, "pause"))


@campaign.command()
@NAME
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
@click.pass_obj
def abort(remote: Remote, name: str, yes: bool) -> None:
    """End a campaign without a release. What was collected stays charged."""
    if not (yes or _agreed(f"End the campaign {name} without a release, for good?")):
        raise ParameterError(f"nothing was changed: {name} goes on; say y, or give --yes, to end it")
    _show(remote.ask("POST", "campaigns", name, "abort"))


@campaign.command()
@NAME
@AS_JSON
@click.pass_obj
def status(remote: Remote, name: str, as_json: bool) -> None:
    """Show how far a campaign has come."""
    from neologue.cli.display import show_table

    found, layers = remote.ask("GET", "campaigns", name), remote.ask("GET", "campaigns", name, "layers")
    if as_json:
        click.echo(json.dumps({**found, "layers": layers}, indent=2, ensure_ascii=False))
        return
    _show(found)
    rows = [_row(layer) for layer in layers]
    columns = ("pass", "layer", "state", "candidates", "reports", "of", "kept", "words", "deadline")
    show_table("Layers", columns, rows, numbers=(3, 4, 5, 6, 7))
    for layer in layers:
        for warning in layer["warnings"]:
            click.echo(f"layer {layer['place'] + 1}: {warning}")


@campaign.command()
@NAME
@AS_JSON
@click.pass_obj
def words(remote: Remote, name: str, as_json: bool) -> None:
    """Show the words of a campaign that was released."""
    from neologue.cli.display import say, show_table

    found = remote.ask("GET", "campaigns", name, "words")
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
        return
    rows = [
        (each["word"], f"{each['estimate']:,.0f}", f"{each['low']:,.0f} – {each['high']:,.0f}")
        for each in found[:SHOWN_WORDS]
    ]
    show_table(f"New words of {name}", ("word", "users", "95 % interval"), rows, numbers=(1, 2))
    say(f"{len(found):,} words; neologue campaign export {name} --out DIR writes them all.")


@campaign.command()
@NAME
@click.option("--hostile", type=click.IntRange(0), default=100, show_default=True, help="How many hostile devices.")
@click.pass_obj
def influence(remote: Remote, name: str, hostile: int) -> None:
    """Say how far hostile devices could have moved a released campaign."""
    for sentence in remote.ask("GET", "campaigns", name, "influence", str(hostile))["sentences"]:
        click.echo(sentence)


@campaign.command()
@NAME
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A folder for the files.")
@click.option("--verdict", type=click.Choice(EXPORTED), help="Export the words that reviewers gave this verdict.")
@click.option("--format", "formats", type=click.Choice(FORMATS), multiple=True, help="Of these  [default: all four]")
@click.pass_obj
def export(remote: Remote, name: str, out: Path, verdict: str | None, formats: tuple[str, ...]) -> None:
    """Write words.csv, a Hunspell dictionary and the signed release.json of a campaign.

    With --verdict, write what reviewers made of the words instead: accepted.csv, accepted.dic with accepted.aff, the
    AOSP word list accepted.combined and accepted.json. Words that they have hidden are never written, but to
    release.json, which is signed as a whole.
    """
    from neologue.reporting.files import check_folder, write_files, write_texts

    if verdict is None:
        if formats:
            raise ParameterError("--format goes with --verdict, such as --verdict accepted")
        check_folder(out)
        for path in write_files(*_released(remote, name), out):
            click.echo(f"wrote {path}", err=True)
        return
    files = {
        f"{verdict}.{ending}": remote.text("GET", "campaigns", name, "review", "export", format=kind, verdict=verdict)
        for kind, ending in FORMATS.items()
        if kind in (formats or FORMATS)
    }
    if f"{verdict}.dic" in files:
        files[f"{verdict}.aff"] = "SET UTF-8\n"
    check_folder(out, files)
    for path in write_texts(files, out):
        click.echo(f"wrote {path}", err=True)


def _released(remote: Remote, name: str) -> tuple[Any, Any]:
    """The words of a release that are not hidden, and the whole of it."""
    from neologue.release.codec import decode_release

    text = remote.text("GET", "campaigns", name, "release")
    document = decode_release(text.encode(), f"the release of {name}")
    shown = {each["word"] for each in remote.ask("GET", "campaigns", name, "words")}
    return [word for word in document.words if word.word in shown], document.whole


@campaign.command()
@NAME
@click.option("--accept", multiple=True, metavar="WORD", help="Accept a word; may be given many times.")
@click.option("--reject", multiple=True, metavar="WORD", help="Reject a word.")
@click.option("--hide", multiple=True, metavar="WORD", help="Hide a word from lists and exports.")
@click.option("--reopen", multiple=True, metavar="WORD", help="Take a verdict back.")
@click.option("--note", default="", help="Why.")
@click.option("--history", "history_of", metavar="WORD", help="Show every verdict on a word.")
@click.option("--search", default="", help="Of the list: words with this in them.")
@click.option("--verdict", type=click.Choice([*VERDICTS, "any"]), help="Of the list: by verdict.")
@click.option("--flag", type=click.Choice([*FLAGS, "any", "none"]), help="Of the list: by flag.")
@click.option("--limit", type=click.IntRange(1, 1000), default=SHOWN_WORDS, show_default=True, help="Of the list.")
@AS_JSON
@click.pass_obj
def review(remote: Remote, /, name: str, note: str, history_of: str | None, as_json: bool, **given: Any) -> None:  # noqa: ANN401
    """Accept, reject or hide released words, and note why; or list them with their flags."""
    from neologue.cli.display import say, show_table

    ruled = {verdict: given.pop(option) for option, verdict in VERDICT_OF.items()}
    if any(ruled.values()):
        for verdict, words_ in ruled.items():
            if words_:
                body = {"words": words_, "verdict": verdict, "note": note}
                decided = remote.ask("POST", "campaigns", name, "review", body=body)
                click.echo(f"{decided['words']:,} {verdict}", err=True)
        return
    if note:
        raise ParameterError("--note says why of a verdict: give one, such as --accept WORD")
    if history_of is not None:
        found = remote.ask("GET", "campaigns", name, "review", "history", word=history_of)
        rows: list[tuple[str, ...]] = [(_time(each["at"]), each["verdict"], each["by"], each["note"]) for each in found]
        columns: tuple[str, ...] = ("when", "verdict", "by", "note")
    else:
        asked = {key: value for key, value in given.items() if value is not None}
        listed = remote.ask("GET", "campaigns", name, "review", **asked)
        found = listed["words"]
        rows = [_reviewed(each) for each in found]
        columns = ("word", "users", "verdict", "flags", "note")
    if as_json:
        click.echo(json.dumps(found, indent=2, ensure_ascii=False))
    elif history_of is not None:
        show_table("Verdicts, the latest first", columns, rows)
    else:
        show_table(f"Words of {name}", columns, rows, numbers=(1,))
        say(f"{len(found):,} of {listed['total']:,} words; --limit shows more.")


@campaign.command()
@NAME
@click.option("--count", type=click.IntRange(1), required=True, help="How many devices there are.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A file, one credential a line.")
@click.pass_obj
def credentials(remote: Remote, name: str, count: int, out: Path) -> None:
    """Issue credentials, one for each device. Whoever has one can take part once: keep the file safe."""
    import os

    if out.exists():
        raise ParameterError(f"{out} exists; give another name, credentials are never overwritten")
    devices: int = remote.ask("GET", "campaigns", name)["devices"]
    if count > MOST_SPARE * devices:
        raise ParameterError(
            f"{count:,} credentials are too many for the {devices:,} devices that {name} expects: give a --count of "
            f"{MOST_SPARE * devices:,} at most"
        )
    with os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        try:
            for start_ in range(0, count, AT_ONCE):
                if start_:
                    click.echo(f"{start_:,} of {count:,} credentials are issued", err=True)
                wanted = {"count": min(AT_ONCE, count - start_)}
                file.write(remote.text("POST", "campaigns", name, "credentials", body=wanted))
        except BaseException:
            out.unlink()
            raise
    click.echo(f"wrote {out}", err=True)


@campaign.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A new file for the key, as PEM.")
@click.pass_obj
def key(remote: Remote, out: Path) -> None:
    """Write the public key that devices pin, and that releases are verified with."""
    from neologue.release.signature import write_public_key

    write_public_key(bytes.fromhex(remote.ask("GET", "key")["operator"]), out)
    click.echo(f"wrote {out}", err=True)


def _agreed(question: str) -> bool:
    """Whether somebody says yes; who can't be asked does not."""
    try:
        return click.confirm(question)
    except click.Abort:
        return False


def _show(found: dict[str, Any]) -> None:
    click.echo(
        f"{found['name']}: {found['state']}, {found['users']:,} users of {found['devices']:,} devices, "
        f"ε = {found['epsilon']:g}"
    )
    if found["note"]:
        click.echo(found["note"])


def _row(layer: dict[str, Any]) -> tuple[str, ...]:
    facts = layer["facts"]
    return (
        str(facts["pass_number"]) if facts else "",
        str(facts["layer"]) if facts else "",
        layer["state"],
        f"{layer['candidates']:,}",
        f"{layer['reports']:,}",
        f"{layer['cohort']:,}",
        f"{facts['kept']:,}" if facts else "",
        f"{facts['words']:,}" if facts else "",
        _time(layer["deadline"]) if layer["state"] == "open" else "",
    )


def _reviewed(word: dict[str, Any]) -> tuple[str, ...]:
    return (
        word["word"],
        f"{word['estimate']:,.0f}",
        word["verdict"],
        "; ".join(flag["reason"] for flag in word["flags"]),
        word["ruling"]["note"] if word["ruling"] else "",
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
