"""A discovery in a few sentences, on a screen or on a page."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neologue.campaign.profiles import PROFILES
from neologue.discovery.blind_spots import MISSED, sure_share
from neologue.discovery.measurement import Measurement
from neologue.discovery.result import Release
from neologue.privacy.digits import shown
from neologue.privacy.scale import grade
from neologue.privacy.statement import APPLIES_TO, SERVER, VOUCHED, Source

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.simulation.discovery_run import DiscoveryRun
    from neologue.simulation.left_out import LeftOut

ON_DEVICES = APPLIES_TO[Source.DEVICES]


CONFIDENTIAL_SUMMARY = (
    "The population, the coverage and what was left out are exact figures, which no privacy statement covers: keep "
    "this summary as confidential as the data."
)


def summary(discovery: "DiscoveryRun") -> list[str]:
    """The run in a few sentences."""
    release, score = discovery.release, discovery.score
    campaign, parameters = release.campaign, release.campaign.parameters
    asked = sum(facts.asked for facts in release.layers)
    sizes = sorted({facts.asked for facts in release.layers})
    layer_sizes = f"{sizes[0]:,}" if len(sizes) == 1 else f"{sizes[0]:,} to {sizes[-1]:,}"
    made_for = PROFILES[campaign.profile].users if campaign.profile in PROFILES else campaign.users
    sized = (
        f"Sized: profile {campaign.profile} was made for {made_for:,} users; its layers were sized to these "
        f"{campaign.users:,}."
    )
    layer_size = max((facts.asked for facts in release.layers), default=0)
    most_held = max(discovery.truth.values(), default=0) * layer_size / campaign.users
    nothing = (
        f"{score.words_true:,} unknown words are held; {what_finds_more(parameters.k_anonymity, layer_size, most_held)}"
        if score.words_true
        else "Nobody holds one that counts: look at the known words, the targets, the alphabet and the depth."
    )
    found = (
        f"Found: {score.words_released:,} new words. They cover {score.coverage:.1%} of what users hold of "
        f"{score.words_true:,} unknown words; {score.precision:.2%} of the words found are really held by someone."
        if score.words_released
        else "Found: no new word. " + nothing
    )
    layers = "1 layer" if len(release.layers) == 1 else f"{len(release.layers)} layers"
    return [
        f"Population: {discovery.population}.",
        *([sized] if campaign.users < made_for else []),
        f"Asked: {asked:,} of {campaign.users:,} users, once each, in {layers} of {layer_sizes} "
        f"(profile {campaign.profile}, {parameters.passes} {'pass' if parameters.passes == 1 else 'passes'}).",
        *([f"Not asked: {campaign.users - asked:,} users, as no prefix was left."] if asked < campaign.users else []),
        found,
        *left_out_lines(discovery),
        *([measured_line(release.measurement)] if release.measurement else []),
        f"Simulated with fidelity {discovery.fidelity}, seed {discovery.seed}."
        if discovery.seed is not None
        else f"Randomized by the system's entropy, fidelity {discovery.fidelity}.",
        *([CONFIDENTIAL_SUMMARY] if discovery.real_people else []),
    ]


PREFIX_NOTE = (
    "About this many users type words that begin like this and were not found. No layer asked how they continue, or "
    "too few users type the same one."
)


def sure_lines(release: Release) -> list[str]:
    """From which share of users on no word is lost without a trace; nothing where that is not promised.

    It holds where all users answer, and all layers were decided.
    """
    share = sure_share(release.campaign) if all(facts.decided for facts in release.layers) else None
    if share is None:
        return []
    count = len({kept.prefix for kept in release.prefixes})
    listed = f" or begins with one of the {count:,} listed prefixes" if count else ""
    least = math.ceil(share * 10_000) / 100
    return [
        f"Surely found: a word of fewer than {release.campaign.parameters.depth} characters that at least {least:g} % "
        f"of the users report is released{listed}, with a chance of at least {100 * (1 - MISSED):g} %."
    ]


def what_finds_more(k: int, layer_size: int, most_users: float) -> str:
    """Advice for a campaign that finds nothing, whose most frequent word has so many users in a layer."""
    if most_users < k:
        return (
            f"k = {k:,} hides them all, as no word has so many users in a layer of {layer_size:,}; a smaller k "
            "(--k-anonymity) finds more."
        )
    return "more users, a larger ε or a smaller k find more."


def left_out_lines(discovery: "DiscoveryRun") -> list[str]:
    """What could not be found, of what users hold beside known words; nothing if it is nothing."""
    left, campaign = discovery.left_out, discovery.release.campaign
    return [*_unspellable_lines(left, campaign), *_old_lines(left, campaign.parameters.days)]


def _old_lines(left: "LeftOut", days: int) -> list[str]:
    if not left.old_rows:
        return []
    line = (
        f"Too old: {left.old_rows:,} of {left.rows:,} rows ({_percent(left.old_share)}) are older than the last "
        f"{days:,} days, and do not count."
    )
    much = "Warning: that is more than a tenth. If they should count, choose more days (--days)."
    return [line, *([much] if left.is_mostly_old else [])]


def _unspellable_lines(left: "LeftOut", campaign: "Campaign") -> list[str]:
    if not left.share:
        return []
    named_characters = f", such as {' '.join(left.characters)}" if left.characters else ""
    reasons = {
        f"with a character that the alphabet {campaign.alphabet.name} lacks{named_characters}": left.alphabet,
        f"longer than {campaign.parameters.depth} characters": left.length,
        "nothing but punctuation and symbols": left.empty,
    }
    named = ", ".join(f"{_percent(pairs / left.pairs)} {reason}" for reason, pairs in reasons.items() if pairs)
    line = (
        f"Left out: {_percent(left.share)} of what users hold besides known words ({named}). Coverage is about the "
        f"other {_percent(1 - left.share)}."
    )
    much = (
        "Warning: that is more than a tenth. If these are words to be found, choose another alphabet, a larger depth, "
        "or keep punctuation."
    )
    return [line, *([much] if left.is_much else [])]


def _percent(share: float) -> str:
    return f"{share:.1%}" if 0.001 <= share <= 0.999 else f"{share:.2g}"


def measured_line(measurement: Measurement) -> str:
    """What was measured, without looking at the truth."""
    if not measurement.candidates:
        return "Measured: nothing, as there is no word to count."
    counted = f"{measurement.reports:,} other users, once each"
    if not measurement.decided:
        return f"Measured: nothing, as only {counted}, counted the words."
    if measurement.coverage is None:
        return f"Measured: no coverage, as nothing that was counted by {counted}, stands out from the noise."
    share = measurement.coverage
    return (
        f"Measured: the words cover {share.estimate:.1%} of what users sample of their new words (95 % interval: "
        f"{share.low:.1%} – {share.high:.1%}), as {counted}, counted them without showing which are theirs."
    )


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
