"""The ledger in every store: nothing is spent over budget, and nothing that was spent is forgotten."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from neologue.errors import BudgetError, InputError, LedgerError, ParameterError
from neologue.ledger import ledger_rows
from neologue.ledger.budget import Budget
from neologue.ledger.charge import ChargeState, LedgerCharge
from neologue.ledger.composition import composed_epsilon
from neologue.ledger.ledger import Ledger
from neologue.ledger.ledger_document import PopulationDocument, import_populations, population_document
from neologue.ledger.ledger_file import create_ledger
from neologue.ledger.rare_words import RareWords
from neologue.ledger.snapshot import PopulationSnapshot, Spent
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection
from neologue.service.campaigns.service_ledger import service_ledger
from neologue.service.storage.database_address import open_database
from neologue.service.storage.migrations import migrate

USERS = Collection("unary", 7.0, 60, (Batch(900_000, 1_000_000), Batch(820_000, 9_000)))
FEWER = replace(USERS, batches=(Batch(300_000, 1_000_000),))
BUDGET = Budget("user", 2.1, 1e-9)
"""Three times USERS fit into it, and four times do not."""
Change = Callable[[Ledger], None]


@pytest.fixture(params=["file", "sqlite", "postgresql"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """The same ledger in each of the stores that there are."""
    if request.param == "file":
        ledger = create_ledger(tmp_path / "ledger.db", clock=lambda: 20_000)
        ledger.add_population("en", BUDGET)
        yield ledger
        return
    url = f"sqlite:///{tmp_path}/service.db" if request.param == "sqlite" else request.getfixturevalue("postgres")()
    database = open_database(url)
    migrate(database)
    ledger = service_ledger(database, clock=lambda: 20_000)
    ledger.add_population("en", BUDGET)
    yield ledger
    database.close()


def spent_by(ledger: Ledger, population: str = "en") -> Spent:
    return ledger.snapshot(population).spent


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(LedgerError) as caught:
        call()
    return str(caught.value)


# Budgets


def test_a_new_population_has_spent_nothing(ledger: Ledger) -> None:
    spent = spent_by(ledger)
    assert (spent.epsilon, spent.local_epsilon, spent.open, spent.settled) == (0.0, Decimal(0), 0, 0)
    assert (spent.left, spent.within_budget) == (2.1, True)


def test_campaigns_are_composed_until_the_budget_is_spent(ledger: Ledger) -> None:
    for number in range(1, 4):
        spent = ledger.plan("en", f"c{number}", USERS)
        assert spent.epsilon == composed_epsilon([USERS] * number, 1e-9, "user")
        assert spent.local_epsilon == 7 * number
    assert spent.left == pytest.approx(2.1 - spent.epsilon)
    with pytest.raises(BudgetError):
        ledger.plan("en", "c4", USERS)


def test_a_budget_may_be_spent_to_the_last_digit(ledger: Ledger) -> None:
    exactly = composed_epsilon([USERS], 1e-9, "user")
    ledger.add_population("exact", Budget("user", exactly, 1e-9))
    ledger.add_population("short", Budget("user", exactly - 1e-5, 1e-9))
    assert ledger.plan("exact", "c1", USERS).left == 0.0
    with pytest.raises(BudgetError):
        ledger.plan("short", "c2", USERS)


def test_a_refusal_says_why_and_what_would_fit_and_changes_nothing(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    before, entries = spent_by(ledger), ledger.snapshot("en").charges
    planned = replace(USERS, epsilon=9.0)
    with pytest.raises(BudgetError) as caught:
        ledger.plan("en", "c3", planned)
    said, fitting = str(caught.value), caught.value.fits
    after = composed_epsilon([USERS, USERS, planned], 1e-9, "user")
    assert "the campaign 'c3' with local ε = 9 does not fit: the population 'en' would have spent" in said
    assert f"ε = {after:g} for every user at δ = 1e-09, of a budget of 2.1" in said
    assert f"ε = {before.epsilon:g} and local ε = 14.0 are spent by 2 campaigns before" in said
    assert f"with these batches, a local ε of {fitting:g} would fit" in said
    assert (spent_by(ledger), ledger.snapshot("en").charges) == (before, entries)

    assert fitting is not None
    assert 7.0 < fitting < 9.0
    with pytest.raises(BudgetError):
        ledger.plan("en", "c3", replace(USERS, epsilon=fitting + 0.01))
    assert ledger.plan("en", "c3", replace(USERS, epsilon=fitting)).within_budget


def test_where_nothing_fits_a_refusal_says_so(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.set_budget("en", Budget("user", 0.5, 1e-9))
    with pytest.raises(BudgetError, match="no local ε would fit with these batches: ask another population") as caught:
        ledger.plan("en", "c2", USERS)
    assert caught.value.fits is None


def test_the_local_epsilon_has_a_budget_of_its_own(ledger: Ledger) -> None:
    ledger.add_population("de", Budget("item", 5.0, 1e-9, local_epsilon=10.0))
    ledger.plan("de", "c1", USERS)
    with pytest.raises(BudgetError, match=r"local ε = 14\.0 for every word, of a budget of 10; .* of 3 would fit"):
        ledger.plan("de", "c2", USERS)
    assert ledger.plan("de", "c2", replace(USERS, epsilon=3.0)).local_epsilon == Decimal(10)


def test_populations_do_not_spend_each_others_budget(ledger: Ledger) -> None:
    ledger.add_population("de", BUDGET)
    for number in range(3):
        ledger.plan("en", f"en{number}", USERS)
    assert spent_by(ledger, "de").epsilon == 0.0
    assert ledger.plan("de", "de0", USERS).epsilon == composed_epsilon([USERS], 1e-9, "user")
    assert ledger.populations() == ["de", "en"]


def test_a_budget_is_never_changed_silently(ledger: Ledger) -> None:
    larger = replace(BUDGET, epsilon=9.0)
    assert "has a budget already: change it with set_budget" in refused(lambda: ledger.add_population("en", larger))
    assert spent_by(ledger).budget == BUDGET
    ledger.set_budget("en", larger)
    assert spent_by(ledger).budget == larger
    assert ledger.snapshot("en").budgets == ((20_000, BUDGET), (20_000, larger))


# From plan to release


def test_what_happened_takes_the_place_of_what_was_planned(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    spent = ledger.settle("c1", FEWER)
    assert spent.epsilon == composed_epsilon([FEWER], 1e-9, "user") > composed_epsilon([USERS], 1e-9, "user")
    assert (spent.open, spent.settled) == (0, 1)
    (charge,) = ledger.snapshot("en").charges
    assert charge == LedgerCharge("c1", "en", ChargeState.SETTLED, USERS, FEWER, 20_000, 20_000, told=True)


def test_too_few_reports_are_recorded_and_their_release_refused(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    ledger.settle("c1", USERS)
    with pytest.raises(BudgetError, match="'c2' must not be released: the population 'en' has spent ε = ") as error:
        ledger.settle("c2", FEWER)
    assert "of a budget of 2.1. What was collected stays on record" in str(error.value)
    assert [charge.state for charge in ledger.snapshot("en").charges] == ["settled", "settled"]
    assert [charge.told for charge in ledger.snapshot("en").charges] == [True, False]
    spent = spent_by(ledger)
    assert spent.epsilon == composed_epsilon([USERS, FEWER], 1e-9, "user") > 2.1
    assert (spent.within_budget, spent.left) == (False, 0.0)
    with pytest.raises(BudgetError):
        ledger.settle("c2", FEWER)
    with pytest.raises(BudgetError):
        ledger.plan("en", "c3", replace(USERS, epsilon=0.01))


def test_to_settle_again_with_the_same_facts_changes_nothing_and_with_others_is_refused(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    assert ledger.settle("c1", USERS) == ledger.settle("c1", USERS)
    assert "settled already, with other batches" in refused(lambda: ledger.settle("c1", FEWER))
    assert ledger.snapshot("en").charges[0].collection == USERS


def test_an_abandoned_campaign_costs_nothing(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.abandon("c1")
    ledger.abandon("c1")
    assert (spent_by(ledger).epsilon, spent_by(ledger).local_epsilon) == (0.0, Decimal(0))
    assert ledger.snapshot("en").charges[0].state == "abandoned"
    assert "is abandoned already" in refused(lambda: ledger.plan("en", "c1", USERS))


def test_what_was_thought_abandoned_and_happened_is_charged(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.abandon("c1")
    assert ledger.settle("c1", FEWER).epsilon == composed_epsilon([FEWER], 1e-9, "user")


def test_what_was_collected_can_not_be_abandoned(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.settle("c1", USERS)
    assert "was collected and stays charged" in refused(lambda: ledger.abandon("c1"))
    assert spent_by(ledger).settled == 1


def test_a_campaign_is_planned_once(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    assert "'c1' is planned already, for the population 'en': give this one a name of its own, or abandon" in refused(
        lambda: ledger.plan("en", "c1", USERS)
    )


def test_what_is_not_there_is_named(ledger: Ledger) -> None:
    assert re.search(r"has no population 'fr'; it has en$", refused(lambda: ledger.plan("fr", "c1", USERS)))
    for call in (lambda: ledger.settle("c9", USERS), lambda: ledger.abandon("c9")):
        assert re.search(r"has no campaign 'c9': plan it first", refused(call))


@pytest.mark.parametrize(
    "facts",
    [
        replace(USERS, mechanism="none"),
        replace(USERS, epsilon=0.0),
        replace(USERS, epsilon=float("nan")),
        replace(USERS, words_per_user=0),
        replace(USERS, batches=(Batch(-1, 5),)),
        replace(USERS, batches=(Batch(5, 0),)),
        replace(USERS, batches=()),
        replace(USERS, batches=(Batch(0, 5),)),
    ],
)
def test_facts_that_no_collection_has_are_refused(ledger: Ledger, facts: Collection) -> None:
    with pytest.raises(ParameterError):
        ledger.plan("en", "c1", facts)
    assert ledger.snapshot("en").charges == ()


def test_a_campaign_in_which_nobody_took_part_costs_nothing(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    assert ledger.settle("c1", replace(USERS, batches=())).epsilon == 0.0


@pytest.mark.parametrize("name", ["", "  ", "a\nb"])
def test_names_can_be_read(ledger: Ledger, name: str) -> None:
    with pytest.raises(ParameterError, match="needs a name"):
        ledger.add_population(name, BUDGET)
    with pytest.raises(ParameterError, match="needs a name"):
        ledger.plan("en", name, USERS)


# What others do meanwhile


def test_a_plan_is_weighed_again_if_others_have_spent_meanwhile(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.plan("en", "c1", USERS)
    ledger.plan("en", "c2", USERS)
    really = PopulationSnapshot.check_plan

    def meanwhile(snapshot: PopulationSnapshot, *given: object) -> None:
        monkeypatch.setattr(PopulationSnapshot, "check_plan", really)
        snapshot.check_plan("c3", USERS)
        ledger.plan("en", "c4", USERS)

    monkeypatch.setattr(PopulationSnapshot, "check_plan", meanwhile)
    with pytest.raises(BudgetError):
        ledger.plan("en", "c3", USERS)
    assert [charge.campaign for charge in ledger.snapshot("en").charges] == ["c1", "c2", "c4"]


def test_a_snapshot_is_outdated_by_every_change_and_claimed_once(ledger: Ledger) -> None:
    changes: list[Callable[[], object]] = [
        lambda: ledger.plan("en", "c1", USERS),
        lambda: ledger.settle("c1", FEWER),
        lambda: ledger.set_budget("en", replace(BUDGET, epsilon=9.0)),
        lambda: ledger.plan("en", "c2", USERS),
        lambda: ledger.abandon("c2"),
    ]
    for change in changes:
        before = ledger.snapshot("en")
        change()
        with ledger._store.transaction() as db:
            assert not ledger_rows.claim(db, before)
    fresh = ledger.snapshot("en")
    for claimed in (True, False):
        with ledger._store.transaction() as db:
            assert ledger_rows.claim(db, fresh) == claimed


# Devices that were invited


def test_a_campaign_that_invited_devices_can_not_be_abandoned_and_costs_its_local_epsilon(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS)
    with ledger._store.transaction() as db:
        charge = ledger_rows.charge_of(db, "c1")
        assert charge
        ledger_rows.change_charge(db, charge, ChargeState.COLLECTING, USERS)
    assert "has invited devices" in refused(lambda: ledger.abandon("c1"))
    ledger.settle("c1", replace(USERS, batches=(Batch(0, 5),)))
    assert (spent_by(ledger).epsilon, spent_by(ledger).local_epsilon) == (0.0, Decimal(7))


# Words that few hold


def test_chances_for_rare_words_add_up_over_campaigns_and_the_smallest_k_holds(ledger: Ledger) -> None:
    assert ledger.snapshot("en").rare_words is None
    chances = {"c1": AnonymityChances(10, 0.05, 1e-6, 1), "c2": AnonymityChances(5, 0.1, 2e-6, 3)}
    for name, rare in chances.items():
        ledger.plan("en", name, USERS, rare)
        ledger.settle(name, USERS)
    assert {charge.campaign: charge.anonymity for charge in ledger.snapshot("en").charges} == chances
    ledger.plan("en", "c3", USERS, AnonymityChances(2, 0.5, 1.0, 0))
    assert ledger.snapshot("en").rare_words == RareWords(5, 0.15, 3e-6, 1, campaigns=2), "nothing of c3 was told yet"
    ledger.settle("c3", USERS)
    assert ledger.snapshot("en").rare_words == RareWords(2, 0.65, 1.0, 0, campaigns=3)


def test_a_campaign_that_promised_nothing_for_rare_words_leaves_no_promise(ledger: Ledger) -> None:
    ledger.plan("en", "c1", USERS, AnonymityChances(10, 0.05, 1e-6, 1))
    ledger.plan("en", "c2", USERS)
    for name in ("c1", "c2"):
        ledger.settle(name, USERS)
    assert ledger.snapshot("en").rare_words == RareWords(0, 1.0, 1.0, 0, campaigns=2)


# From one ledger into another


@pytest.fixture
def other(tmp_path: Path) -> Ledger:
    """A ledger file with some history."""
    file = create_ledger(tmp_path / "other.db", clock=lambda: 19_000)
    for name in ("de", "fr"):
        file.add_population(name, BUDGET)
    file.set_budget("de", replace(BUDGET, epsilon=5.0, local_epsilon=40.0))
    file.plan("de", "de 1", USERS, AnonymityChances(10, 0.05, 1e-6, 1))
    file.settle("de 1", FEWER)
    file.plan("de", "de 2", USERS)
    file.plan("fr", "fr 1", USERS)
    file.abandon("fr 1")
    return file


@pytest.fixture
def documents(other: Ledger) -> list[PopulationDocument]:
    return documents_of(other)


@pytest.fixture
def here(tmp_path: Path) -> Ledger:
    """A ledger in a file: what is compared does not depend on the store."""
    return create_ledger(tmp_path / "here.db", clock=lambda: 20_000)


def documents_of(ledger: Ledger) -> list[PopulationDocument]:
    return [population_document(snapshot) for snapshot in ledger.snapshots()]


def brought(ledger: Ledger, documents: list[PopulationDocument]) -> list[str]:
    with ledger._store.transaction() as db:
        return import_populations(db, documents)


def test_an_import_brings_everything_and_a_second_one_changes_nothing(
    ledger: Ledger, documents: list[PopulationDocument]
) -> None:
    assert brought(ledger, documents) == ["de", "fr"]
    assert [population_document(ledger.snapshot(name)) for name in ("de", "fr")] == documents
    before = ledger.snapshots()
    assert brought(ledger, documents) == []
    assert ledger.snapshots() == before
    ledger.plan("de", "de 3", USERS)
    assert brought(ledger, documents) == [], "it may go on here"
    assert len(ledger.snapshot("de").charges) == 3


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"unique_chance": None}, "the campaign 'de 1' has some of k, chance, unique_chance and hostile_devices"),
        ({"k": 0}, "a chance of 0.05 for no k says nothing"),
        ({"hostile_devices": 10**30}, "hostile devices are from 0 to 1,000,000"),
    ],
)
def test_an_import_of_chances_that_can_not_be_changes_nothing(
    ledger: Ledger, documents: list[PopulationDocument], changes: dict[str, int | None], said: str
) -> None:
    german, french = documents
    wrong = msgspec.structs.replace(german.campaigns[0], **changes)
    german = msgspec.structs.replace(german, campaigns=[wrong, *german.campaigns[1:]])
    before = ledger.snapshots()
    with pytest.raises(InputError, match=said):
        brought(ledger, [french, german])
    assert ledger.snapshots() == before


@pytest.mark.parametrize("collision", ["population", "campaign"])
def test_an_import_that_collides_changes_nothing(
    ledger: Ledger, documents: list[PopulationDocument], collision: str
) -> None:
    if collision == "population":
        ledger.add_population("fr", BUDGET)
        said = "the population 'fr' is there already, with other budgets or charges: nothing was imported"
    else:
        ledger.plan("en", "fr 1", USERS)
        said = "the campaign 'fr 1' is planned already, for the population 'en'"
    before = ledger.snapshots()
    assert said in refused(lambda: brought(ledger, documents))
    assert ledger.snapshots() == before


def becomes(state: ChargeState, collection: Collection = USERS, *, told: bool = False) -> Change:
    """What makes the charge `de 2`, which is planned at first, one of this state."""

    def change(ledger: Ledger) -> None:
        with ledger._store.transaction() as db:
            charge = ledger_rows.charge_of(db, "de 2")
            assert charge
            ended = 20_000 if state in ("settled", "abandoned") else None
            ledger_rows.change_charge(db, charge, state, collection, ended_day=ended, told=told)

    return change


PLANNED, COLLECTING = becomes(ChargeState.PLANNED), becomes(ChargeState.COLLECTING)
SETTLED, ABANDONED = becomes(ChargeState.SETTLED), becomes(ChargeState.ABANDONED)
TOLD = becomes(ChargeState.SETTLED, told=True)


@pytest.mark.parametrize(
    ("theirs", "ours", "said"),
    [
        (COLLECTING, PLANNED, "is collecting in the ledger to be imported, and planned in this one"),
        (COLLECTING, ABANDONED, "is collecting in the ledger to be imported, and abandoned in this one"),
        (SETTLED, PLANNED, "is settled in the ledger to be imported, and planned in this one"),
        (SETTLED, ABANDONED, "is settled in the ledger to be imported, and abandoned in this one"),
        (SETTLED, COLLECTING, "is settled in the ledger to be imported, and collecting in this one"),
        (SETTLED, becomes(ChargeState.SETTLED, FEWER), "is settled in both ledgers, with other batches"),
        (TOLD, SETTLED, "has told something according to the ledger to be imported, and nothing according to this"),
        (becomes(ChargeState.COLLECTING, told=True), COLLECTING, "has told something"),
    ],
)
def test_an_import_of_more_than_is_known_here_is_refused_and_changes_nothing(
    here: Ledger, other: Ledger, theirs: Change, ours: Change, said: str
) -> None:
    brought(here, documents_of(other))
    ours(here)
    theirs(other)
    other.add_population("it", BUDGET)
    before = here.snapshots()
    refusal = refused(lambda: brought(here, documents_of(other)))
    assert f"the campaign 'de 2' {said}" in refusal
    assert "Lower the budget of 'de' in it by what the campaign cost" in refusal
    assert here.snapshots() == before


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (PLANNED, COLLECTING),
        (PLANNED, becomes(ChargeState.SETTLED, FEWER, told=True)),
        (PLANNED, ABANDONED),
        (ABANDONED, PLANNED),
        (ABANDONED, SETTLED),
        (COLLECTING, becomes(ChargeState.COLLECTING, FEWER)),
        (COLLECTING, TOLD),
        (SETTLED, TOLD),
        (TOLD, TOLD),
    ],
)
def test_an_import_of_less_than_is_known_here_changes_nothing(
    here: Ledger, other: Ledger, theirs: Change, ours: Change
) -> None:
    brought(here, documents_of(other))
    ours(here)
    theirs(other)
    before = here.snapshots()
    assert brought(here, documents_of(other)) == []
    assert here.snapshots() == before


def test_an_import_of_other_chances_for_rare_words_is_refused(
    here: Ledger, documents: list[PopulationDocument]
) -> None:
    brought(here, documents)
    german, french = documents
    weaker = msgspec.structs.replace(german.campaigns[0], k=5)
    german = msgspec.structs.replace(german, campaigns=[weaker, *german.campaigns[1:]])
    assert "with other budgets or charges" in refused(lambda: brought(here, [german, french]))
