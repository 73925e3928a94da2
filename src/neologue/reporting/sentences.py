"""What a release protects, and what its figures mean, in sentences for a page."""

import math
from collections.abc import Mapping
from typing import Any

from neologue.discovery.measurement import Measurement
from neologue.privacy.digits import shown
from neologue.privacy.scale import grade
from neologue.privacy.statement import APPLIES_TO, SERVER, VOUCHED, Source

ON_DEVICES = APPLIES_TO[Source.DEVICES]

PREFIX_NOTE = (
    "About this many users type words that begin like this and were not found. No layer asked how they continue, or "
    "too few users type the same one."
)


def what_finds_more(k: int, layer_size: int, most_users: float) -> str:
    """Advice for a campaign that finds nothing, whose most frequent word has so many users in a layer."""
    if most_users < k:
        return (
            f"k = {k:,} hides them all, as no word has so many users in a layer of {layer_size:,}; a smaller k "
            "(--k-anonymity) finds more"
        )
    return "more users, a larger ε or a smaller k find more"


def interval_note(measurement: Measurement | None) -> str:
    """What an interval of a word is about, and where the number of its holders is."""
    about = (
        "Estimates and 95 % intervals are about the users who would report a word, not about all who hold it. A user "
        "with more new words than fit into a report counts only in part, so more users may hold a word than its "
        "interval says."
    )
    if measurement is None or not measurement.decided:
        return f"{about} How many hold it was not measured."
    return (
        f"{about} The measured counts are about all holders, as long as hardly anybody has more new words than fit "
        "into a report."
    )


def privacy_lines(statement: Mapping[str, Any]) -> list[str]:
    """The privacy statement in a few sentences."""
    applies_to = statement.get("applies_to", ON_DEVICES)  # releases of format 1 do not say it
    item, user = (statement[part] for part in ("item_central", "user_central"))
    return [
        *([] if applies_to == ON_DEVICES else [f"The privacy figures apply to {applies_to}."]),
        f"Privacy of a report, against everyone who sees it: local ε = {statement['local_epsilon']:g} for a word "
        f"({statement['mechanism']}), {statement['user_local_epsilon']:g} for all words of a report, which are at most "
        f"{statement['words_per_user']}.",
        f"Privacy of the release, against its readers: ε = {shown(item['best'])} for a word, {shown(user['best'])} for "
        f"a whole user, at δ = {statement['delta']:g}.",
        f"Judged: {grade(item['best']).words} of a word, {grade(user['best']).words} of a whole user.",
        *anonymity_lines(statement),
        *_server_line(statement),
    ]


def _server_line(statement: Mapping[str, Any]) -> list[str]:
    """What the server learns where votes are masked, which a masked campaign is chosen for."""
    trust = statement["trust"]
    if VOUCHED not in trust["assumptions"]:
        return []
    server = next(each for each in trust["observers"] if each["who"] == SERVER)
    item, user = server["item_epsilon"], server["user_epsilon"]
    return [
        f"Privacy against the server, which reads masked sums of at least {server['smallest_sum']:,} honest devices: "
        f"ε = {shown(item)} for a word ({grade(item).words}), {shown(user)} for a whole user "
        f"({grade(user).words})."
    ]


def anonymity_lines(statement: Mapping[str, Any]) -> list[str]:
    """What a privacy statement says of words that few report."""
    anonymity, unique = statement["k_anonymity"], statement.get("unique_words")
    if not anonymity["k"]:
        k = f"none for the run: {anonymity['reasons']['k']}"
    elif unique is None:  # releases of formats 1 and 2 promise it for each layer alone
        k = (
            f"what fewer than {anonymity['k']} users of a layer hold is published from that layer with a chance of at "
            f"most {1 - anonymity['alpha']:.2g}"
        )
    else:
        k = (
            f"what fewer than {anonymity['k']} users report to the layers that judge it is published with a "
            f"chance of at most {1 - anonymity['alpha']:.2g}, over the whole release"
        )
    return [f"k-anonymity: {k}.", *([] if unique is None else [_unique_line(unique)]), *_threshold_lines(statement)]


def _unique_line(unique: Mapping[str, Any]) -> str:
    if unique["chance"] is None:
        return f"Unique words: no promise, as {unique['reasons']['chance']}."
    hostile = unique["hostile_devices"]
    devices = "1 device of a layer is" if hostile == 1 else f"{hostile:,} devices of a layer are"
    against = f"even if {devices} hostile" if hostile else "if no device of its layer is hostile"
    return (
        f"Unique words: a word, or a beginning of it, that one user alone reports is shown with a chance of at most "
        f"{unique['chance']:g}, over the whole release, {against}."
    )


def _threshold_lines(statement: Mapping[str, Any]) -> list[str]:
    """What protects in the layer that protects least, and how many words few report at most."""
    layers, anonymity = statement.get("thresholds"), statement["k_anonymity"]
    if not layers or not anonymity["k"]:
        return []
    nobody, few = (max(layer[who] for layer in layers) for who in ("nobody", "below_k"))
    k, expected = anonymity["k"], anonymity["expected_below_k"]
    number = f"{math.ceil(expected):,}" if expected >= 100 else shown(expected)
    return [
        f"Rare words: in any layer, a word that nobody reports gets enough votes with a chance of at most "
        f"{shown(nobody)}, and one that {k - 1:,} users report with a chance of at most {shown(few)}. Of all words and "
        f"prefixes kept, at most {number} are expected to be reported by fewer than {k:,} users of the layers that "
        f"judge them, if no user has more than {statement['words_per_user']:,} words to report."
    ]
