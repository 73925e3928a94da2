"""`neologue fleet`: many real devices against a service, a given one or one that is started for them."""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.data_options import check_rows, data_options, read_columns
from neologue.cli.group_options import group_options, require_masks
from neologue.cli.help_sections import SectionedCommand
from neologue.cli.live.words import fetch_layers
from neologue.cli.service_client import ServiceClient
from neologue.cli.shared_options import EPSILON, KNOWN, LANGUAGE, LAYERS, PASSES
from neologue.errors import InputError, ParameterError

if TYPE_CHECKING:
    from neologue.fleet.fleet import Weather
    from neologue.populations.population import Population
    from neologue.release.codec import ReleaseDocument

AT_ONCE = 100_000
SHOWN_WORDS = 20
OVER = ("released", "refused", "aborted")
SECONDS_TO_START = 60
RESERVE = 0.1
"""The share of the devices of a new campaign that no layer relies on, as the service has it."""
GROUP_OPTIONS = (
    "cohort_size",
    "smallest_cohort",
    "dropout",
    "corruption",
    "corruption_risk",
    "gather_seconds",
    "stage_seconds",
)


@click.command(
    cls=SectionedCommand,
    examples=(
        ("neologue fleet --devices 3000 --epsilon 10", "a service and 3,000 real clients, on this machine"),
        ("neologue fleet typed.csv --devices 2000 --silent 0.1 --lost 0.05", "people of a file, in bad weather"),
        ("neologue fleet --server http://127.0.0.1:8080 --population keyboards", "against your service"),
    ),
)
@data_options
@click.option("--devices", type=click.IntRange(1), default=3000, show_default=True, help="How many devices.")
@click.option("--server", help="The address of a service  [default: start one]")
@click.option("--token", envvar="NEOLOGUE_TOKEN", help="The token of an operator of that service.")
@click.option("--campaign", default="fleet", show_default=True, help="The campaign; created if it does not exist.")
@click.option("--population", help="The population in the service's ledger whose budget pays, if it has one.")
@click.option("--database", help="The database of the started service  [default: a temporary file]")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes of the service.")
@LANGUAGE
@KNOWN
@EPSILON
@PASSES
@LAYERS
@click.option(
    "--candidates", type=int, help="The most candidates in a layer  [default: the profile's; 100000 if secure]"
)
@click.option("--measure-devices", type=int, help="How many devices count the released words instead.")
@click.option("--batch", type=int, help="The fewest reports that are stored together  [default: by --devices]")
@click.option("--seconds", type=float, help="How long a layer waits for reports  [default: by --devices]")
@click.option("--check-in-seconds", type=int, help="When an idle device checks in again  [default: by --devices]")
@click.option("--processes", type=click.IntRange(1), default=2, show_default=True, help="Processes of the devices.")
@click.option("--silent", type=float, default=0.0, show_default=True, help="Share of devices that drop out.")
@click.option("--lost", type=float, default=0.0, show_default=True, help="Share of answers that are lost.")
@click.option("--twice", type=float, default=0.0, show_default=True, help="Share of requests that arrive twice.")
@click.option(
    "--restarts", type=float, default=0.0, show_default=True, help="Share of steps after which a device restarts."
)
@click.option("--delay", type=float, default=0.0, show_default=True, help="The longest delay of a request, in seconds.")
@group_options
@click.option("--gather-seconds", type=float, help="How long a group waits for its devices  [default: 5]")
@click.option("--stage-seconds", type=float, help="How long each stage of a group waits  [default: 5]")
@click.option("--leaving", type=float, help="Share of devices that leave their group  [default: 0]")
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the users and of the failures only."
)
@click.option(
    "--out", type=click.Path(path_type=Path), help="A folder for words.csv, words.dic, release.json and layers.zip."
)
def fleet(data: Sequence[Path], server: str | None, token: str | None, out: Path | None, **options: Any) -> None:  # noqa: ANN401
    """Run many real devices over real HTTP, until their campaign is over.

    DATA has users and words as for discover; without it, users are simulated. Without --server a service is started on
    this machine, in a temporary folder, and stopped afterwards.
    """
    require_masks(options)
    read_columns(data, options)
    check_epsilon_acceptable(options["epsilon"])
    check_rows(data, options)
    if server and not token:
        raise ParameterError("--server needs --token, the token of an operator of the service")
    if server is None and options["database"] is None:
        _check_new_campaign(options)
    from neologue.fleet.fleet import Weather
    from neologue.reporting.files import check_folder

    weather = Weather(*(options[name] or 0.0 for name in ("silent", "lost", "twice", "restarts", "delay", "leaving")))
    population = _read_population(data, options)
    if out:
        check_folder(out)
    with contextlib.ExitStack() as stack:
        if server is None or token is None:
            server, token = stack.enter_context(run_service(options["database"], options["workers"]))
            click.echo(f"a service runs on {server}", err=True)
        _run(ServiceClient(server, token), server, population, weather, out, options)


