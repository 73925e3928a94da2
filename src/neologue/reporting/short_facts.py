"""A discovery and its privacy as named facts of a line each."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from neologue.campaign.profiles import PROFILES
from neologue.discovery.blind_spots import MISSED, sure_share
from neologue.discovery.measurement import Measurement
from neologue.discovery.result import Release
from neologue.privacy.digits import shown
from neologue.privacy.scale import ASKED_ABOVE, grade
from neologue.privacy.statement import SERVER, VOUCHED
from neologue.reporting.sentences import ON_DEVICES, what_finds_more

if TYPE_CHECKING:
    from neologue.campaign.campaign import Campaign
    from neologue.simulation.discovery_run import DiscoveryRun
    from neologue.simulation.left_out import LeftOut

OF_USE = "of all pairs of a user and a new word they typed"
MUCH_LEFT_OUT = (
    "More than a tenth was left out. If these are words to be found, choose another alphabet, a larger depth, or keep "
    "punctuation."
)
MUCH_TOO_OLD = "More than a tenth of the rows is too old. If they should count, choose more days (--days)."
CONFIDENTIAL = (
    "the population, the coverage and what was left out are exact figures, which no privacy statement covers: keep "
    "this summary as confidential as the data"
)


class Fact(NamedTuple):
    """A name, and what there is to say about it."""

    name: str
    text: str


def as_sentences(facts: Iterable[Fact]) -> list[str]:
    """The same facts as lines of a page."""
    return [f"{fact.name.capitalize()}: {fact.text}." for fact in facts]


def result_facts(discovery: "DiscoveryRun") -> list[Fact]:
    """What was found, and what could not be."""
    return [*found_facts(discovery), *limit_facts(discovery)]


def found_facts(discovery: "DiscoveryRun") -> list[Fact]:
    """How many words were found, and what share that is."""
    score = discovery.score
    if not score.words_released:
        return [Fact("found", f"no new word; {_advice_after_nothing(discovery)}")]
    return [
        Fact("found", f"{score.words_released:,} new words of {score.words_true:,} that users typed"),
        Fact("coverage", f"{percent(score.coverage)} {OF_USE}"),
        Fact("precision", f"{100 * score.precision:.2f} % of the words found were really typed by someone"),
    ]


def limit_facts(discovery: "DiscoveryRun") -> list[Fact]:
    """What was measured, what could not be found, and what surely was."""
    release = discovery.release
    sure = sure_text(release)
    return [
        *([Fact("measured", measured_text(release.measurement))] if release.measurement else []),
        *left_out_facts(discovery.left_out, release.campaign),
        *([Fact("surely found", sure)] if sure else []),
    ]


def _advice_after_nothing(discovery: "DiscoveryRun") -> str:
    """What to change after a run that found no word."""
    campaign, words = discovery.release.campaign, discovery.score.words_true
    if not words:
        return "nobody holds one that counts: look at the known words, the targets, the alphabet and the depth"
    layer_size = max((facts.asked for facts in discovery.release.layers), default=0)
    most_held = max(discovery.truth.values(), default=0) * layer_size / campaign.users
    advice = what_finds_more(campaign.parameters.k_anonymity, layer_size, most_held)
    return f"{words:,} unknown words are held; {advice}"


def measured_text(measurement: Measurement) -> str:
    """What was measured, without looking at the truth."""
    if not measurement.candidates:
        return "nothing, as there is no word to count"
    counted = f"{measurement.reports:,} other users, once each"
    if not measurement.decided:
        return f"nothing, as only {counted}, counted the words"
    if measurement.coverage is None:
        return f"no coverage, as nothing that was counted by {counted}, stands out from the noise"
    share = measurement.coverage
    return (
        f"the words cover {percent(share.estimate)} of what users sample of their new words (95 % interval: "
        f"{percent(share.low)} – {percent(share.high)}), as {counted}, counted them without showing which are theirs"
    )


def left_out_facts(left: "LeftOut", campaign: "Campaign") -> list[Fact]:
    """What could not be found, of what users hold beside known words; nothing if it is nothing."""
    facts = []
    if left.share:
        such_as = f", such as {' '.join(left.characters)}" if left.characters else ""
        reasons = {
            f"with a character that the alphabet {campaign.alphabet.name} lacks{such_as}": left.alphabet,
            f"longer than {campaign.parameters.depth} characters": left.length,
            "nothing but punctuation and symbols": left.empty,
        }
        named = ", ".join(f"{percent(pairs / left.pairs)} {reason}" for reason, pairs in reasons.items() if pairs)
        text = (
            f"{percent(left.share)} of what users hold besides known words ({named}); the coverage is that of the rest"
        )
        facts.append(Fact("left out", text))
    if left.old_rows:
        old = f"{left.old_rows:,} of {left.rows:,} rows ({percent(left.old_share)})"
        days = campaign.parameters.days
        facts.append(Fact("too old", f"{old} are older than the last {days:,} days, and do not count"))
    return facts


def percent(share: float) -> str:
    """A share in per cent, with more digits where it is nearly none or nearly all."""
    return (
        f"{100 * share:.1f} %"
        if 0.001 <= share <= 0.999
        else f"{100 * share:.2g} %"
        if share < 0.5
        else f"{100 * share:.5g} %"
    )


def sure_text(release: Release) -> str | None:
    """From which share of users on no word is lost without a trace; None where that is not promised.

    It holds where all users answer, and all layers were decided.
    """
    share = sure_share(release.campaign) if all(facts.decided for facts in release.layers) else None
    if share is None:
        return None
    count = len({kept.prefix for kept in release.prefixes})
    listed = f" or begins with one of the {count:,} listed prefixes" if count else ""
    least = math.ceil(share * 10_000) / 100
    return (
        f"a word of fewer than {release.campaign.parameters.depth} characters that at least {least:g} % of the users "
        f"report is released{listed}, with a chance of at least {100 * (1 - MISSED):g} %"
    )


def run_facts(discovery: "DiscoveryRun") -> list[Fact]:
    """Who was asked, and how."""
    campaign = discovery.release.campaign
    drawn = f"seed {discovery.seed}" if discovery.seed is not None else "the system's entropy"
    made_for = PROFILES[campaign.profile].users if campaign.profile in PROFILES else campaign.users
    sized = f", made for {made_for:,} users and sized to these" if campaign.users < made_for else ""
    passes = campaign.parameters.passes
    return [
        Fact("population", discovery.population),
        Fact("asked", _asked_text(discovery.release)),
        Fact("profile", f"{campaign.profile}, {passes} {'pass' if passes == 1 else 'passes'}{sized}"),
        Fact("randomness", f"{drawn}, fidelity {discovery.fidelity}"),
        *([Fact("confidential", CONFIDENTIAL)] if discovery.real_people else []),
    ]


def _asked_text(release: Release) -> str:
    asked, users = sum(facts.asked for facts in release.layers), release.campaign.users
    sizes = sorted({facts.asked for facts in release.layers})
    of = "" if not sizes else f" of {sizes[0]:,}" if len(sizes) == 1 else f" of {sizes[0]:,} to {sizes[-1]:,}"
    layers = "1 layer" if len(release.layers) == 1 else f"{len(release.layers)} layers"
    rest = f"; the other {users - asked:,} were not, as no prefix was left" if asked < users else ""
    return f"{asked:,} of {users:,} users, once each, in {layers}{of}{rest}"


def privacy_facts(statement: Mapping[str, Any]) -> list[Fact]:
    """What a release and a report reveal, and what protects words that few type."""
    applies_to = statement.get("applies_to", ON_DEVICES)  # releases of format 1 do not say it
    item, user = (statement[part]["best"] for part in ("item_central", "user_central"))
    return [
        Fact("a word", f"central ε = {_judged(item)}; local ε = {statement['local_epsilon']:g}"),
        Fact(
            "a whole user",
            f"central ε = {_judged(user)}; local ε = {statement['user_local_epsilon']:g} in one report, which has at "
            f"most {statement['words_per_user']:,} words",
        ),
        *server_fact(statement),
        *rare_facts(statement),
        *([] if applies_to == ON_DEVICES else [Fact("applies to", applies_to)]),
    ]


def _judged(epsilon: float) -> str:
    return f"{shown(epsilon)} ({grade(epsilon).words})"


def server_fact(statement: Mapping[str, Any]) -> list[Fact]:
    """What the server learns where votes are masked, which a masked campaign is chosen for."""
    trust = statement["trust"]
    if VOUCHED not in trust["assumptions"]:
        return []
    server = next(each for each in trust["observers"] if each["who"] == SERVER)
    return [
        Fact(
            "the server",
            f"reads masked sums of at least {server['smallest_sum']:,} honest devices: ε = "
            f"{_judged(server['item_epsilon'])} for a word, {_judged(server['user_epsilon'])} for a whole user",
        )
    ]


def rare_facts(statement: Mapping[str, Any]) -> list[Fact]:
    """What protects words that few users report."""
    anonymity, unique = statement["k_anonymity"], statement.get("unique_words")
    if not anonymity["k"]:
        k = Fact("rare words", f"no k-anonymity: {anonymity['reasons']['k']}")
    else:
        # Releases of formats 1 and 2 promise it for each layer alone.
        of = "users of a layer hold is published from that layer" if unique is None else "users report is published"
        k = Fact(
            "rare words",
            f"what fewer than {anonymity['k']:,} {of} with a chance of at most {1 - anonymity['alpha']:.2g}",
        )
    return [k, *([] if unique is None else [Fact("unique words", _unique_text(unique))])]


def _unique_text(unique: Mapping[str, Any]) -> str:
    if unique["chance"] is None:
        return f"no promise, as {unique['reasons']['chance']}"
    hostile = unique["hostile_devices"]
    devices = "1 device of a layer is" if hostile == 1 else f"{hostile:,} devices of a layer are"
    against = f"even if {devices} hostile" if hostile else "if no device of its layer is hostile"
    return f"what one user alone reports is shown with a chance of at most {unique['chance']:g}, {against}"


def threshold_facts(statement: Mapping[str, Any]) -> list[Fact]:
    """What protects in the layer that protects least, and how many words few report at most."""
    layers, anonymity = statement.get("thresholds"), statement["k_anonymity"]
    if not layers or not anonymity["k"]:
        return []
    nobody, few = (max(layer[who] for layer in layers) for who in ("nobody", "below_k"))
    k, expected = anonymity["k"], anonymity["expected_below_k"]
    number = f"{math.ceil(expected):,}" if expected >= 100 else shown(expected)
    return [
        Fact(
            "chances in a layer",
            f"a word that nobody reports gets enough votes with a chance of at most {shown(nobody)}, one that "
            f"{k - 1:,} users report with a chance of at most {shown(few)}",
        ),
        Fact(
            f"below {k:,} users",
            f"of all words and prefixes kept, at most {number} are expected to be reported by fewer than {k:,} users "
            f"of the layers that judge them, if no user has more than {statement['words_per_user']:,} words to report",
        ),
    ]


def planting_facts(stated: Mapping[str, Any], words: int | None = None) -> list[Fact]:
    """How many words hostile devices can plant; `words` is how many there are."""
    if not stated:  # releases of formats 1 and 2 do not say it
        return []
    fewest, tolerated = stated["untrusted_from"], f"{100 * stated['tolerated']:g} %"
    of = "" if words is None else f" of {words:,}"
    trust = (
        f"no number of them can plant more than {tolerated}"
        if fewest is None
        else f"{fewest['devices']:,} ({100 * fewest['share']:.2g} % of all) can plant more than {tolerated} of the "
        "words, so trust the words only if there are fewer"
    )
    return [Fact("hostile devices", f"one can plant at most {stated['bounds'][0]['words']:,}{of} words; {trust}")]


def warnings_of(discovery: "DiscoveryRun", statement: Mapping[str, Any]) -> list[str]:
    """What must not be overlooked in the facts of a discovery; usually nothing."""
    left, user = discovery.left_out, statement["user_central"]["best"]
    unprotected = f"A central ε of {_judged(user)} for a whole user: a smaller ε or more users protect better."
    return [
        *([unprotected] if user > ASKED_ABOVE else []),
        *([MUCH_LEFT_OUT] if left.is_much else []),
        *([MUCH_TOO_OLD] if left.is_mostly_old else []),
    ]
