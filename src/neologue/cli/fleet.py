"""`neologue fleet`: many real devices against a service, one's own or one that is started for them."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from neologue.cli.choices import completes, languages
from neologue.cli.group_options import group_options, require_masks
from neologue.cli.remote import Remote
from neologue.errors import InputError, ParameterError

AT_ONCE = 100_000
SHOWN_WORDS = 20
OVER = ("released", "refused", "aborted")
SECONDS_TO_START = 60
GROUPS = ("cohort_size", "smallest_cohort", "dropout", "corruption", "gather_seconds", "stage_seconds")


@click.command()
@click.argument("data", required=False, type=click.Path(path_type=Path))
@click.option("--devices", type=click.IntRange(1), default=3000, show_default=True, help="How many devices.")
@click.option("--server", help="A service  [default: one that is started for this]")
@click.option("--token", envvar="NEOLOGUE_TOKEN", help="The token of an operator of that service.")
@click.option("--campaign", default="fleet", show_default=True, help="Its campaign, which is made if it is not there.")
@click.option("--database", help="Where the service started here keeps its data  [default: a temporary file]")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="How many processes it has.")
@click.option(
    "--language", default="en", show_default=True, shell_complete=completes(languages), help="What is written."
)
@click.option("--word", default="word", show_default=True, help="The column of DATA with the words.")
@click.option("--user", default="user", show_default=True, help="The column of DATA that tells users apart.")
@click.option("--count", help="The column of DATA with how often  [default: count, if there is one]")
@click.option("--known", type=click.Path(path_type=Path), help="A file of known words, instead of the language's.")
@click.option("--epsilon", type=float, help="The local ε of a word  [default: by the number of devices]")
@click.option("--passes", type=int, help="How many tries are grown.")
@click.option(
    "--candidates", type=int, help="The most candidates of a layer  [default: the profile's; 100000 if secure]"
)
@click.option("--measure", "measure_devices", type=int, help="How many of the devices count the words instead.")
@click.option("--batch", type=int, help="The fewest reports that are written together  [default: by the devices]")
@click.option("--seconds", type=float, help="How long a layer waits for reports  [default: by the devices]")
@click.option("--check-in-seconds", type=int, help="When a waiting device asks again  [default: by the number of them]")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="How many run the devices.")
@click.option("--silent", type=float, default=0.0, show_default=True, help="Share of devices that drop out.")
@click.option("--lost", type=float, default=0.0, show_default=True, help="Share of answers that are lost.")
@click.option("--twice", type=float, default=0.0, show_default=True, help="Share of requests that arrive twice.")
@click.option(
    "--restarts", type=float, default=0.0, show_default=True, help="Share of steps with a restart after them."
)
@click.option("--delay", type=float, default=0.0, show_default=True, help="Up to how many seconds a request takes.")
@group_options
@click.option("--gather-seconds", type=float, help="How long a cohort gathers devices  [default: 5]")
@click.option("--stage-seconds", type=float, help="How long its stages wait  [default: 5]")
@click.option("--leaving", type=float, help="Share of devices that leave a cohort  [default: 0]")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the users and the weather alone."
)
@click.option("--out", type=click.Path(path_type=Path), help="A folder for words.csv, words.dic and release.json.")
def fleet(data: Path | None, server: str | None, token: str | None, out: Path | None, **options: Any) -> None:  # noqa: ANN401
    """Run many real devices over real HTTP, until their campaign is over.

    DATA has users and words as for discover; without it, users are drawn who write a language. Without --server a
    service is started on this machine, in a temporary folder, and ended afterwards.
    """
    from neologue.fleet.fleet import Weather
    from neologue.reporting.files import check_folder

    require_masks(options)
    require_willing(options["epsilon"])
    weather = Weather(*(options[name] or 0.0 for name in ("silent", "lost", "twice", "restarts", "delay", "leaving")))
    population = _population(data, options)
    if out:
        check_folder(out)
    if server and not token:
        raise ParameterError("--server needs --token, that of an operator of the service")
    with contextlib.ExitStack() as stack:
        if server is None or token is None:
            server, token = stack.enter_context(_service(options["database"], options["workers"]))
            click.echo(f"a service runs on {server}", err=True)
        _run(Remote(server, token), server, population, weather, out, options)


def _run(remote: Remote, server: str, population: Any, weather: Any, out: Path | None, options: dict[str, Any]) -> None:  # noqa: ANN401
    from neologue.device.policy import Policy
    from neologue.fleet.fleet import run
    from neologue.masking.rules import GroupRules
    from neologue.release.codec import decode_release
    from neologue.reporting.files import write_files

    name, devices = options["campaign"], options["devices"]
    _prepare(remote, options)
    credentials = issued(remote, name, devices)
    policy = Policy(operators=frozenset({bytes.fromhex(remote.ask("GET", "key")["operator"])}))
    seen: list[dict[str, Any]] = []

    def over() -> bool:
        state: str = remote.ask("GET", "campaigns", name)["state"]
        layers = remote.ask("GET", "campaigns", name, "layers")
        for layer in layers[len(seen) :]:
            if layer["state"] == "decided":
                seen.append(layer)
                click.echo(told(layer), err=True)
        return state in OVER

    began = time.monotonic()
    ended = run(
        population,
        credentials,
        server,
        policy,
        weather,
        processes=options["processes"],
        seed=options["seed"],
        group=(options["cohort_size"] or GroupRules.size) if options["aggregation"] == "secure" else 0,
        over=over,
    )
    _await(over)
    found = remote.ask("GET", "campaigns", name)
    if found["state"] != "released":
        raise InputError(f"the campaign {name!r} is {found['state']}: {found['note'] or 'nothing is released'}")
    document = decode_release(remote.text("GET", "campaigns", name, "release").encode(), f"the release of {name}")
    if out:
        for path in write_files(document.words, document.whole, out):
            click.echo(f"wrote {path}", err=True)
    _show(document, population, ended, time.monotonic() - began)


def _prepare(remote: Remote, options: dict[str, Any]) -> None:
    """Make the campaign, if it is not there, and start it, if nobody has."""
    from neologue.language.vocabulary import Vocabulary

    name, devices = options["campaign"], options["devices"]
    there = {each["name"]: each["state"] for each in remote.ask("GET", "campaigns")}
    if name not in there:
        inside = ("epsilon", "passes", "candidates")
        parameters = {key: options[key] for key in inside if options[key] is not None}
        definition: dict[str, Any] = {
            "name": name,
            "devices": devices,
            "language": options["language"],
            "parameters": parameters,
            "layer_seconds": options["seconds"] or max(60, devices / 250),
            "check_in_seconds": options["check_in_seconds"] or max(1, devices // 10_000),
            "batch": options["batch"] or min(100, max(2, devices // 200)),
        }
        if options["aggregation"] == "secure":
            # Votes under masks are sent for every candidate.
            parameters.setdefault("candidates", 100_000)
            definition["aggregation"] = "secure"
            definition |= {"gather_seconds": 5.0, "stage_seconds": 5.0}
            definition |= {name: options[name] for name in GROUPS if options[name] is not None}
        if options["measure_devices"]:
            definition["measure_devices"] = options["measure_devices"]
        if options["known"]:
            definition["known"] = sorted(Vocabulary.from_file(options["known"]).words)
        remote.ask("POST", "campaigns", body=definition)
        there[name] = "draft"
    if there[name] in OVER:
        raise ParameterError(f"the campaign {name!r} is {there[name]}: give --campaign another name")
    if there[name] != "running":
        remote.ask("POST", "campaigns", name, "start")


def require_willing(epsilon: float | None) -> None:
    """Refuse an ε that devices would refuse, every one of them."""
    from neologue.device.policy import Policy

    most = Policy().largest_epsilon
    if epsilon is not None and epsilon > most:
        raise ParameterError(f"devices refuse a local ε above {most:g}, and {epsilon:g} is given: give less")


def issued(remote: Remote, name: str, devices: int) -> list[str]:
    """A credential for each device of a campaign."""
    credentials: list[str] = []
    while len(credentials) < devices:
        wanted = {"count": min(AT_ONCE, devices - len(credentials))}
        credentials += remote.text("POST", "campaigns", name, "credentials", body=wanted).split()
    return credentials


def _population(data: Path | None, options: dict[str, Any]) -> Any:  # noqa: ANN401 - imported when it runs
    from neologue.language.vocabulary import Vocabulary
    from neologue.populations.population import Population
    from neologue.populations.records import Columns

    if data is None:
        known = Vocabulary.from_file(options["known"]) if options["known"] else None
        return Population.embedded(options["language"], options["devices"], known=known, seed=options["seed"])
    columns = Columns(user=options["user"], word=options["word"], count=options["count"])
    return Population.from_file(data, columns, users=options["devices"], seed=options["seed"])


def _await(over: Any) -> None:  # noqa: ANN401
    """Wait for the campaign, whose last devices are done; layers that have waited long enough are closed by time."""
    while not over():
        time.sleep(0.5)


@contextlib.contextmanager
def _service(database: str | None, workers: int) -> Iterator[tuple[str, str]]:
    """A service on this machine, until the end."""
    with tempfile.TemporaryDirectory(prefix="neologue-") as folder, (Path(folder) / "log").open("w+") as written:
        command = [sys.executable, "-m", "neologue", "serve", "--port", "0", "--workers", str(workers)]
        command += ["--database", database or str(Path(folder) / "neologue.db"), "--requests-per-second", "1000000"]
        process = subprocess.Popen(command, stderr=written, stdout=subprocess.DEVNULL)
        try:
            yield _started(process, Path(folder) / "log")
        finally:
            process.terminate()
            process.wait()


def _started(process: "subprocess.Popen[bytes]", log: Path) -> tuple[str, str]:
    """Where the service listens, and the token of its first operator, as it says itself."""
    deadline = time.monotonic() + SECONDS_TO_START
    token = os.environ.get("NEOLOGUE_TOKEN", "")
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # the rest of it is yet to be written
            if line.startswith("operator token"):
                token = line.split()[-1]
            elif "running on " in line:
                address = json.loads(line)["event"].partition("running on ")[2].split()[0]
                # With several workers it says so before the first of them listens.
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{address}/readyz", timeout=SECONDS_TO_START).close()
                    return address, token
        time.sleep(0.1)
    raise InputError(f"the service did not start: {log.read_text()[-500:].strip() or 'it said nothing'}")


def told(layer: dict[str, Any]) -> str:
    """What came of a layer, in one line."""
    facts = layer["facts"]
    if facts is None:
        return f"measured by {layer['reports']:,} devices"
    return (
        f"pass {facts['pass_number']}, layer {facts['layer']}: {facts['reports']:,} reports on {facts['candidates']:,} "
        f"candidates, {facts['kept']:,} prefixes kept, {facts['words']:,} words"
    )


def _show(document: Any, population: Any, ended: Counter[str], seconds: float) -> None:  # noqa: ANN401
    from neologue.cli.display import say, show_table

    held = set(population.words)
    rows = [
        (word.word, f"{word.estimate:,.0f}", f"{word.low:,.0f} – {word.high:,.0f}")
        for word in document.words[:SHOWN_WORDS]
    ]
    show_table("New words", ("word", "users", "95 % interval"), rows, numbers=(1, 2))
    true = sum(word.word in held for word in document.words)
    counts = ", ".join(f"{count:,} {state}" for state, count in ended.most_common())
    say(f"{len(document.words):,} words, {true:,} of which somebody holds; {seconds:,.0f} seconds. Devices: {counts}.")
