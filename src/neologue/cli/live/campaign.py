"""`neologue campaign`: operators manage the campaigns of a service, analysts read and review their words."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.consent import YES, require_consent
from neologue.cli.group_options import group_options, require_masks
from neologue.cli.help_sections import SectionedCommand
from neologue.cli.live.repeat import repeat
from neologue.cli.live.watch import print_state, status, wait
from neologue.cli.live.words import export, influence, review, words
from neologue.cli.privacy_option import PRIVACY, asked_level, first_epsilon
from neologue.cli.service_client import AS_JSON, NAME, SERVER, TOKEN, ServiceClient, ServiceGroup, format_time
from neologue.cli.shared_options import (
    ALLOCATION,
    ALPHA,
    CANDIDATES,
    CASE,
    CENTRAL_EPSILON,
    CENTRAL_UNIT,
    COLLUDERS,
    DELTA,
    DEPTH,
    EPSILON,
    HOSTILE_DEVICES,
    K_ANONYMITY,
    KNOWN,
    LAYERS,
    PASSES,
    PROFILE,
    PUNCTUATION,
    TARGETS,
    UNIQUE_CHANCE,
    WORDS_PER_USER,
    alphabet_names,
    complete_from,
    language_option,
)
from neologue.errors import ParameterError
from neologue.protocol.limits import LARGEST_CLOSED_VOTE_RATIO

if TYPE_CHECKING:
    from neologue.campaign.privacy_level import PrivacyLevel

AT_ONCE = 100_000
PARAMETERS = (
    *(
        "case",
        "punctuation",
        "epsilon",
        "promised_epsilon",
        "promised_unit",
        "delta",
        "colluders",
        "words_per_user",
        "depth",
        "passes",
        "layers",
        "allocation",
    ),
    *("candidates", "k_anonymity", "alpha", "unique_chance", "hostile_devices", "smallest_layer"),
)
"""The options that change a parameter of the profile."""
MOST_CREDENTIALS_PER_DEVICE = 100
"""Apps hand out credentials before they know who takes part, so more may be issued than there are devices."""


@click.group(cls=ServiceGroup)
@SERVER
@TOKEN
@click.pass_context
def campaign(context: click.Context, server: str, token: str | None) -> None:
    """Run campaigns on a live service.

    Create a campaign, issue credentials for its devices, start it, and read its words when it is released.
    """
    context.obj = ServiceClient(server, token)


for command in (status, wait, repeat, words, influence, export, review):
    campaign.add_command(command)


@campaign.command(
    cls=SectionedCommand,
    examples=(
        ("neologue campaign create spring --devices 2000000 --language en --population keyboards", "a draft"),
        ("neologue campaign create spring --devices 2000000 --central-epsilon 1 --unit user", "with a promise"),
        (
            "neologue campaign create spring --devices 2000000 --allocation drawn --hours 48",
            "layers that hide who came",
        ),
    ),
)
@NAME
@click.option("--devices", type=int, required=True, help="How many devices are expected to check in.")
@click.option("--population", help="The population in the service's ledger whose budget pays; needed if there is one.")
@PROFILE
@language_option(None, "Sets the alphabet and the known words.")
@click.option(
    "--alphabet",
    shell_complete=complete_from(alphabet_names),
    help="A built-in alphabet, with +emoji after its name to include emoji  [default: by language or profile]",
)
@CASE
@PUNCTUATION
@KNOWN
@TARGETS
@PRIVACY
@EPSILON
@CENTRAL_EPSILON
@CENTRAL_UNIT
@DELTA
@COLLUDERS
@WORDS_PER_USER
@DEPTH
@PASSES
@LAYERS
@ALLOCATION
@CANDIDATES
@K_ANONYMITY
@ALPHA
@UNIQUE_CHANCE
@HOSTILE_DEVICES
@click.option(
    "--minimum",
    "smallest_layer",
    type=int,
    help="The fewest reports that decide a layer  [default: the profile's, 100]",
)
@click.option("--batch", type=int, help="The fewest reports that are stored together  [default: 100]")
@click.option("--hours", type=float, help="How long a layer waits for reports  [default: 168]")
@click.option(
    "--too-few",
    type=click.Choice(["extend", "end"]),
    help="What happens to a layer with too few reports  [default: extend]",
)
@click.option("--check-in-seconds", type=int, help="When an idle device checks in again  [default: 3600]")
@click.option(
    "--answer-seconds", type=float, help="How long an invited device keeps its place, 30 or more  [default: 300]"
)
@click.option(
    "--measure-devices",
    type=int,
    help="The number of devices that count the released words.",
)
@click.option("--measure-rate", type=float, help="The chance with which each word of a device that counts is sampled.")
@click.option(
    "--largest-closed-vote-ratio",
    type=float,
    help=f"What the policy of your devices allows of a vote on a listed word  [default: {LARGEST_CLOSED_VOTE_RATIO:g}]",
)
@click.option("--reserve", type=float, help="The share of devices that are kept in reserve  [default: 0.1]")
@group_options
@click.option("--gather-seconds", type=float, help="How long a group waits for its devices  [default: 600]")
@click.option("--stage-seconds", type=float, help="How long each stage of a group waits, 30 or more  [default: 120]")
@click.option("--strikes", type=int, help="How many groups may miss a device until none takes it  [default: 3]")
@click.option("--issuer", "issuers", multiple=True, help="The public key of an app's own backend, in hexadecimal.")
@YES
@click.pass_obj
def create(
    service: ServiceClient,
    /,
    name: str,
    known: Path | None,
    targets: Path | None,
    yes: bool,
    **given: Any,  # noqa: ANN401
) -> None:
    """Create a campaign. No device is asked before the campaign is started.

    A campaign whose release could cost a whole user a central ε above 10 is not created, unless --yes accepts it.
    """
    service.require_token()
    require_masks(given)
    if given["allocation"] == "drawn" and given["hours"] is None:
        raise ParameterError(
            "--allocation drawn ends a layer by its deadline alone: say with --hours how long it waits, or leave out "
            "--allocation, so that layers end when they have enough reports"
        )

    # After what needs nothing slow: a mistake is told at once.
    from neologue.language.vocabulary import Vocabulary
    from neologue.web.price import at_privacy

    apart = (*PARAMETERS, "hours", "privacy")
    definition = {"name": name} | {
        key: value for key, value in given.items() if value not in (None, ()) and key not in apart
    }
    definition["parameters"] = {key: given[key] for key in PARAMETERS if given[key] is not None}
    if given["hours"] is not None:
        definition["layer_seconds"] = 3600 * given["hours"]
    if known:
        definition["known"] = sorted(Vocabulary.from_file(known).words)
    if targets:
        definition["targets"] = sorted(Vocabulary.from_file(targets).words)
    level = asked_level(given, "promised_epsilon")
    if level:
        definition = at_privacy(definition, level.name)
    elif first := first_epsilon(given, level):
        definition["parameters"] |= first
    if yes:
        definition["accept_weak_privacy"] = True
    else:
        _require_consent(definition)
    created = service.request_json("POST", "campaigns", body=definition)
    print_state(created)
    if level:
        _print_level(level, definition)
    if given["aggregation"] == "secure":
        _print_server_privacy(definition)
    if targets:
        click.echo("Devices refuse a list of targets unless their owners allow it (allow_targets).", err=True)
    if definition.get("measure_devices") and not definition.get("rehearsal"):
        click.echo(
            "Devices measure only if witnesses co-sign the log and the devices demand that (quorum), or their owners "
            "allow lists without it (allow_unlogged_lists).",
            err=True,
        )


def _print_level(level: "PrivacyLevel", body: dict[str, Any]) -> None:
    """Say what the level made of the campaign, and what the way in which layers end has to do with it."""
    parameters = body["parameters"]
    click.echo(f"Level {level.name}: {level.promise}; the local ε is {parameters['epsilon']:g}.", err=True)
    if level.user_epsilon is None:
        return
    if parameters.get("allocation") == "drawn":
        click.echo(
            f"Slots hide who was in which layer (allocation drawn): each layer waits {body['layer_seconds'] / 3600:g} "
            "hours, whoever comes. --hours sets that; --allocation filled is quicker, and takes a smaller local ε.",
            err=True,
        )
    else:
        click.echo(
            "Layers end when they have enough reports, so that nobody is hidden by slots (allocation filled): the "
            "promise takes a smaller local ε and finds fewer words than --allocation drawn.",
            err=True,
        )


def _print_server_privacy(body: dict[str, Any]) -> None:
    """Say what the server of a masked campaign learns."""
    from neologue.reporting.short_facts import as_sentences, server_fact
    from neologue.web.price import statement_of

    statement = statement_of(body)
    if statement is None:
        return
    for line in as_sentences(server_fact(statement)):
        click.echo(line)
    if statement["unique_words"]["hostile_devices"]:
        click.echo(
            "Under masks each hostile device that the promise of unique words allows for counts as all votes of its "
            "group, and every word needs as many more: --hostile-devices 0 finds more words, and gives that up."
        )


def _require_consent(body: dict[str, Any]) -> None:
    """Raise an error for a campaign that needs consent; what is wrong with it otherwise, the service says."""
    from neologue.web.price import user_epsilon_of

    epsilon = user_epsilon_of(body)
    if epsilon is not None:
        require_consent(epsilon)


@campaign.command()
@NAME
@click.pass_obj
def delete(service: ServiceClient, name: str) -> None:
    """Delete a draft. Its name can be used again; a campaign that was started can only be aborted."""
    service.request_json("DELETE", "campaigns", name)
    click.echo(f"deleted the draft {name}", err=True)


@campaign.command(name="list")
@AS_JSON
@click.pass_obj
def list_(service: ServiceClient, as_json: bool) -> None:
    """List all campaigns of the service."""
    from neologue.cli.terminal import show_table

    campaigns = service.request_json("GET", "campaigns")
    if as_json:
        click.echo(json.dumps(campaigns, indent=2, ensure_ascii=False))
        return
    rows = [
        (each["name"], each["state"], f"{each['users']:,}", f"{each['epsilon']:g}", format_time(each["changed"]))
        for each in campaigns
    ]
    show_table("Campaigns", ("name", "state", "users", "local ε", "since"), rows, numbers=(2, 3))


@campaign.command()
@NAME
@click.pass_obj
def start(service: ServiceClient, name: str) -> None:
    """Start a campaign, or resume a paused one."""
    print_state(service.request_json("POST", "campaigns", name, "start"))


@campaign.command()
@NAME
@click.pass_obj
def pause(service: ServiceClient, name: str) -> None:
    """Pause a campaign: ask no device and count nothing until it is started again."""
    print_state(service.request_json("POST", "campaigns", name, "pause"))


@campaign.command()
@NAME
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.pass_obj
def abort(service: ServiceClient, name: str, yes: bool) -> None:
    """End a campaign without a release. What was collected stays charged."""
    if not (yes or _confirm(f"End the campaign {name} without a release, for good?")):
        raise ParameterError(f"nothing was changed: {name} goes on; answer y or give --yes to end it")
    print_state(service.request_json("POST", "campaigns", name, "abort"))


@campaign.command()
@NAME
@click.option("--count", type=click.IntRange(1), required=True, help="The number of credentials.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A new file, one credential per line.")
@click.pass_obj
def credentials(service: ServiceClient, name: str, count: int, out: Path) -> None:
    """Issue credentials, one for each device. A credential lets its holder take part once: keep the file safe."""
    import os

    if out.exists():
        raise ParameterError(f"{out} exists; give another name, credentials are never overwritten")
    devices: int = service.request_json("GET", "campaigns", name)["devices"]
    if count > MOST_CREDENTIALS_PER_DEVICE * devices:
        raise ParameterError(
            f"{count:,} credentials are too many for the {devices:,} devices that {name} expects: give a --count of "
            f"{MOST_CREDENTIALS_PER_DEVICE * devices:,} at most"
        )
    with os.fdopen(os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        try:
            for start_ in range(0, count, AT_ONCE):
                if start_:
                    click.echo(f"{start_:,} of {count:,} credentials are issued", err=True)
                wanted = {"count": min(AT_ONCE, count - start_)}
                file.write(service.request_text("POST", "campaigns", name, "credentials", body=wanted))
        except BaseException:
            out.unlink()
            raise
    click.echo(f"wrote {out}", err=True)


@campaign.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="A new file for the key, in PEM format.")
@click.pass_obj
def key(service: ServiceClient, out: Path) -> None:
    """Write the public key that devices pin and that verifies releases."""
    from neologue.release.signature import write_public_key

    write_public_key(bytes.fromhex(service.request_json("GET", "key")["operator"]), out)
    click.echo(f"wrote {out}", err=True)


def _confirm(question: str) -> bool:
    """Ask for confirmation; without a terminal the answer is no."""
    try:
        return click.confirm(question)
    except click.Abort:
        return False
