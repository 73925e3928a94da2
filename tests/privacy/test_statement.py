"""The privacy statement: its shape, who sees what, and what each fact of a run does to it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neologue.masking.rules import GroupRules
from neologue.privacy.anonymity.thresholds import AnonymityPromise
from neologue.privacy.collection import Batch, Collection
from neologue.privacy.group_limits import hostile_votes
from neologue.privacy.statement import LIMITED, UNCHECKED, Exposure, LayerShown, PrivacyFacts, privacy_statement
from neologue.randomizers.unary import Unary

FIRST = LayerShown(Batch(500_000, 9_900), kept=9_900, fewest_votes=900)
FULL = LayerShown(Batch(500_000, 1_000_000), kept=10_000, fewest_votes=1_400)


def gboard_facts(**changes: Any) -> PrivacyFacts:  # noqa: ANN401
    """A run like the paper's, of two layers."""
    told: dict[str, Any] = {
        "mechanism": "subset-selection",
        "epsilon": 10.0,
        "words_per_user": 60,
        "delta": 1e-10,
        "colluders": 0.0,
        "layers": (FIRST, FULL),
        "frontier": 10_000,
        "anonymity": AnonymityPromise(0, 0.95),
        "exposure": Exposure(),
    }
    return PrivacyFacts(**told | changes)


def unary_facts(**changes: Any) -> PrivacyFacts:  # noqa: ANN401
    """A run of two layers of one-report unary, with a threshold for 10-anonymity."""
    layers = (LayerShown(Batch(100_000, 5_000), 100, 200), LayerShown(Batch(80_000, 50_000), 100, 200))
    told = {
        "mechanism": "unary",
        "epsilon": 7.0,
        "layers": layers,
        "frontier": None,
        "anonymity": AnonymityPromise(10, 0.95, 1e-6, 3),
    }
    return gboard_facts(**told | changes)


@pytest.fixture(scope="module")
def gboard() -> dict[str, Any]:
    return privacy_statement(gboard_facts())


@pytest.fixture(scope="module")
def unary() -> dict[str, Any]:
    return privacy_statement(unary_facts())


