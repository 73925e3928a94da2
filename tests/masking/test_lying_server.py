"""A server that lies to honest devices reads the votes of one of them."""

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

from groups import Run, name, some_terms
from neologue.aggregation.masked_group import Stage
from neologue.masking import shamir
from neologue.masking.keys import mask_pair, pairwise_mask_key, self_mask_key
from neologue.masking.masks import add_mask, subtract_mask
from neologue.masking.messages import Delivery, Kind, MaskedVector, Request, Roster, Unmasking
from neologue.masking.rules import GroupRules
from neologue.masking.vote_packing import unpack

RULES = GroupRules()
VICTIM = 0


def test_the_votes_of_one_device_come_out() -> None:
    terms = some_terms(entries=40, smallest=RULES.smallest, dropout=RULES.dropout, corruption=RULES.corruption)
    votes = [np.random.default_rng(number).integers(0, 2, 40) for number in range(RULES.size)]
    run = Run(terms, votes).go_to(Stage.SHARING)
    rosters = [Roster.parse(run.server.message_for(device) or b"", terms) for device in run.members]
    group, around = rosters[0].group, [list(roster.neighbours) for roster in rosters]
    degree, threshold = group.neighbourhood.degree, group.neighbourhood.threshold
    run.step()
    told = around[VICTIM][:threshold]
    vectors = {}
    for number, (device, member) in enumerate(run.members.items()):
        delivery = Delivery.parse(run.server.message_for(device) or b"", group)
        if number == VICTIM:
            pairs = zip(around[number], delivery.deals, strict=True)
            delivery = Delivery(number, tuple(deal if other in told else None for other, deal in pairs))
        vectors[number] = member.mask(delivery.body(group))
    # Which device says of which of the told ones that it dropped out: a flow from those told to their neighbours.
    size = RULES.size
    flow = np.zeros((2 * size + 2, 2 * size + 2), np.int32)
    for other in told:
        flow[2 * size, other] = threshold
        for holder in around[other]:
            flow[other, size + holder] = holder != VICTIM
    flow[size : 2 * size, 2 * size + 1] = degree - threshold
    found = maximum_flow(csr_array(flow), 2 * size, 2 * size + 1)
    assert found.flow_value == threshold * threshold
    given = found.flow.toarray()
    seeds: dict[int, int] = {}
    keys: dict[int, dict[int, int]] = {other: {} for other in told}
    for holder in range(size):
        if holder == VICTIM:
            continue
        wanted = tuple(
            Kind.KEY if other in keys and given[other, size + holder] > 0 else Kind.SEED for other in around[holder]
        )
        answer = run.members[name(holder)].unmask(Request(holder, size, wanted).body(group))
        for other, (kind, share) in zip(around[holder], Unmasking.parse(answer, group).shares, strict=True):
            if other == VICTIM and kind is Kind.SEED:
                seeds[holder + 1] = share
            if kind is Kind.KEY:
                keys[other][holder + 1] = share
    entries = unpack(MaskedVector.parse(vectors[VICTIM], group).packed, group.bits, terms.entries)
    subtract_mask(entries, self_mask_key(shamir.reconstruct(seeds, threshold), group, VICTIM))
    for other in told:
        pair = mask_pair(shamir.reconstruct(keys[other], threshold), terms.digest)
        mine = next(roster.neighbours[VICTIM] for roster in rosters if VICTIM in roster.neighbours)
        key = pairwise_mask_key(pair, mine.keys.masking, group, (VICTIM, other))
        (subtract_mask if other > VICTIM else add_mask)(entries, key)
    assert (entries & ((1 << group.bits) - 1)).tolist() == votes[VICTIM].tolist()