def _run(
    service: ServiceClient,
    server: str,
    population: "Population",
    weather: "Weather",
    out: Path | None,
    options: dict[str, Any],
) -> None:
    from neologue.fleet.fleet import run, simulated_policy
    from neologue.masking.rules import GroupRules
    from neologue.protocol.documents import read_layer
    from neologue.release.codec import decode_release
    from neologue.reporting.files import write_files

    name, devices = options["campaign"], options["devices"]
    _prepare(service, options)
    credentials = issue_credentials(service, name, devices)
    policy = simulated_policy(bytes.fromhex(service.request_json("GET", "key")["operator"]))
    seen: list[dict[str, Any]] = []

    def over() -> bool:
        state: str = service.request_json("GET", "campaigns", name)["state"]
        layers = service.request_json("GET", "campaigns", name, "layers")
        for layer in layers[len(seen) :]:
            if layer["state"] == "decided":
                seen.append(layer)
                click.echo(layer_summary(layer), err=True)
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
    _wait_until(over)
    found = service.request_json("GET", "campaigns", name)
    if found["state"] != "released":
        raise InputError(f"the campaign {name!r} is {found['state']}: {found['note'] or 'nothing is released'}")
    document = decode_release(
        service.request_text("GET", "campaigns", name, "release").encode(), f"the release of {name}"
    )
    layers = fetch_layers(service, document)
    if out:
        for path in write_files(document.words, document.prefixes, document.whole, layers, out):
            click.echo(f"wrote {path}", err=True)
    held = set(map(read_layer(layers[0]).form.of, population.words))
    _show(document, held, ended, time.monotonic() - began)


