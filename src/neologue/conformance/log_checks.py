"""Checks of a device whose owner demands witnesses: it answers what is in the log for everybody, and nothing else."""

import time

from neologue.conformance.check import DAY, REPORTS, check
from neologue.conformance.driver import WitnessPolicy
from neologue.conformance.report_checks import require_readable
from neologue.conformance.scene import STRANGER, WORDS, Scene, closed_layer, extending_layer, require
from neologue.conformance.scripted_log import QUORUM, WITNESSES, ScriptedLog
from neologue.conformance.scripted_service import Reply, instead


@check("V1")
def needs_a_proof(scene: Scene) -> None:
    """An invitation without a proof, or with one that is cut or too long, is refused before anything is fetched."""
    log = _logged(scene)
    proof = bytes(log.proof(0)).hex()
    scene.open(WORDS)
    for told in (
        {},
        {"proof": proof[:-2]},
        {"proof": proof + "00"},
        {"proof": "02" + proof[2:]},
        {"proof": "00" * 8193},
    ):
        scene.service.told = told
        _refuses(scene)
    _require_nothing_fetched(scene)
    scene.service.told = {"proof": proof}
    scene.ticks("final")


@check("V2", "V3")
def answers_what_is_in_the_log_alone(scene: Scene) -> None:
    """A layer that is not in the log is refused, and one at another index or under other masks than the log has."""
    log = _logged(scene)
    scene.open(WORDS)
    asked = scene.service.layer.digest
    for entry in (
        log.layer(0, extending_layer(bound=5).digest),
        log.layer(1, asked),
        log.layer(0, asked, bytes(32)),
    ):
        other = ScriptedLog(scene.service.campaign_id, time=log.time).open(entry)
        scene.service.told = {"proof": bytes(other.proof(0)).hex()}
        _refuses(scene)
    _require_nothing_fetched(scene)


@check("V4")
def counts_the_witnesses_that_it_knows(scene: Scene) -> None:
    """Fewer co-signatures than the quorum, strangers', doubled or future ones, or another log's are refused."""
    log = _logged(scene)
    scene.open(WORDS)
    for changes in (
        {"witnesses": WITNESSES[:1]},
        {"witnesses": (WITNESSES[0], STRANGER, STRANGER)},
        {"witnesses": (WITNESSES[0],) * 2},
        {"time": log.time + 3 * int(DAY)},
    ):
        other = ScriptedLog(scene.service.campaign_id, **{"time": log.time, **changes})  # type: ignore[arg-type]
        other.open(other.layer(0, scene.service.layer.digest))
        scene.service.told = {"proof": bytes(other.proof(0)).hex()}
        _refuses(scene)
    log.private = STRANGER
    scene.service.told = {"proof": bytes(log.proof(0)).hex()}
    _refuses(scene)
    _require_nothing_fetched(scene)


@check("V5")
def follows_a_log_that_grows_and_no_fork(scene: Scene) -> None:
    """It remembers the newest checkpoint: a fork is refused, also after a restart, and a larger tree is compared."""
    log = _logged(scene)
    (path, document), *_ = [(path, each) for path, each in scene.service.documents.items() if "/layers/" in path]
    del scene.service.documents[path]
    scene.open(WORDS)
    step = scene.tick()
    require(step.state == "later", f"without its document it is {step.state}")
    scene.service.documents[path] = document
    beginning = log.operator.pop(0)
    log.operator += [b"another beginning", beginning]
    _publish(scene, log)
    scene.restart()
    _refuses(scene)
    require(scene.service.asked("/log/tile") > 0, "it fetches no tiles to compare the trees")
    log.operator[:] = [beginning, b"more"]
    _publish(scene, log)
    scene.ticks("final")


@check("V5")
def waits_for_a_log_that_went_back(scene: Scene) -> None:
    """A checkpoint that is older than the newest is waited out, and nothing is sent for it."""
    log = _logged(scene)
    log.operator.append(b"more")
    _publish(scene, log)
    (path, document), *_ = [(path, each) for path, each in scene.service.documents.items() if "/layers/" in path]
    del scene.service.documents[path]
    scene.open(WORDS)
    scene.tick()
    scene.service.documents[path] = document
    log.operator.pop()
    _publish(scene, log)
    scene.ticks("later")
    scene.require_nothing_sent()
    log.operator.append(b"more")
    _publish(scene, log)
    scene.ticks("final")


@check("M4", "P16")
def answers_a_list_that_is_in_the_log(scene: Scene) -> None:
    """A list of whole words that is in the log is answered, and nothing else of the campaign."""
    scene.service.ask_about(closed_layer())
    _logged(scene)
    scene.service.script(REPORTS, instead(Reply.error(401, "forged")))
    scene.open(WORDS)
    scene.tick()
    listed = scene.service.layer
    scene.service.ask_about(extending_layer())
    _logged(scene)
    scene.tick()
    require(len(scene.service.reports) == 1, "it answers another layer")
    scene.service.ask_about(listed)
    _logged(scene)
    scene.ticks("final")
    scene.require_same_bytes()
    require_readable(scene)


def _logged(scene: Scene) -> ScriptedLog:
    """The log of the service, which has its layer; the device trusts two of three witnesses."""
    log = ScriptedLog(scene.service.campaign_id, time=int(time.time()))
    log.open(log.layer(0, scene.service.layer.digest))
    witnesses = tuple(witness.public_key().public_bytes_raw().hex() for witness in WITNESSES)
    scene.trust = WitnessPolicy((log.key.hex(),), witnesses, QUORUM)
    _publish(scene, log)
    return log


def _publish(scene: Scene, log: ScriptedLog) -> None:
    """Show the log as it is now."""
    scene.service.told = {"proof": bytes(log.proof(0)).hex()}
    scene.service.documents |= {f"/log/{path}": tile for path, tile in log.files().items()}


def _refuses(scene: Scene) -> None:
    (step,) = scene.ticks("refused")
    require(step.again is not None and step.again >= DAY, f"it comes again in {step.again} s")
    scene.require_nothing_sent()


def _require_nothing_fetched(scene: Scene) -> None:
    require(scene.service.asked("/v1/layers") == 0, "it fetches the layer")