def observers(statement: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The observers by who they are."""
    return {observer["who"]: observer for observer in statement["trust"]["observers"]}


def nulls(statement: Mapping[str, Any], inside: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every name whose value is null, with the object that it stands in."""
    for name, value in statement.items():
        if value is None:
            yield f"{inside}{name}", statement
        elif isinstance(value, Mapping):
            yield from nulls(value, f"{name}.")


CENTRAL = {"item_central": ["closed_form", "fmt2021", "fmt2023", "blanket", "sums_only", "allocation"]} | {
    "user_central": ["group", "joint", "allocation"]
}


@pytest.mark.parametrize("kind", ["gboard", "unary", "empty"])
def test_every_statement_has_the_same_fields_of_the_same_types(
    kind: str, gboard: dict[str, Any], unary: dict[str, Any]
) -> None:
    statement: dict[str, Any] = {
        "gboard": gboard,
        "unary": unary,
        "empty": privacy_statement(unary_facts(layers=())),
    }[kind]
    types = {
        "applies_to": str,
        "unit": str,
        "neighbours": str,
        "mechanism": str,
        "local_epsilon": float,
        "enforced_local_epsilon": float,
        "user_local_epsilon": float,
        "words_per_user": int,
        "reports_per_user": int,
        "delta": float,
        "item_central": dict,
        "user_central": dict,
        "k_anonymity": dict,
        "unique_words": dict,
        "thresholds": list,
        "trust": dict,
    }
    assert {name: type(value) for name, value in statement.items()} == types
    for part, bounds in CENTRAL.items():
        central = statement[part]
        rest = {"best", "theorems", "reasons"} | ({"lower_bound"} if part == "item_central" else set())
        assert set(central) == {*bounds, *rest}
        assert set(central["theorems"]) == {*bounds, "best"}
        assert all(isinstance(central[bound], float | None) for bound in bounds)
        assert isinstance(central["best"], float)
    assert set(statement["k_anonymity"]) == {
        *("k", "alpha", "passes", "covers", "expected_below_k", "printed_lemma", "reasons")
    }
    assert set(statement["unique_words"]) == {"chance", "hostile_devices", "covers", "reasons"}
    for layer in statement["thresholds"]:
        assert set(layer) == {
            *("reports", "candidates", "votes_for_k", "votes_for_unique", "nobody", "one_user", "below_k")
        }
    assert set(statement["trust"]) == {"local", "central", "colluders", "assumptions", "observers"}
    for observer in statement["trust"]["observers"]:
        assert {name: type(value) for name, value in observer.items()} == {
            "who": str,
            "sees": str,
            "smallest_sum": int,
            "item_epsilon": float,
            "user_epsilon": float,
        }


@pytest.mark.parametrize("kind", ["gboard", "unary", "unary of one word", "no threshold"])
def test_whatever_is_null_has_a_reason_and_nothing_else_has(
    kind: str, gboard: dict[str, Any], unary: dict[str, Any]
) -> None:
    statement: dict[str, Any] = {
        "gboard": gboard,
        "unary": unary,
        "unary of one word": privacy_statement(unary_facts(words_per_user=1)),
        "no threshold": privacy_statement(unary_facts(anonymity=AnonymityPromise(0, 0.95))),
    }[kind]
    missing = list(nulls(statement))
    assert all(holder["reasons"][name.rpartition(".")[2]] for name, holder in missing)
    parts = ("item_central", "user_central", "k_anonymity", "unique_words")
    given = sum(len(statement[part]["reasons"]) for part in parts)
    assert given == len(missing) > 0


def test_the_best_bound_is_the_smallest_and_names_its_theorem(gboard: dict[str, Any], unary: dict[str, Any]) -> None:
    for statement in (gboard, unary):
        for part, names in CENTRAL.items():
            central = statement[part]
            proved = {name: central[name] for name in names if central[name] is not None}
            assert central["best"] == min(proved.values())
            assert central["theorems"]["best"] == central["theorems"][min(proved, key=lambda name: proved[name])]
        assert statement["item_central"]["lower_bound"] <= statement["item_central"]["best"]


def test_a_run_like_the_papers_costs_what_its_first_layer_does(gboard: dict[str, Any]) -> None:
    item = gboard["item_central"]
    assert item["closed_form"] == pytest.approx(0.565, abs=5e-4)
    assert item["fmt2021"] == pytest.approx(0.3075, abs=5e-5)
    assert item["fmt2023"] == pytest.approx(0.2138, abs=5e-5)
    assert item["best"] == item["blanket"] == pytest.approx(0.1760, abs=5e-5)
    assert item["lower_bound"] == pytest.approx(0.1760, abs=5e-5)


def test_the_papers_full_layer_alone_costs_less_and_has_a_k() -> None:
    statement: dict[str, Any] = privacy_statement(gboard_facts(layers=(FULL,)))
    assert statement["item_central"]["best"] == pytest.approx(0.1493, abs=5e-5)
    assert statement["k_anonymity"]["k"] == 49
    assert "k" not in statement["k_anonymity"]["reasons"]


def test_a_layer_that_keeps_everything_leaves_the_run_without_a_k(gboard: dict[str, Any]) -> None:
    anonymity = gboard["k_anonymity"]
    assert anonymity["k"] is None
    assert "9,900 candidates" in anonymity["reasons"]["k"]
    assert "at least 49" in anonymity["reasons"]["k"]
    assert anonymity["printed_lemma"] is None
    assert "as printed it certifies no k" in anonymity["reasons"]["printed_lemma"]


def test_a_threshold_gives_the_run_its_k_if_all_that_was_kept_has_the_votes() -> None:
    kept, short = (LayerShown(FIRST.batch, kept=100, fewest_votes=votes) for votes in (200_000, 0))
    empty = LayerShown(FIRST.batch, kept=0, fewest_votes=0)
    promise = AnonymityPromise(45, 0.95)
    for layer, k in ((kept, 45), (short, None), (empty, 45)):
        statement: Any = privacy_statement(gboard_facts(layers=(layer,), anonymity=promise))
        assert statement["k_anonymity"]["k"] == k


PROMISE = AnonymityPromise(10, 0.95, 1e-6, 3)


def test_unique_words_are_promised_if_all_that_was_kept_has_the_votes_and_hostile_devices_are_stated() -> None:
    channel = Unary(50_000, 7.0, 60).channel
    enough = PROMISE.votes_for_unique(channel, 80_000)
    assert PROMISE.votes_for_k(channel, 80_000) < enough - 1
    for votes, chance, hostile in ((enough, 1e-6, 3), (enough - 1, None, 0)):
        layer = LayerShown(Batch(80_000, 50_000), 100, votes)
        statement: Any = privacy_statement(unary_facts(layers=(layer,)))
        assert statement["k_anonymity"]["k"] == 10
        unique = statement["unique_words"]
        assert (unique["chance"], unique["hostile_devices"]) == (chance, hostile)
    assert "fewer votes" in unique["reasons"]["chance"]


def test_under_masks_without_limits_nothing_is_claimed_against_hostile_devices(unary: dict[str, Any]) -> None:
    masked: Any = privacy_statement(unary_facts(exposure=Exposure(masked=GroupRules())))
    assert unary["unique_words"]["hostile_devices"] == 3
    assert masked["unique_words"] == unary["unique_words"] | {"hostile_devices": 0}


def test_under_masks_a_hostile_device_counts_as_all_that_its_group_may_have() -> None:
    rules = GroupRules(limited=True)
    channel = Unary(50_000, 7.0, 60).channel
    plain, masked = (replace(PROMISE, groups=groups).votes_for_unique(channel, 80_000) for groups in (None, rules))
    assert masked == plain + 3 * (hostile_votes(channel, rules) - 1)
    for votes, hostile in ((masked, 3), (masked - 1, 0), (plain, 0)):
        layer = LayerShown(Batch(80_000, 50_000), 100, votes)
        facts = unary_facts(layers=(layer,), epsilon=7.0, exposure=Exposure(masked=rules))
        statement: Any = privacy_statement(facts)
        assert statement["unique_words"]["hostile_devices"] == hostile
        assert statement["thresholds"][0]["votes_for_unique"] == masked
        assert LIMITED in statement["trust"]["assumptions"]
        assert UNCHECKED not in statement["trust"]["assumptions"]


def test_the_papers_run_states_that_it_promises_nothing_of_unique_words(gboard: dict[str, Any]) -> None:
    unique = gboard["unique_words"]
    assert (unique["chance"], unique["hostile_devices"]) == (None, 0)
    assert unique["reasons"] == {"chance": "no threshold for it is set"}


def test_k_holds_over_all_passes_or_is_smaller() -> None:
    for passes, k in ((1, 49), (2, 25), (20, None)):
        facts = gboard_facts(layers=(FULL,), anonymity=AnonymityPromise(0, 0.95, passes=passes))
        lemma: Any = privacy_statement(facts)["k_anonymity"]
        assert (lemma["k"], lemma["passes"]) == (k, passes)
    short = LayerShown(Batch(819_558, 50_000), 100, 797)
    for passes, k in ((1, 10), (2, None)):
        promise = AnonymityPromise(10, 0.95, passes=passes)
        statement: Any = privacy_statement(unary_facts(layers=(short,), anonymity=promise))
        assert statement["k_anonymity"]["k"] == k


def test_each_layer_states_what_protects_and_where_k_alone_hardly_does() -> None:
    layers = (LayerShown(Batch(819_558, 5_000_000), 0, 0),)
    alone: Any = privacy_statement(unary_facts(layers=layers, anonymity=AnonymityPromise(10, 0.95)))
    both: Any = privacy_statement(unary_facts(layers=layers, anonymity=AnonymityPromise(10, 0.95, 1e-6)))
    row, safer = alone["thresholds"][0], both["thresholds"][0]
    assert (row["votes_for_k"], row["votes_for_unique"]) == (797, 0)
    assert row["nobody"] == pytest.approx(0.035, abs=5e-4)
    assert row["below_k"] == pytest.approx(0.0497, abs=5e-4)
    assert (safer["votes_for_k"], safer["votes_for_unique"]) == (797, 882)
    assert safer["nobody"] < safer["one_user"] <= 1e-6 < safer["below_k"] < 2e-6
    expected = [statement["k_anonymity"]["expected_below_k"] for statement in (alone, both)]
    assert expected[0] > 0.03 * 5_000_000
    assert expected[1] < 20


def test_subset_selection_has_theorems_on_shuffling_and_an_assumption_more_unary_has_sums(
    gboard: dict[str, Any], unary: dict[str, Any]
) -> None:
    applying = [
        {name for name in (*CENTRAL["item_central"], *CENTRAL["user_central"]) if central.get(name) is not None}
        for central in (
            {**statement["item_central"], **{name: statement["user_central"][name] for name in ("group", "joint")}}
            for statement in (gboard, unary)
        )
    ]
    assert applying == [{"closed_form", "fmt2021", "fmt2023", "blanket", "group"}, {"sums_only", "group", "joint"}]
    more = set(gboard["trust"]["assumptions"]) - set(unary["trust"]["assumptions"])
    assert len(more) == 1
    assert "AES-128" in more.pop()


def test_the_server_sees_single_reports_and_so_the_local_promise_alone(
    gboard: dict[str, Any], unary: dict[str, Any]
) -> None:
    server = observers(unary)["server"]
    assert (server["smallest_sum"], server["item_epsilon"]) == (1, unary["enforced_local_epsilon"])
    server = observers(gboard)["server"]
    # The words of one report are in random order, and hide each other a little.
    assert 9.9 < server["item_epsilon"] <= gboard["enforced_local_epsilon"]
    assert server["user_epsilon"] <= gboard["user_local_epsilon"]


def test_a_disk_with_batches_gives_away_more_than_the_release_and_less_than_reports() -> None:
    seen = observers(privacy_statement(unary_facts(exposure=Exposure(disk=1_000, server=10_000))))
    assert [observer["smallest_sum"] for observer in seen.values()] == [80_000, 1_000, 10_000]
    reader, disk, server = (observer["item_epsilon"] for observer in seen.values())
    assert reader < server < disk < 7.0
    assert disk == pytest.approx(2.6, abs=0.05)
    assert "1,000 reports" in seen["leaked disk"]["sees"]


def test_batches_larger_than_a_layer_are_layers() -> None:
    reader, disk, _ = observers(privacy_statement(unary_facts(exposure=Exposure(disk=90_000)))).values()
    assert disk["smallest_sum"] == reader["smallest_sum"] == 80_000


def test_colluders_raise_every_central_figure_and_no_local_one(unary: dict[str, Any]) -> None:
    crowded: dict[str, Any] = privacy_statement(unary_facts(colluders=0.5))
    assert crowded["trust"]["colluders"] == 0.5
    assert observers(crowded)["reader of the release"]["smallest_sum"] == 40_000
    for part in ("item_central", "user_central"):
        assert crowded[part]["best"] > unary[part]["best"]
    halved = unary_facts(layers=(LayerShown(Batch(40_000, 5_000), 100, 200),))
    assert crowded["item_central"]["best"] == privacy_statement(halved)["item_central"]["best"]  # type: ignore[index]
    assert crowded["enforced_local_epsilon"] == unary["enforced_local_epsilon"]
    assert crowded["k_anonymity"] == unary["k_anonymity"]


@given(st.integers(1, 10**9), st.decimals(0, "0.999999", places=6, allow_nan=False))
def test_honest_reports_are_never_rounded_up(reports: int, share: Any) -> None:  # noqa: ANN401
    seen = Collection("unary", 7.0, 60, (Batch(reports, 10),)).in_sums_of(None, float(share))
    (batch,) = seen.batches
    millionths = 1_000_000 - int(share * 1_000_000)
    assert batch.reports == max(1, reports * millionths // 1_000_000)
    assert batch.candidates == 10


def test_a_share_just_above_a_whole_number_of_colluders_is_not_taken_for_it() -> None:
    # In floating point, 10 · (1 - 0.30000000000000004) is 7.
    just_more = Collection("unary", 7.0, 60, (Batch(10, 10),)).in_sums_of(None, 0.30000000000000004)
    exactly = Collection("unary", 7.0, 60, (Batch(10, 10),)).in_sums_of(None, 0.3)
    assert (just_more.batches[0].reports, exactly.batches[0].reports) == (6, 7)


def test_what_is_withheld_is_hidden_from_readers_but_not_from_disks_and_servers(unary: dict[str, Any]) -> None:
    statement: dict[str, Any] = privacy_statement(unary_facts(withheld=(Batch(50, 5_000),)))
    for part in ("item_central", "user_central", "k_anonymity"):
        assert statement[part] == unary[part]
    reader, disk, server = observers(statement).values()
    assert reader == observers(unary)["reader of the release"]
    assert disk["smallest_sum"] == 50
    assert reader["item_epsilon"] < disk["item_epsilon"] < server["item_epsilon"]


def test_reports_of_which_nothing_was_published_still_reached_the_server() -> None:
    statement: dict[str, Any] = privacy_statement(unary_facts(layers=(), withheld=(Batch(50, 5_000),)))
    assert statement["item_central"]["best"] == 0
    assert statement["enforced_local_epsilon"] == observers(statement)["server"]["item_epsilon"] == 7.0


def test_where_nothing_was_asked_nothing_was_given_away() -> None:
    statement: dict[str, Any] = privacy_statement(gboard_facts(layers=()))
    assert statement["item_central"]["best"] == statement["user_central"]["best"] == 0
    assert statement["enforced_local_epsilon"] == 0
    assert all(observer["item_epsilon"] == observer["user_epsilon"] == 0 for observer in observers(statement).values())
    assert statement["local_epsilon"] == 10
    assert statement["k_anonymity"]["k"] is None
    assert statement["k_anonymity"]["reasons"] == {
        "k": "no layer was decided and no threshold is set",
        "expected_below_k": "there is no k",
        "printed_lemma": "no layer was decided",
    }
