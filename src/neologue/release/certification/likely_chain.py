"""Whether the documents of layers that ask about what is likely bear out a release.

Each document repeats the rounds of the one before and adds one, whose roots are among the prefixes that were asked
about. So from the documents it follows which layers asked about a word, and how many reports its votes are of.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from neologue.discovery.estimates import VoteLaw
from neologue.discovery.result import ReleasedPrefix, ReleasedWord
from neologue.language.candidates import strings
from neologue.language.likely_candidates import RootRound
from neologue.language.likely_roots import NO_PREFIXES
from neologue.protocol.layer import LikelyLayer
from neologue.release.asked_layer import AskedLayer, layer_name
from neologue.release.certification.wrong_estimates import wrong_estimates
from neologue.release.codec import ReleaseDocument


def contradicted_facts(each: AskedLayer) -> Iterator[str]:
    """The facts of a layer beside its document."""
    layer, facts = each.layer, each.facts
    asked = {
        "pass": (layer.pass_number, facts.pass_number),
        "layer": (layer.number, facts.layer),
        "users asked": (layer.layer_size, facts.asked),
        "candidates": (layer.candidates.size, facts.candidates),
    }
    for what, (told, stated) in asked.items():
        if told != stated:
            yield f"the document of {each.name} has {told:,} as {what}, and the release states {stated:,}"


def unfinished_passes(document: ReleaseDocument) -> Iterator[str]:
    """Passes that end before their last layer, and layers that are not as large as they all are."""
    parameters = document.parameters
    layers = parameters.layers or 1
    equal = document.users // (parameters.passes * layers)
    for pass_number in range(1, parameters.passes + 1):
        asked = [layer for layer in document.layers if layer.pass_number == pass_number]
        if len(asked) < layers and (not asked or asked[-1].decided):
            yield f"pass {pass_number} is not at its end: it has {len(asked)} of {layers} layers"
        for layer in asked:
            if layer.asked != equal:
                yield f"{layer_name(layer)} asked {layer.asked:,} users, which is not its share of {document.users:,}"


def wrong_chain(chain: Sequence[AskedLayer], document: ReleaseDocument) -> Iterator[str]:
    """Layers that do not go on from the one before, and words that no device of their layer could have voted for."""
    for each in chain:
        here = (each.facts.pass_number, each.facts.layer)
        earlier = {word.word for word in document.words if (word.pass_number, word.layer) < here}
        if each.layer.found.words != earlier:
            yield f"the devices of {each.name} were told other words as found before than the release has"
        last = each.facts.layer == document.parameters.layers
        if (_likely(each).asked.rounds[-1].prefix_limit == NO_PREFIXES) != last:
            yield f"the document of {each.name} asks about prefixes in the last layer of a pass, or about none before"
        if last and each.facts.kept:
            yield f"{each.name} kept {each.facts.kept:,} prefixes, and asks about none"
        if not (each.facts.kept or each.facts.words) and each.facts.fewest_votes:
            yield f"{each.name} kept nothing, and its fewest votes are {each.facts.fewest_votes:,}"
        if len(_likely(each).asked.rounds) != each.facts.layer:
            yield f"the document of {each.name} does not have one round for each layer of its pass so far"
    if not chain:
        return
    first = _likely(chain[0]).asked.spelling
    for before, after in pairwise(chain):
        asked, now = _likely(before).asked, _likely(after).asked
        if (now.spelling.contexts, now.spelling.symbols) != (first.contexts, first.symbols) or not (
            np.array_equal(now.spelling.costs, first.costs) and np.array_equal(now.spelling.backoffs, first.backoffs)
        ):
            yield f"the document of {after.name} has another spelling than that of the first layer"
        if before.facts.pass_number != after.facts.pass_number:
            continue
        if len(now.rounds) != len(asked.rounds) + 1 or not all(map(_same_round, asked.rounds, now.rounds)):
            yield f"the document of {after.name} does not repeat the rounds of the layer before it"
            continue
        kept = now.rounds[-1].prefixes
        if len(kept) > before.facts.kept or not asked.fresh.roots.ask(kept, asked.rounds[-1].prefix_limit).all():
            yield f"the document of {after.name} has roots that the layer before it did not ask about"
        most = [*(each.again for each in asked.rounds[:-1]), asked.rounds[-1].limit]
        if any(each.again > limit for each, limit in zip(now.rounds[:-1], most, strict=True)):
            yield f"the document of {after.name} asks again about words that the layer before it did not ask about"
    for number, each in enumerate(chain):
        yield from _wrong_words(each, chain[:number], document)
    yield from _wrong_prefixes(chain, document)


def _likely(each: AskedLayer) -> LikelyLayer:
    assert isinstance(each.layer, LikelyLayer)
    return each.layer


def _same_round(one: RootRound, other: RootRound) -> bool:
    """Whether two layers have the same round, whatever they ask about again of it."""
    return (one.limit, one.prefix_limit) == (other.limit, other.prefix_limit) and all(
        np.array_equal(mine, others)
        for mine, others in (
            (one.prefixes, other.prefixes),
            (one.costs, other.costs),
            (one.even_costs, other.even_costs),
        )
    )


def _wrong_words(each: AskedLayer, earlier: Sequence[AskedLayer], document: ReleaseDocument) -> Iterator[str]:
    """Words that no device of a layer could have voted for, or not as often, or with other estimates."""
    here = (each.facts.pass_number, each.facts.layer)
    released = [
        (number, word) for number, word in enumerate(document.words, 1) if (word.pass_number, word.layer) == here
    ]
    if not released:
        return
    layer = _likely(each)
    texts = strings([word.word for _, word in released])
    index = layer.candidates.index(texts)
    belongs = index >= 0
    spelled, ended = layer.candidates.prefixes(index[belongs])
    belongs[belongs] = ended & (spelled == texts[belongs])
    parts = np.searchsorted(layer.candidates.starts, index, side="right") - 1
    reports = [one.facts.reports for one in earlier if one.facts.pass_number == each.facts.pass_number]
    channel = layer.randomizer.channel
    left = (document.parameters.layers or 1) - each.facts.layer
    fitting: dict[tuple[int, ...], list[tuple[str, ReleasedWord]]] = {}
    for (number, word), part, asked in zip(released, parts.tolist(), belongs.tolist(), strict=True):
        spelled_here = layer.alphabet.spells(word.word, layer.depth) and word.word not in layer.found
        if not asked or not spelled_here or (layer.targets is not None and word.word not in layer.targets):
            yield f"word {number} is none that the devices of {each.name} were asked about"
            continue
        if word.since != (part or each.facts.layer):
            yield f"word {number} is judged since layer {word.since}, and layer {part or each.facts.layer} asked first"
            continue
        since = reports[part - 1 :] if part else []
        asked_by = (*since, each.facts.reports)
        needed = document.anonymity.summed_votes_needed(channel, asked_by, left)
        if not max(needed, each.facts.fewest_votes) <= word.votes <= channel.trials(sum(asked_by)):
            yield f"word {number} has {word.votes:,} votes, which {each.name} would not release"
            continue
        fitting.setdefault(asked_by, []).append((f"word {number}", word))
    for asked_by, words in fitting.items():
        users = len(asked_by) * layer.layer_size if document.parameters.drawn else None
        law = VoteLaw(channel, sum(asked_by), document.users, users)
        yield from wrong_estimates(law, document.anonymity.summed_votes_needed(channel, asked_by, left), words)


def _wrong_prefixes(chain: Sequence[AskedLayer], document: ReleaseDocument) -> Iterator[str]:
    """Prefixes that are not the roots of the last layer of a pass, with the votes that the layer before kept them by.

    What these roots are, its devices were told: so none can be left out, and none made up.
    """
    listed: dict[int, list[tuple[str, ReleasedPrefix]]] = {each.facts.pass_number: [] for each in chain}
    for number, kept in enumerate(document.prefixes, 1):
        listed.setdefault(kept.pass_number, []).append((f"prefix {number}", kept))
    for pass_number, prefixes in listed.items():
        asked = [each for each in chain if each.facts.pass_number == pass_number]
        roots = _likely(asked[-1]).asked.rounds[-1].prefixes.tolist() if len(asked) > 1 else []
        if sorted(kept.prefix for _, kept in prefixes) != roots:
            yield f"the prefixes of pass {pass_number} are not the {len(roots):,} that its last layer went on from"
        elif roots:
            yield from _wrong_votes(prefixes, asked[-2], document)


def _wrong_votes(
    prefixes: Sequence[tuple[str, ReleasedPrefix]], kept_by: AskedLayer, document: ReleaseDocument
) -> Iterator[str]:
    """Prefixes that the layer that kept them would not have kept, or with other estimates."""
    layer, facts = _likely(kept_by), kept_by.facts
    channel = layer.randomizer.channel
    needed = document.anonymity.votes_needed(channel, facts.reports)
    fitting = []
    for name, kept in prefixes:
        if kept.layer != facts.layer:
            yield f"{name} is one of layer {kept.layer}, and {kept_by.name} kept it"
        elif not max(needed, facts.fewest_votes) <= kept.votes <= channel.trials(facts.reports):
            yield f"{name} has {kept.votes:,} votes, with which {kept_by.name} would not keep it"
        else:
            fitting.append((name, kept))
    users = layer.layer_size if document.parameters.drawn else None
    yield from wrong_estimates(VoteLaw(channel, facts.reports, document.users, users), needed, fitting)
