"""The policy: a device refuses what its owner would not accept, whatever a server says and whoever signed it."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from closed import small_closed_layer
from invitations import OPERATOR, STRANGER, campaign_id, default_policy, invitation, policy
from layers import small_campaign, small_layer
from neologue.campaign.campaign import Campaign
from neologue.campaign.profiles import PROFILES
from neologue.device.policy import Policy, epsilon_of, round_up
from neologue.errors import ParameterError, PolicyError
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates, root, strings
from neologue.language.vocabulary import Vocabulary
from neologue.layout.schedule import foreseen_collection
from neologue.protocol.invitation import MOST_PROOF_BYTES, Invitation, invite
from neologue.protocol.layer import ExtendingLayer, Layer
from neologue.protocol.report import HEADER_BYTES
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Unary

OPERATORS = frozenset({OPERATOR.public_key().public_bytes_raw()})


def refusal(given: Invitation, by: Policy, spent: Fraction = Fraction(0)) -> str:
    """What the policy says to an invitation that it refuses."""
    with pytest.raises(PolicyError) as caught:
        by.check(given, spent)
    return str(caught.value)


# What is accepted


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_an_ordinary_layer_of_a_known_operator_is_accepted(mechanism: str) -> None:
    policy().check(invitation(mechanism=mechanism))


@pytest.mark.parametrize(
    ("name", "epsilon", "prefixes", "extension"),
    [("neologue", 7.0, 0, 2), ("neologue", 10.0, 0, 2), ("gboard-2024", 10.0, 0, 1), ("gboard-2024", 10.0, 9801, 1)],
    ids=["at 15 million users", "at 300,000 users", "the first layer of the paper", "the second one"],
)
def test_the_default_limits_accept_what_the_profiles_ask(
    name: str, epsilon: float, prefixes: int, extension: int
) -> None:
    parameters = PROFILES[name].parameters
    alphabet = Alphabet.named(PROFILES[name].alphabet)
    pairs = ["".join(pair) for pair in product(alphabet.characters, repeat=2)]
    layer = ExtendingLayer(
        pass_number=1,
        number=1,
        layer_size=parameters.smallest_layer,
        alphabet=alphabet,
        frontier=strings(pairs[:prefixes]) if prefixes else root(alphabet),
        extension=extension,
        depth=parameters.depth,
        mechanism=parameters.randomizer,
        epsilon=epsilon,
        bound=parameters.words_per_user,
        sampler=parameters.sampler,
        known=Vocabulary.empty(),
    )
    default_policy().check(invite(campaign_id(1), layer, OPERATOR))
    assert parameters.report_bytes <= Policy().largest_report
    assert parameters.candidates <= Policy().largest_layer


@pytest.mark.parametrize(
    ("name", "users", "changes"),
    [
        *(("neologue", users, {}) for users in (1500, 20_000, 1_000_000, 15_000_000)),
        ("neologue", 3000, {"candidates": 100_000}),
        *(("gboard-2024", users, {}) for users in (3000, 15_000_000)),
    ],
)
def test_every_layer_that_is_foreseen_says_of_a_word_what_the_default_limits_permit(
    name: str, users: int, changes: dict[str, Any]
) -> None:
    alphabet = Alphabet.named("en" if name == "neologue" else "paper")
    collection = foreseen_collection(
        Campaign.from_profile(name, users=users, alphabet=alphabet, **{"epsilon": 10.0} | changes)
    )
    for batch in collection.batches:
        channel = collection.randomizer(batch).channel
        assert channel.vote_ratio <= Policy.largest_vote_ratio
        assert channel.silence_ratio <= Policy.largest_silence_ratio
        assert channel.contributions * batch.candidates * channel.q >= Policy.fewest_noise_votes


# Who may ask


def test_by_default_nobody_may_ask() -> None:
    assert "not one of the 0 that this device answers; its owner can add the key" in refusal(invitation(), Policy())


def test_an_operator_who_is_not_named_is_refused_by_their_key() -> None:
    stranger = invite(campaign_id(1), small_layer(["ab"]), STRANGER)
    assert stranger.genuine
    assert STRANGER.public_key().public_bytes_raw().hex() in refusal(stranger, policy())


def test_a_forged_signature_is_refused() -> None:
    forged = replace(
        invite(campaign_id(1), small_layer(["ab"]), STRANGER), operator=OPERATOR.public_key().public_bytes_raw()
    )
    assert "signature is not the operator's" in refusal(forged, policy())


def test_a_layer_altered_on_the_way_is_refused() -> None:
    signed = invitation(epsilon=1.0)
    altered = replace(signed, layer=replace(signed.layer, epsilon=9.0))
    assert "signature is not the operator's" in refusal(altered, policy())


def test_a_device_that_is_switched_off_answers_nobody() -> None:
    assert "its owner has switched that off" in refusal(invitation(), policy(enabled=False))


def test_a_proof_beside_an_invitation_is_bounded_and_otherwise_ignored() -> None:
    for proof in (None, b"", bytes(MOST_PROOF_BYTES)):
        policy().check(replace(invitation(), proof=proof))
    assert "more than 8,192 bytes" in refusal(replace(invitation(), proof=bytes(MOST_PROOF_BYTES + 1)), policy())


# Each limit, at its edge and one step beyond

LIMITS: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any], str]] = [
    (
        {"largest_epsilon": 3.0},
        {"epsilon": 3.0},
        {"epsilon": math.nextafter(3.0, 4)},
        r"ε is 3\.0000000000000004, above the 3\.0 .*its owner can change largest_epsilon",
    ),
    (
        {"largest_user_epsilon": 12.0},
        {"bound": 4},
        {"bound": 5},
        r"5 words with an ε of 3\.0 each are above the 12\.0 .*largest_user_epsilon",
    ),
    (
        {"smallest_layer_size": 1000},
        {"layer_size": 1000},
        {"layer_size": 999},
        r"asks 999 users, below the 1,000 .*smallest_layer_size",
    ),
    ({"longest_word": 6}, {"depth": 6}, {"depth": 7}, r"words of 7 characters, above the 6 .*longest_word"),
    (
        {"largest_layer": 26},
        {"extension": 2},
        {"extension": 3},
        r"2 prefixes and up to 3 of 4 symbols make more than the 26 candidates .*largest_layer",
    ),
    ({"most_votes": 4}, {"bound": 4}, {"bound": 5}, r"room for 5 words, above the 4 .*most_votes"),
]


@pytest.mark.parametrize(("limit", "at", "beyond", "said"), LIMITS, ids=[next(iter(limit[0])) for limit in LIMITS])
def test_each_limit_holds_at_its_edge(
    limit: dict[str, Any], at: dict[str, Any], beyond: dict[str, Any], said: str
) -> None:
    policy(**limit).check(invitation(**at))
    with pytest.raises(PolicyError, match=said):
        policy(**limit).check(invitation(**beyond))


def test_what_a_vote_says_holds_at_its_edge() -> None:
    asked, closed = invitation(epsilon=3.0), small_closed_layer(["abc"], epsilon=3.0)
    ratio = (math.exp(3.0) + 1) / 2
    edges = (
        (asked, "largest_vote_ratio", "for a layer"),
        (invite(campaign_id(1), closed, OPERATOR), "largest_closed_vote_ratio", "for a list of words"),
    )
    for offered, limit, said in edges:
        policy(**{limit: ratio * (1 + 1e-12)}).check(offered)
        refused = refusal(offered, policy(**{limit: ratio * (1 - 1e-12)}))
        assert "a vote would multiply the odds that a word is held by 10.5428, above the 10.5428" in refused
        assert f"{said} that this device accepts; its owner can change {limit}" in refused
    policy(largest_closed_vote_ratio=1.0).check(asked)
    policy(largest_vote_ratio=1.0).check(edges[1][0])


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_what_a_missing_vote_says_holds_at_its_edge(mechanism: str) -> None:
    asked = invitation(epsilon=3.0, mechanism=mechanism)
    ratio = float(asked.layer.randomizer.channel.silence_ratio)
    policy(largest_silence_ratio=ratio * (1 + 1e-12)).check(asked)
    said = refusal(asked, policy(largest_silence_ratio=ratio * (1 - 1e-12)))
    assert f"a missing vote would divide the odds that a word is held by {ratio:,.6g}" in said
    assert "its owner can change largest_silence_ratio" in said


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
def test_the_votes_that_chance_gives_hold_at_their_edge(mechanism: str) -> None:
    asked = invitation(epsilon=3.0, mechanism=mechanism)
    randomizer = asked.layer.randomizer
    noise = float(randomizer.channel.contributions * randomizer.candidates * randomizer.channel.q)
    policy(fewest_noise_votes=noise * (1 - 1e-12)).check(asked)
    said = refusal(asked, policy(fewest_noise_votes=noise * (1 + 1e-12)))
    assert f"8 candidates are so few that chance gives {noise:,.3g} votes" in said
    assert "its owner can change fewest_noise_votes" in said


def test_what_stands_for_other_words_hides_none_of_a_closed_list() -> None:
    closed = small_closed_layer(["abc", "cab"], epsilon=3.0, bound=40)
    assert closed.randomizer.candidates == 42
    asked = invite(campaign_id(1), closed, OPERATOR)
    assert "2 candidates are so few that chance gives 0.0949 votes" in refusal(asked, policy(fewest_noise_votes=1.0))


def test_a_vote_for_a_word_says_of_a_whole_report_no_more_than_of_one_contribution() -> None:
    """The formula of docs/device-policy.md, from the law of how many contributions vote for a word."""
    channel = SubsetSelection(5, 2.0, 4).channel
    p, q, n = channel.p, channel.q, channel.contributions

    def law(k: int, trials: int) -> Fraction:
        return math.comb(trials, k) * q**k * (1 - q) ** (trials - k) if 0 <= k <= trials else Fraction(0)

    for k in range(n + 1):
        ratio = (p * law(k - 1, n - 1) + (1 - p) * law(k, n - 1)) / law(k, n)
        assert ratio == Fraction(k, n) * channel.vote_ratio + Fraction(n - k, n) / channel.silence_ratio
        assert 1 / channel.silence_ratio <= ratio <= channel.vote_ratio


def test_too_many_known_words_are_refused_before_and_after_they_are_read() -> None:
    asked = invitation(known=Vocabulary(["aba", "abc"]))
    policy(most_known_words=2).check(asked)
    assert "more than the 1 words" in refusal(asked, policy(most_known_words=1))
    policy(most_known_words=2, largest_known=7).check_known(b"aba\nabc")
    policy(most_known_words=0, largest_known=0).check_known(b"")
    for limits in ({"most_known_words": 1}, {"largest_known": 6}, {"most_known_words": 0}):
        with pytest.raises(PolicyError, match="its owner can change most_known_words and largest_known"):
            policy(**limits).check_known(b"aba\nabc")


def test_the_longest_report_holds_at_its_edge() -> None:
    asked = invitation(extension=5, epsilon=1.0)
    size = HEADER_BYTES + asked.layer.randomizer.payload_bytes
    policy(largest_report=size).check(asked)
    said = refusal(asked, policy(largest_report=size - 1))
    assert f"a report has {size:,} bytes, above the {size - 1:,}" in said
    assert "largest_report" in said


def test_prefixes_count_towards_the_longest_word() -> None:
    asked = invitation(frontier=["a" * 33])
    assert "words of 33 characters" in refusal(asked, policy())


def test_the_lifetime_holds_at_its_edge() -> None:
    asked = invitation(epsilon=3.0)
    policy(lifetime_epsilon=10.0).check(asked, Fraction(7))
    said = refusal(asked, policy(lifetime_epsilon=10.0), Fraction(7) + Fraction(1, 10**30))
    assert (
        "7.000000000000001 of ε spent before and 3.0 now make 10.000000000000002, above the 10.0 in a lifetime" in said
    )
    assert "lifetime_epsilon" in said


@pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
@pytest.mark.parametrize("epsilon", [0.001, 0.1, 1.0, 7.0, 9.7])
def test_what_is_counted_is_never_less_than_stated_or_enforced(mechanism: str, epsilon: float) -> None:
    layer = small_layer(["ab", "ca"], mechanism=mechanism, epsilon=epsilon)
    assert epsilon_of(layer) >= layer.randomizer.statement.enforced_epsilon
    assert epsilon_of(layer) >= epsilon


def test_a_randomizer_that_enforces_less_than_it_states_is_held_to_what_it_enforces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Unary, "worst_ratio", property(lambda self: Fraction(1000)))  # ln 1000 is about 6.9
    asked = invitation(epsilon=3.0, bound=4)
    policy().check(asked)
    assert "ε is 6.9077552789821" in refusal(asked, policy(largest_epsilon=6.9))
    assert "4 words with an ε of 6.9077552789821" in refusal(asked, policy(largest_user_epsilon=27.6))
    assert "6.9077552789821" in refusal(asked, policy(lifetime_epsilon=6.9))


@given(st.fractions(min_value=0, max_value=10**6))
def test_rounding_up_is_to_the_next_float_and_never_below(value: Fraction) -> None:
    rounded = round_up(value)
    assert Fraction(rounded) >= value
    assert value == 0 or Fraction(math.nextafter(rounded, -math.inf)) < value


# Hostile layers


@pytest.fixture
def nothing_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make it an error to count the candidates of a layer or to build its randomizer."""

    def forbidden(self: object) -> None:
        raise AssertionError("the policy has not said yes")

    monkeypatch.setattr(Candidates, "size", property(forbidden))
    monkeypatch.setattr(Layer, "randomizer", property(forbidden))


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize("extension", [25, 40, 1_000_000, 2**31 - 1])
def test_an_extension_that_makes_countless_candidates_is_refused_without_counting_them(extension: int) -> None:
    assert "candidates" in refusal(invitation(extension=extension), policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_a_huge_alphabet_is_refused_without_counting_candidates() -> None:
    asked = invitation(frontier=["\u4e00"], alphabet=Alphabet("".join(map(chr, range(0x4E00, 0x9FFF)))), extension=2)
    assert "1 prefixes and up to 2 of 20,992 symbols make more than" in refusal(asked, policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_a_prefix_as_long_as_a_book_is_refused_before_any_word_is_laid_beside_it() -> None:
    assert "words of 100,000 characters" in refusal(invitation(frontier=["a" * 100_000]), policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_a_depth_that_takes_in_whole_secrets_is_refused() -> None:
    assert "words of 1,000,000 characters" in refusal(invitation(depth=1_000_000), policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_ten_thousand_words_in_one_report_are_refused() -> None:
    assert "10,000 words with" in refusal(invitation(bound=10_000), policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_many_words_are_refused_even_with_the_smallest_epsilon_and_the_widest_limits() -> None:
    asked = invitation(bound=2**31 - 1, epsilon=0.001)
    assert "2,147,483,647 words" in refusal(asked, policy(largest_user_epsilon=1000.0))


def test_room_for_too_many_words_is_refused_where_every_epsilon_is_permitted() -> None:
    asked = invitation(bound=2**24, epsilon=0.001)
    assert "room for 16,777,216 words" in refusal(asked, policy(largest_user_epsilon=1_000_000))


@pytest.mark.usefixtures("nothing_is_made")
def test_a_group_of_one_is_refused() -> None:
    assert "asks 1 users" in refusal(invitation(layer_size=1), policy())


def test_a_short_report_that_expands_into_countless_votes_is_refused() -> None:
    asked = invitation(extension=14, mechanism="subset-selection", epsilon=0.001, bound=60)
    assert asked.layer.randomizer.candidates > 10**7
    assert asked.layer.randomizer.payload_bytes < 1000
    assert "a report has 430,252,020 votes" in refusal(asked, policy())


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize("mechanism", ["", "none", "Unary", "unary "])
def test_an_unknown_randomizer_is_refused(mechanism: str) -> None:
    assert "not one of unary, subset-selection" in refusal(invitation(mechanism=mechanism), policy())


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize("epsilon", [math.nan, math.inf, -math.inf, -1.0, 0.0, 1e-9, 20.1, 1e300])
def test_an_epsilon_that_no_randomizer_has_is_refused(epsilon: float) -> None:
    assert "no number from 0.001 to 20" in refusal(invitation(epsilon=epsilon), policy(largest_epsilon=1000.0))


@pytest.mark.usefixtures("nothing_is_made")
@pytest.mark.parametrize(
    "value", [0, -1, 2**31, 10**5000, True, 2.5], ids=["0", "-1", "2^31", "10^5000", "True", "2.5"]
)
@pytest.mark.parametrize("name", ["pass_number", "number", "layer_size", "extension", "depth", "bound"])
def test_numbers_that_are_no_whole_numbers_are_refused(name: str, value: float) -> None:
    layer = small_layer(["ab"])
    # Behind the layer's own checks, as a damaged or hostile decoder might.
    object.__setattr__(layer, name, value)
    unsigned = Invitation(layer, campaign_id(1), OPERATOR.public_key().public_bytes_raw(), bytes(64))
    assert "is no whole number from 1 to" in refusal(unsigned, policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_prefixes_that_claim_another_length_are_refused() -> None:
    honest = invitation(frontier=["ab"])
    assert isinstance(honest.layer, ExtendingLayer)
    altered = replace(honest, layer=replace(honest.layer, frontier=np.array(["ab"], "U10")))
    assert "not as long as they claim" in refusal(altered, policy())


@pytest.mark.usefixtures("nothing_is_made")
def test_a_list_of_known_words_melted_into_one_is_refused() -> None:
    honest = invitation(known=Vocabulary(["aba", "abc"]))
    altered = replace(honest, layer=replace(honest.layer, known=Vocabulary(["aba\nabc"])))
    assert "line break" in refusal(altered, policy())


def test_a_layer_that_knows_no_words_is_accepted_because_the_promise_is_the_same_for_known_words() -> None:
    policy().check(invitation(known=Vocabulary.empty()))


# The policy's own values


@pytest.mark.parametrize("name", ["largest_epsilon", "largest_user_epsilon", "lifetime_epsilon"])
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, True, "10", 10**7])
def test_an_epsilon_out_of_range_is_named_with_its_value(name: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match=rf"{name.replace('_', ' ')} must be a number above 0 .* not .*{value}"):
        Policy(**{name: value})


@pytest.mark.parametrize(
    "name", ["smallest_layer_size", "longest_word", "largest_layer", "largest_report", "most_votes"]
)
@pytest.mark.parametrize("value", [0, -1, 2**40, 1.5, True])
def test_a_whole_number_out_of_range_is_named_with_its_value(name: str, value: Any) -> None:  # noqa: ANN401
    with pytest.raises(ParameterError, match=rf"{name.replace('_', ' ')} must be a whole number .* not {value}"):
        Policy(**{name: value})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"operators": frozenset({b"key"})}, "public key must be 32 bytes, not 3 bytes"),
        ({"operators": [bytes(32)]}, "operators must be a frozenset of public keys, not list"),
        ({"enabled": "no"}, "enabled must be True or False, not 'no'"),
        ({"allow_targets": 1}, "allow targets must be True or False, not 1"),
        ({"allow_unlogged_lists": 1}, "allow unlogged lists must be True or False, not 1"),
        ({"largest_vote_ratio": 0.5}, "largest vote ratio must be a number from 1 to 1,000,000,000, not 0.5"),
        ({"largest_closed_vote_ratio": math.nan}, "largest closed vote ratio must be a number from 1"),
        ({"largest_silence_ratio": True}, "largest silence ratio must be a number from 1 .* not True"),
        ({"fewest_noise_votes": -1}, "fewest noise votes must be a number from 0 .* not -1"),
        ({"most_known_words": -1}, "most known words must be a whole number from 0 .* not -1"),
        ({"largest_known": 2.5}, "largest known must be a whole number from 0 .* not 2.5"),
    ],
)
def test_other_values_that_make_no_sense_are_named(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Policy(**changes)


def test_a_campaign_of_the_planner_fits_the_default_policy() -> None:
    campaign = small_campaign()
    assert campaign.epsilon <= Policy().largest_epsilon
    assert campaign.parameters.depth <= Policy().longest_word
