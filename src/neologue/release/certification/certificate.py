"""Whether a `release.json` is covered by its facts: everything that it claims, computed again.

A release says what was asked of how many users and what came of it. What was asked, the documents of its layers tell,
which devices were given; from all of it the privacy statement follows, and so does much of what its words can be. A
claim that the facts do not cover is named, and so is all that rests on the operator's word alone. The digest guards
against accidents, a signature against people.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, astuple, dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from neologue.campaign.allocation import counted_in_batches
from neologue.campaign.campaign import MOST_USERS
from neologue.campaign.parameters import Parameters
from neologue.campaign.promise import fewest_reports
from neologue.discovery.estimates import VoteLaw
from neologue.discovery.measurement import figures
from neologue.discovery.result import ReleasedWord
from neologue.discovery.tally import Tally
from neologue.errors import ParameterError
from neologue.privacy.cost import central_epsilon
from neologue.privacy.statement import PrivacyFacts, privacy_statement
from neologue.protocol.closed_layer import check_rate
from neologue.protocol.signed_document import check_signature
from neologue.randomizers.closed import closed_domain
from neologue.randomizers.registry import randomizer
from neologue.release.asked_layer import layer_name
from neologue.release.certification.circumstances import wrong_circumstances
from neologue.release.certification.layer_chain import wrong_documents
from neologue.release.certification.operator_word import OperatorWord, operator_word
from neologue.release.certification.strange_names import strange_names
from neologue.release.certification.wrong_estimates import ROUNDED, wrong_estimates
from neologue.release.codec import ReleaseDocument
from neologue.release.facts import privacy_facts
from neologue.release.older_formats import PER_PASS_FORMATS, statement_of_format
from neologue.release.planting import planting_in

TOLERANCE = 2e-5
"""Figures have six digits; the last may differ from machine to machine."""
ROUNDED_SHARE = 2e-6
"""Shares are written with six."""
SAFER_SMALLER = {"k": (1, 0.0), "hostile_devices": (0, 0.0), "lower_bound": (0, TOLERANCE)}
"""Claims that are safe if they say less: the least that they can say, and how much more they may say."""
SAFER_LARGER = re.compile(
    r"epsilon$|^(item|user)_central\.[a-z0-9_]+$|^unique_words\.chance$|^k_anonymity\.expected_below_k$"
    r"|^thresholds\.\d+\.(nobody|one_user|below_k)$|^planting\.bounds\.\d+\.words$"
)
"""Claims that are safe if they say more: every ε, every chance and every number of planted words."""


@dataclass(frozen=True)
class Claim:
    """One figure of a privacy statement, as stated and as computed again."""

    name: str
    stated: object
    recomputed: object
    covered: bool


@dataclass(frozen=True)
class Certification:
    """The claims of a release, and what is wrong with it."""

    claims: tuple[Claim, ...]
    objections: tuple[str, ...]
    simulated: bool = False
    """Whether the release is a simulation with a known seed, whose figures promise nothing to anybody."""
    facts: PrivacyFacts | None = None
    """What the claims were computed from; None if nothing can be."""
    operator_word: tuple[OperatorWord, ...] = ()
    """What nothing that is published shows, and nothing here was checked against."""
    warnings: tuple[str, ...] = ()
    """What the operator itself says of implausible votes."""
    planting: Mapping[str, Any] = field(default_factory=dict)
    """How many words hostile devices can have planted, as stated."""

    def __repr__(self) -> str:
        verdict = "passed" if self.passed else "NOT passed"
        return f"<Certification: {verdict}, {len(self.claims)} claims, {len(self.objections)} objections>"

    @property
    def passed(self) -> bool:
        """Whether every claim is covered and nothing else is wrong."""
        return not self.objections and all(claim.covered for claim in self.claims)


def certify(
    document: ReleaseDocument, documents: Mapping[str, bytes], key: Ed25519PublicKey | None = None
) -> Certification:
    """Compute every claim of a release again; with a key, its signature is required too.

    `documents` are those of its layers, by their digests. Without them nothing shows what was asked, so a release does
    not pass.
    """
    signature = None if key is None else check_signature(document.whole, key)
    objections = [signature] if signature else []
    if document.whole.get("digest") != document.digest:
        objections.append("the digest is not that of the release: something in it was changed")
    simulated = document.simulated or document.provenance.simulated
    if impossible := list(_impossible(document)):
        return Certification((), (*objections, *impossible), simulated)
    objections += wrong_circumstances(document)
    objections += [*_wrong_layers(document), *_wrong_words(document), *_wrong_measurement(document)]
    objections += wrong_documents(document, documents)
    facts = privacy_facts(document.parameters, document.layers, document.measurement, document.exposure)
    objections += _wrong_promise(document.parameters, facts)
    facts = replace(facts, anonymity=document.anonymity)
    recomputed = statement_of_format(document.format, privacy_statement(facts, document.provenance.source))
    planted = (
        {}
        if document.format in PER_PASS_FORMATS
        else planting_in(
            document.parameters, document.users, document.layers, document.words, document.exposure
        ).document()
    )
    objections += strange_names(document, recomputed, planted)
    claims = (*_claims("", recomputed, document.privacy), *_claims("planting", planted, document.planting))
    return Certification(
        claims, tuple(objections), simulated, facts, operator_word(document), document.warnings, document.planting
    )


def _impossible(document: ReleaseDocument) -> Iterator[str]:
    """Facts that nothing can be computed from."""
    parameters = document.parameters
    if parameters.epsilon is None:
        yield "the parameters state no ε"
    try:
        fewest_reports(parameters, 1)
    except ParameterError as error:
        yield str(error)
    if not 1 <= document.users <= MOST_USERS:
        yield f"there are {document.users:,} users"
    if any(seen is not None and seen < 1 for seen in (document.exposure.disk, document.exposure.server)):
        yield "the exposure has sums of less than one report"
    if len(document.layers) > parameters.passes * (parameters.layers or parameters.depth):
        yield f"there are {len(document.layers):,} layers, more than passes and depth allow"
    for layer in document.layers:
        if not 1 <= layer.candidates <= parameters.candidates:
            yield f"{layer_name(layer)} has {layer.candidates:,} candidates, and {parameters.candidates:,} are the most"
        planned = counted_in_batches(parameters, layer.asked, document.exposure.disk)
        if not int(layer.decided) <= layer.reports <= max(document.users, planned):
            yield f"{layer_name(layer)} has {layer.reports:,} reports from {document.users:,} users"
        if min(layer.asked, layer.kept, layer.words, layer.fewest_votes) < 0:
            yield f"{layer_name(layer)} has a number below 0"
        if parameters.layers is not None and (layer.length or layer.extension):
            yield f"{layer_name(layer)} asks about what is likely, and extends {layer.length:,} characters"
        elif parameters.layers is None and (layer.extension != 1 or not 1 <= layer.length <= parameters.depth):
            yield f"{layer_name(layer)} extends {layer.length:,} characters by {layer.extension:,}, beyond the depth"
    measurement = document.measurement
    if measurement and not (
        int(measurement.decided) <= measurement.reports <= _most_measured(document) and measurement.asked <= MOST_USERS
    ):
        yield f"the measurement has {measurement.reports:,} reports from {measurement.asked:,} users"
    if measurement and document.words and not measurement.asked:
        yield f"nobody was asked to count {len(document.words):,} words"
    if measurement and measurement.reports and not document.words:
        yield f"{measurement.reports:,} users counted words, and none was released"
    if measurement and measurement.candidates != _places(document):
        yield f"the measurement has {measurement.candidates:,} candidates, and {_places(document):,} are right"


def _most_measured(document: ReleaseDocument) -> int:
    """The most reports that a measurement can have counted."""
    measurement = document.measurement
    assert measurement is not None
    if not document.parameters.drawn:
        return measurement.asked
    planned = counted_in_batches(document.parameters, measurement.asked, document.exposure.disk)
    return max(document.users + measurement.asked, planned)


def _wrong_promise(parameters: Parameters, facts: PrivacyFacts) -> Iterator[str]:
    promised, unit = parameters.promised_epsilon, parameters.promised_unit
    if promised is None:
        return
    spent = central_epsilon(facts.collection.in_sums_of(None, facts.colluders), facts.delta, unit)
    if spent > promised:
        yield f"a central ε of {promised:g} for one {unit} was promised, and it is {spent:g}"


def _wrong_layers(document: ReleaseDocument) -> Iterator[str]:
    parameters = document.parameters
    asked = sum(layer.asked for layer in document.layers)
    if asked > document.users:
        yield f"{asked:,} users were asked, but there are {document.users:,}"
    for layer in document.layers:
        if parameters.drawn and layer.reports < counted_in_batches(parameters, layer.asked, document.exposure.disk):
            yield f"{layer_name(layer)} has {layer.reports:,} reports, fewer than were planned"
        if not parameters.drawn and layer.reports > layer.asked:
            yield f"{layer_name(layer)} has {layer.reports:,} reports from {layer.asked:,} users"
        fewest = fewest_reports(parameters, layer.candidates)
        if layer.decided != (layer.reports >= fewest):
            yield f"{layer_name(layer)} has {layer.reports:,} reports, and {fewest:,} decide a layer"
        if layer.kept > parameters.frontier or layer.kept + layer.words > layer.candidates:
            yield f"{layer_name(layer)} kept {layer.kept:,} prefixes and {layer.words:,} words, more than it may"
        if not layer.decided and layer.kept + layer.words + layer.fewest_votes:
            yield f"{layer_name(layer)} is not decided, but something of it was kept"
    pass_number, number = 1, 0
    for layer in document.layers:
        if (layer.pass_number, layer.layer) not in {(pass_number, number + 1), (pass_number + 1, 1)}:
            yield f"{layer_name(layer)} comes after pass {pass_number} layer {number}"
        pass_number, number = layer.pass_number, layer.layer
    if pass_number > parameters.passes:
        yield f"pass {pass_number} is one more than the parameters allow"
    if parameters.layers is None:
        yield from _wrong_trie(document)


def _wrong_trie(document: ReleaseDocument) -> Iterator[str]:
    """Layers that do not extend what the one before kept."""
    if document.prefixes:
        yield f"it lists {len(document.prefixes):,} prefixes that words lie behind, and a trie asks about all of them"
    firsts = {layer.pass_number: layer for layer in reversed(document.layers)}
    characters = document.alphabet.symbols - 1
    for first in firsts.values():
        if first.length != 1 or first.candidates != characters * document.alphabet.symbols:
            yield f"{layer_name(first)} does not begin with the {characters:,} characters of the alphabet"
    for before, after in pairwise(document.layers):
        if before.pass_number == after.pass_number and (
            after.length != before.length + before.extension
            or after.candidates != before.kept * document.alphabet.symbols
        ):
            yield f"{layer_name(after)} does not follow from the {before.kept:,} prefixes that the layer before it kept"


def _wrong_words(document: ReleaseDocument) -> Iterator[str]:
    parameters = document.parameters
    layers = {(layer.pass_number, layer.layer): layer for layer in document.layers}
    if len({word.word for word in document.words}) != len(document.words):
        yield "a word is released twice"
    listed: dict[tuple[int, int], list[tuple[int, ReleasedWord]]] = {}
    for number, word in enumerate(document.words, 1):
        listed.setdefault((word.pass_number, word.layer), []).append((number, word))
    for key, layer in layers.items():
        if len(listed.get(key, [])) != layer.words:
            yield f"{layer_name(layer)} ended {layer.words:,} words, and {len(listed.get(key, [])):,} are listed"
    for key in listed.keys() - layers.keys():
        yield f"words are listed for pass {key[0]} layer {key[1]}, which is not there"
    for key, layer in layers.items():
        if not layer.decided or not (layer.kept or layer.words):
            continue
        assert parameters.epsilon is not None
        channel = randomizer(
            parameters.randomizer, layer.candidates, parameters.epsilon, parameters.words_per_user
        ).channel
        least = document.anonymity.votes_needed(channel, layer.reports)
        if layer.fewest_votes < least:
            yield f"{layer_name(layer)} kept what has {layer.fewest_votes:,} votes, and {least:,} are needed"
        if parameters.layers is not None:  # the votes of its words are of several layers, as their documents tell
            continue
        for number, word in listed.get(key, []):
            if word.since != word.layer:
                yield f"word {number} is judged since layer {word.since}, and only {layer_name(layer)} asked about it"
        fitting = []
        for number, word in listed.get(key, []):
            if not max(least, layer.fewest_votes) <= word.votes <= channel.trials(layer.reports):
                yield f"word {number} has {word.votes:,} votes, which {layer_name(layer)} would not release"
            elif not layer.length <= len(word.word) < layer.length + layer.extension:
                yield f"word {number} has {len(word.word)} characters and can't end in {layer_name(layer)}"
            else:
                fitting.append((f"word {number}", word))
        yield from wrong_estimates(VoteLaw(channel, layer.reports, document.users), least, fitting)


def _places(document: ReleaseDocument) -> int:
    """The candidates of a measurement of the words released; none, if there are none."""
    parameters, words = document.parameters, len(document.words)
    if not words or parameters.epsilon is None:
        return 0
    domain = closed_domain(parameters.randomizer, words, parameters.epsilon, parameters.words_per_user)
    return domain.randomizer.candidates


def _wrong_measurement(document: ReleaseDocument) -> Iterator[str]:
    measurement, parameters = document.measurement, document.parameters
    if measurement is None:
        return
    fewest = fewest_reports(parameters, max(1, measurement.candidates))
    if measurement.decided != (measurement.asked > 0 and measurement.reports >= fewest):
        yield f"the measurement has {measurement.reports:,} reports, and {fewest:,} decide it"
    if not measurement.decided:
        if measurement.words or measurement.other_votes or measurement.coverage:
            yield "the measurement is not decided, but something of it was released"
        return
    try:
        check_rate(measurement.rate)
    except ParameterError as error:
        yield str(error)
        return
    if [word.word for word in measurement.words] != sorted(word.word for word in document.words):
        yield "the words measured are not those released, in order"
        return
    assert parameters.epsilon is not None
    listed = len(measurement.words)
    domain = closed_domain(parameters.randomizer, listed, parameters.epsilon, parameters.words_per_user)
    votes = [word.votes for word in measurement.words] + list(measurement.other_votes)
    most = domain.randomizer.channel.trials(measurement.reports)
    if len(votes) != measurement.candidates or not all(0 <= number <= most for number in votes):
        yield "the measurement has votes that its reports can't have given"
        return
    tally = Tally(np.array(votes, np.int64), measurement.reports)
    drawn = parameters.drawn
    share, held = figures(domain, tally, measurement.rate, measurement.asked, document.users, drawn=drawn)
    stated = [[word.estimate, word.low, word.high] for word in measurement.words]
    right = np.abs(np.array(stated) - np.column_stack([held.estimate, held.low, held.high])).max(axis=1) <= ROUNDED
    for index in np.flatnonzero(~right):
        yield f"measured word {index + 1} has an estimate or an interval that does not follow from its votes"
    claimed = measurement.coverage
    if (share is None) != (claimed is None) or (
        share
        and claimed
        and max(abs(a - b) for a, b in zip(astuple(share), astuple(claimed), strict=True)) > ROUNDED_SHARE
    ):
        yield "the coverage measured does not follow from the votes"


def _claims(name: str, recomputed: object, stated: object) -> Iterator[Claim]:
    """Every figure and sentence of a statement, beside what it should be."""
    if isinstance(recomputed, Mapping):
        if not isinstance(stated, Mapping):
            yield Claim(name, stated, dict(recomputed), covered=False)
            return
        for key in [*recomputed, *(key for key in stated if key not in recomputed)]:
            inner = f"{name}.{key}" if name else str(key)
            yield from _claims(inner, recomputed.get(key), stated.get(key))
    elif isinstance(recomputed, list):
        found = {str(index): entry for index, entry in enumerate(stated)} if isinstance(stated, list) else stated
        yield from _claims(name, {str(index): entry for index, entry in enumerate(recomputed)}, found)
    else:
        yield Claim(name, stated, recomputed, _covered(name, stated, recomputed))


def _covered(name: str, stated: object, recomputed: object) -> bool:
    if isinstance(stated, bool) or not isinstance(stated, int | float) or not isinstance(recomputed, int | float):
        return stated == recomputed
    last = name.rpartition(".")[2]
    if last in SAFER_SMALLER:
        least, tolerance = SAFER_SMALLER[last]
        return least <= stated <= recomputed * (1 + tolerance)
    if SAFER_LARGER.search(name):
        return stated >= recomputed * (1 - TOLERANCE)
    return stated == recomputed


def claim_rows(certification: Certification) -> list[dict[str, object]]:
    """The claims as plain values."""
    return [asdict(claim) for claim in certification.claims]
