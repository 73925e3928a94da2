"""The documents of layers that ask about what is likely: each agrees with its facts, and still they may be no chain."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.language.candidates import strings
from neologue.language.likely_candidates import LikelyCandidates, RootRound
from neologue.language.likely_roots import NO_PREFIXES
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import LikelyLayer
from neologue.protocol.signed_document import digest
from neologue.release.certification.certificate import certify
from neologue.release.codec import Provenance, decode_release, release_document
from neologue.release.layer_archive import by_digest

Json = dict[str, Any]
Forge = Callable[[LikelyLayer], LikelyLayer]

SHARES = {"abba": 0.6, "cab": 0.5, "bac": 0.4, "cabbac": 0.5, "hhghghg": 0.5, "ghhgegh": 0.4}
USERS = 3000


@cache
def truth() -> tuple[str, dict[str, bytes]]:
    """A release of own data with drawn slots, and the documents of its three layers."""
    lots = random.Random(7)
    held = {f"user {n}": {word: 1 for word, share in SHARES.items() if lots.random() < share} for n in range(USERS)}
    population = Population.from_words({user: words or {"bb": 1} for user, words in held.items()})
    campaign = Campaign.from_profile(
        users=USERS,
        alphabet=Alphabet("abcdefgh"),
        known=Vocabulary(["bb", "abbacab", "cabbaca", "bacabba", "aabbacc"]),
        candidates=3000,
        depth=8,
        epsilon=3.0,
        layers=3,
        words_per_user=4,
        delta=1e-6,
    )
    found = discover(population, campaign, seed=1)
    said = release_document(found.release, Provenance("people", "fast"))
    return json.dumps(said), by_digest(found.documents)


def release() -> Json:
    document: Json = json.loads(truth()[0])
    return document


def objections_to(document: Json, *forged: LikelyLayer) -> tuple[str, ...]:
    document["digest"] = digest(document)
    read = decode_release(json.dumps(document).encode(), "release.json")
    return certify(read, truth()[1] | by_digest(layer.document for layer in forged)).objections


def told_otherwise(number: int, forge: Forge) -> tuple[str, ...]:
    """What certify objects to if a layer has another document, whose digest and number of candidates are stated."""
    document = release()
    honest = read_layer(truth()[1][document["layers"][number - 1]["digest"]])
    assert isinstance(honest, LikelyLayer)
    forged = forge(honest)
    document["layers"][number - 1].update(digest=forged.digest.hex(), candidates=forged.candidates.size)
    return objections_to(document, forged)


def with_rounds(change: Callable[[tuple[RootRound, ...]], tuple[RootRound, ...]]) -> Forge:
    def forge(layer: LikelyLayer) -> LikelyLayer:
        return replace(layer, asked=LikelyCandidates(layer.asked.spelling, change(layer.asked.rounds)))

    return forge


def with_newest(**changes: Any) -> Forge:  # noqa: ANN401
    return with_rounds(lambda rounds: (*rounds[:-1], replace(rounds[-1], **changes)))


def with_first(change: Callable[[RootRound], RootRound]) -> Forge:
    return with_rounds(lambda rounds: (change(rounds[0]), *rounds[1:]))


def with_one_more_root(rounds: tuple[RootRound, ...]) -> tuple[RootRound, ...]:
    newest = rounds[-1]
    kept = newest.prefixes.tolist()
    more = next(letter for letter in "abcdefgh" if letter not in kept)
    place = int(np.searchsorted(newest.prefixes, more))
    return (
        *rounds[:-1],
        replace(
            newest,
            prefixes=strings(sorted([*kept, more])),
            costs=np.insert(newest.costs, place, newest.costs.max()),
            even_costs=np.insert(newest.even_costs, place, newest.even_costs.max()),
            limit=newest.prefix_limit - 20,
            prefix_limit=newest.prefix_limit - 20,
        ),
    )


def with_other_costs(layer: LikelyLayer) -> LikelyLayer:
    spelling = layer.asked.spelling
    costs = spelling.costs.copy()
    costs[-1] += 1
    return replace(layer, asked=LikelyCandidates(replace(spelling, costs=costs), layer.asked.rounds))


CHAINS: dict[str, tuple[int, Forge, str]] = {
    "words found before are not told": (
        2,
        lambda layer: replace(layer, found=Vocabulary.empty()),
        "the devices of pass 1 layer 2 were told other words as found before than the release has",
    ),
    "a word more is told as found": (
        2,
        lambda layer: replace(layer, found=Vocabulary([*layer.found.words, "abc"])),
        "the devices of pass 1 layer 2 were told other words as found before than the release has",
    ),
    "prefixes are asked about in the last layer": (
        3,
        with_newest(prefix_limit=40),
        "the document of pass 1 layer 3 asks about prefixes in the last layer of a pass, or about none before",
    ),
    "no prefixes are asked about before": (
        2,
        with_newest(prefix_limit=NO_PREFIXES),
        "the document of pass 1 layer 2 asks about prefixes in the last layer of a pass, or about none before",
    ),
    "a round is missing": (
        3,
        with_rounds(lambda rounds: (rounds[0], replace(rounds[1], prefix_limit=NO_PREFIXES, again=0))),
        "the document of pass 1 layer 3 does not have one round for each layer of its pass so far",
    ),
    "another spelling": (
        2,
        with_other_costs,
        "the document of pass 1 layer 2 has another spelling than that of the first layer",
    ),
    "an earlier round went further": (
        2,
        with_first(lambda first: replace(first, limit=first.limit + 1)),
        "the document of pass 1 layer 2 does not repeat the rounds of the layer before it",
    ),
    "more roots than prefixes were kept": (
        2,
        with_rounds(with_one_more_root),
        "the document of pass 1 layer 2 has roots that the layer before it did not ask about",
    ),
    "words come back that the layer before no longer asked about": (
        2,
        with_first(lambda first: replace(first, again=first.limit - 20)),
        "the document of pass 1 layer 3 asks again about words that the layer before it did not ask about",
    ),
}


def test_the_release_passes() -> None:
    assert objections_to(release()) == ()
    assert all(layer["words"] or layer["kept"] for layer in release()["layers"][:2])


@pytest.mark.parametrize("name", CHAINS)
def test_layers_that_are_no_chain_are_objected_to_though_each_agrees_with_its_facts(name: str) -> None:
    number, forge, objection = CHAINS[name]
    assert told_otherwise(number, lambda layer: layer) == ()
    assert objection in told_otherwise(number, forge)


def word_of(document: Json, layer: int) -> Json:
    """The first word that a layer released."""
    found: Json = next(word for word in document["words"] if word["layer"] == layer)
    return found


def put_word(layer: int, **changes: Any) -> Callable[[Json], None]:  # noqa: ANN401
    return lambda document: word_of(document, layer).update(changes)


def put_layer(layer: int, **changes: Any) -> Callable[[Json], None]:  # noqa: ANN401
    return lambda document: document["layers"][layer - 1].update(changes)


FACTS: dict[str, tuple[Callable[[Json], None], str]] = {
    "a word that nobody was asked about": (put_word(1, word="dfdfdfd"), "is none that the devices of pass 1 layer 1"),
    "a word longer than the depth": (put_word(1, word="aabbaccaa"), "is none that the devices of pass 1 layer 1"),
    "a word with fewer votes than its layer has": (put_word(1, votes=20), "which pass 1 layer 1 would not release"),
    "a word with more votes than reports": (put_word(1, votes=9_999), "which pass 1 layer 1 would not release"),
    "more fewest votes than a word has": (put_layer(1, fewest_votes=1500), "which pass 1 layer 1 would not release"),
    "fewest votes of nothing": (put_layer(3, fewest_votes=3), "layer 3 kept nothing, and its fewest votes are 3"),
    "a word judged since another layer": (put_word(1, since=2), "is judged since layer 2, and layer 1 asked first"),
    "prefixes kept in the last layer": (put_layer(3, kept=1), "pass 1 layer 3 kept 1 prefixes, and asks about none"),
    "layers of other sizes": (put_layer(2, asked=900), "pass 1 layer 2 asked 900 users, which is not its share"),
    "fewer candidates": (put_layer(2, candidates=2000), "the document of pass 1 layer 2 has"),
}


@pytest.mark.parametrize("name", FACTS)
def test_facts_that_the_documents_contradict_are_objected_to(name: str) -> None:
    change, objection = FACTS[name]
    document = release()
    change(document)
    assert any(objection in each for each in objections_to(document))


def test_a_pass_that_ends_early_is_objected_to() -> None:
    document = release()
    document["layers"].pop()
    assert "pass 1 is not at its end: it has 2 of 3 layers" in objections_to(document)
