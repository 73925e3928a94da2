"""What a device holds in memory for a likely layer as large as those of a million users."""

import tracemalloc

import numpy as np

from neologue import Alphabet, Campaign, Vocabulary
from neologue.device.contribution import contribute
from neologue.language.candidates import strings
from neologue.language.likely_candidates import LikelyCandidates
from neologue.language.spelling_training import learn_spelling
from neologue.layout.likely_rounds import first_candidates, next_candidates
from neologue.protocol.documents import read_layer
from neologue.protocol.layer import LikelyLayer

ROOTS = 17_000
"""As many as the first layer of a million users keeps."""
ROOM = 1 << 24
MOST = 48 << 20


def layer_of(asked: LikelyCandidates, campaign: Campaign) -> LikelyLayer:
    return LikelyLayer(
        pass_number=1,
        number=2,
        layer_size=250_000,
        alphabet=campaign.alphabet,
        depth=15,
        mechanism="unary",
        epsilon=9.7,
        bound=60,
        sampler="random",
        known=Vocabulary.empty(),
        form=campaign.form,
        asked=asked,
    )


def test_a_layer_of_a_million_users_fits_into_a_phone() -> None:
    known = Vocabulary.builtin("en")
    campaign = Campaign.from_profile(users=1_000_000, known=known, alphabet=Alphabet.named("en"), epsilon=10.0)
    first = first_candidates(learn_spelling(campaign.alphabet, campaign.known.words), ROOM, last=False)
    texts, ended = first.prefixes(np.arange(0, first.fresh.size, 20))
    kept = strings(sorted(set(texts[~ended].tolist()))[:ROOTS])
    assert len(kept) == ROOTS
    second = next_candidates(first, kept, np.full(ROOTS, 1e-4), ROOM, last=False)
    document = layer_of(second, campaign).document
    words = dict.fromkeys(("yeet", "xqzjkv", "postgresql", "lol"), 1)
    tracemalloc.start()
    try:
        contribute(words, read_layer(document, Vocabulary.empty()))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MOST
