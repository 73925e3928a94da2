"""Checks of a campaign without incidents: what a device asks for, and the report that it sends."""

import json

from neologue.conformance.check import CHECK_IN, REPORTS, check
from neologue.conformance.scene import (
    WORDS,
    Scene,
    likely_layer,
    require,
)
from neologue.errors import ReportError
from neologue.protocol.credential import Credential
from neologue.protocol.report import read_report
from neologue.protocol.submission import Submission


@check("T4", "T6", "T8", "R5")
def answers_in_order(scene: Scene) -> None:
    """It checks in, fetches the layer and its known words, and sends one report that can be read."""
    service = scene.service
    scene.open(WORDS)
    (done,) = scene.ticks("final")
    require(done.again is None, "it wants another step although its report is final")
    asked = [(request.method, request.path) for request in service.requests]
    layer, known = f"/v1/layers/{service.layer.digest.hex()}", f"/v1/known/{service.layer.known.digest}"
    expected = [("POST", CHECK_IN), ("GET", layer), ("GET", known), ("POST", REPORTS)]
    require(asked == expected, f"it asks for {asked}")
    require(json.loads(service.requests[0].body) == {"credential": scene.credential}, "it shows more than a credential")
    require(service.requests[-1].kind == "application/octet-stream", "a report has another content type")
    sent, shown = Submission.parse(service.reports[0]), Credential.parse(scene.credential)
    require((sent.campaign_id, sent.serial) == (shown.campaign_id, shown.serial), "a report names another device")
    require_readable(scene)


@check("L7", "R5")
def answers_likely_strings(scene: Scene) -> None:
    """It answers a layer of likely strings with a report that can be read."""
    scene.service.ask_about(likely_layer())
    scene.open(WORDS)
    scene.ticks("final")
    require_readable(scene)


def require_readable(scene: Scene) -> None:
    """All reports that count can be read."""
    for report in scene.service.final.values():
        try:
            read_report(scene.service.layer, report)
        except ReportError as error:
            require(False, f"its report can't be read: {error}")


@check("R6", "N5")
def says_nothing_at_the_same_length(scene: Scene) -> None:
    """A device without words talks as one with words does, and its report has the same length."""
    scene.open()
    scene.ticks("final")
    silent = [(request.path, len(request.body)) for request in scene.service.requests]
    scene.service.requests.clear()
    scene.driver.close()
    scene.folder = scene.folder / "another"
    scene.credential = scene.service.credential()
    scene.open(WORDS)
    scene.ticks("final")
    spoken = [(request.path, len(request.body)) for request in scene.service.requests]
    require(silent == spoken, "what it asks for, or how long its report is, depends on its words")
    require(len(set(scene.service.final.values())) == 2, "two devices send the same bytes")


@check("N9")
def shows_no_word(scene: Scene) -> None:
    """No request has a word in it, nor the credential but at check-in."""
    scene.open(WORDS)
    scene.ticks("final")
    for request in scene.service.requests:
        require(not any(word.encode() in request.body for word in WORDS), f"a word is in a request for {request.path}")
        shows = scene.credential.encode() in request.body
        require(shows == (request.path == CHECK_IN), f"the credential is shown to {request.path}")