def _prepare(service: ServiceClient, options: dict[str, Any]) -> None:
    """Create the campaign if it does not exist, and start it if it is not running."""
    from neologue.language.vocabulary import Vocabulary

    name, devices = options["campaign"], options["devices"]
    found = service.request_json("GET", "campaigns")
    if any(each["name"] == name and not each["rehearsal"] for each in found):
        raise ParameterError(
            f"the campaign {name!r} is for people's own devices, and a fleet would pass for people in its release: "
            "give --campaign another name"
        )
    there = {each["name"]: each["state"] for each in found}
    if name not in there:
        from neologue.campaign.privacy_level import PAPER
        from neologue.cli.privacy_option import pilot_line

        inside = ("epsilon", "passes", "layers", "candidates")
        parameters = {"epsilon": PAPER.local_epsilon} | {
            key: options[key] for key in inside if options[key] is not None
        }
        click.echo(pilot_line(parameters["epsilon"]), err=True)
        definition: dict[str, Any] = {
            "name": name,
            "devices": devices,
            "rehearsal": True,
            "language": options["language"],
            "parameters": parameters,
            "layer_seconds": options["seconds"] or max(60, devices / 250),
            "check_in_seconds": options["check_in_seconds"] or max(1, devices // 10_000),
            # Its devices send at once, and wait for those that fall silent.
            "answer_seconds": 5 + 4 * options["delay"],
            "batch": options["batch"] or min(100, max(2, devices // 200)),
            # Nobody is protected by a trial, and nobody has to be: its people are made up, or the operator's own data.
            "accept_weak_privacy": True,
        }
        if options["aggregation"] == "secure":
            # Masked votes are sent for every candidate.
            parameters.setdefault("candidates", 100_000)
            # Under masks each hostile device counts as a group, which layers as small as a trial's have not to spare.
            parameters["hostile_devices"] = 0
            definition["aggregation"] = "secure"
            definition |= {"gather_seconds": 5.0, "stage_seconds": 5.0}
            definition |= {name: options[name] for name in GROUP_OPTIONS if options[name] is not None}
        if options["population"]:
            definition["population"] = options["population"]
        if options["measure_devices"]:
            definition["measure_devices"] = options["measure_devices"]
        if options["known"]:
            definition["known"] = sorted(Vocabulary.from_file(options["known"]).words)
        service.request_json("POST", "campaigns", body=definition)
        there[name] = "draft"
    if there[name] in OVER:
        raise ParameterError(f"the campaign {name!r} is {there[name]}: give --campaign another name")
    if there[name] != "running":
        service.request_json("POST", "campaigns", name, "start")


def _check_new_campaign(options: dict[str, Any]) -> None:
    """Refuse what the service would refuse, before one is started."""
    from neologue.campaign.campaign import Campaign
    from neologue.campaign.privacy_level import PAPER

    inside = {name: options[name] for name in ("passes", "layers", "candidates") if options[name] is not None}
    devices = options["devices"]
    relied = int(devices * (1 - RESERVE)) - (options["measure_devices"] or 0)
    try:
        Campaign.from_profile(users=max(1, relied), epsilon=options["epsilon"] or PAPER.local_epsilon, **inside)
    except ParameterError as error:
        if error.parameter != "users":
            raise
        raise ParameterError(f"{error}; the layers rely on {relied:,} of the {devices:,} devices") from error


def check_epsilon_acceptable(epsilon: float | None) -> None:
    """Refuse an ε that every device would refuse."""
    from neologue.device.policy import Policy

    most = Policy().largest_epsilon
    if epsilon is not None and epsilon > most:
        raise ParameterError(f"devices refuse a local ε above {most:g}, so {epsilon:g} is too large")


def issue_credentials(service: ServiceClient, name: str, devices: int) -> list[str]:
    """Issue a credential for each device of a campaign."""
    credentials: list[str] = []
    while len(credentials) < devices:
        wanted = {"count": min(AT_ONCE, devices - len(credentials))}
        credentials += service.request_text("POST", "campaigns", name, "credentials", body=wanted).split()
    return credentials


def _read_population(data: Sequence[Path], options: dict[str, Any]) -> "Population":
    from neologue.language.vocabulary import Vocabulary
    from neologue.populations.piped_input import seekable
    from neologue.populations.population import Population

    if not data:
        known = Vocabulary.from_file(options["known"]) if options["known"] else None
        return Population.embedded(options["language"], options["devices"], known=known, seed=options["seed"])
    with seekable(data) as files:
        return Population.from_file(files, read_columns(data, options), users=options["devices"], seed=options["seed"])


def _wait_until(over: Callable[[], bool]) -> None:
    """Wait for the end of a campaign whose devices are done: its open layers are closed at their deadline."""
    while not over():
        time.sleep(0.5)


@contextlib.contextmanager
def run_service(database: str | None, workers: int) -> Iterator[tuple[str, str]]:
    """Run a service on this machine; yields its address and the token of its first operator."""
    from neologue.fleet.parent import stop_with_parent

    with tempfile.TemporaryDirectory(prefix="neologue-") as folder, (Path(folder) / "log").open("w+") as written:
        command = [sys.executable, "-m", "neologue", "serve", "--port", "0", "--workers", str(workers)]
        command += ["--database", database or str(Path(folder) / "neologue.db"), "--requests-per-second", "1000000"]
        process = subprocess.Popen(command, stderr=written, stdout=subprocess.DEVNULL, preexec_fn=stop_with_parent())
        try:
            yield _wait_for_service(process, Path(folder) / "log")
        finally:
            process.terminate()
            process.wait()


def _wait_for_service(process: "subprocess.Popen[bytes]", log: Path) -> tuple[str, str]:
    """Wait until the service is ready; its address and the first operator's token are read from its log."""
    deadline = time.monotonic() + SECONDS_TO_START
    token = os.environ.get("NEOLOGUE_TOKEN", "")
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # the line is still being written
            if line.startswith("operator token"):
                token = line.split()[-1]
            elif "running on " in line:
                address = json.loads(line)["event"].partition("running on ")[2].split()[0]
                # With several workers this line comes before the first of them listens.
                with contextlib.suppress(OSError):
                    urllib.request.urlopen(f"{address}/readyz", timeout=SECONDS_TO_START).close()
                    return address, token
        time.sleep(0.1)
    raise InputError(f"the service did not start: {log.read_text()[-500:].strip() or 'its log is empty'}")


def layer_summary(layer: dict[str, Any]) -> str:
    """One line about a decided layer."""
    facts = layer["facts"]
    if facts is None:
        return f"measured by {layer['reports']:,} devices"
    return (
        f"pass {facts['pass_number']}, layer {facts['layer']}: {facts['reports']:,} reports on {facts['candidates']:,} "
        f"candidates, {facts['kept']:,} prefixes kept, {facts['words']:,} words"
    )


def _show(document: "ReleaseDocument", held: set[str], ended: Counter[str], seconds: float) -> None:
    from neologue.cli.terminal import print_line, show_table

    rows = [
        (word.word, f"{word.estimate:,.0f}", f"{word.low:,.0f} – {word.high:,.0f}")
        for word in document.words[:SHOWN_WORDS]
    ]
    show_table("New words", ("word", "users", "95 % interval"), rows, numbers=(1, 2))
    true = sum(word.word in held for word in document.words)
    counts = ", ".join(f"{count:,} {state}" for state, count in ended.most_common())
    print_line(
        f"{len(document.words):,} words, {true:,} of which somebody holds; {seconds:,.0f} seconds. Devices: {counts}."
    )
