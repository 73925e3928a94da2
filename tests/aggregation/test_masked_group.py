"""A cohort yields the sum of the vectors that arrived, or nothing, and the server sees nothing else."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from groups import ISSUERS, Counts, Run, ballot, identity, name, promise_of, some_terms
from layers import small_layer
from neologue.aggregation.ephemeral import sum_of
from neologue.aggregation.group_outcome import GroupSum, NoSum
from neologue.aggregation.masked_aggregator import terms_for
from neologue.aggregation.masked_group import GroupServer, Stage
from neologue.device import masked
from neologue.device.contribution import contribute
from neologue.device.masked import Ballot, Member
from neologue.entropy import SecureEntropy, SeededEntropy
from neologue.errors import MaskingError
from neologue.masking import shamir
from neologue.masking.keys import PublicKeys, mask_pair, pairwise_mask_key, self_mask_key
from neologue.masking.masks import add_mask, subtract_mask
from neologue.masking.messages import DEAL_BYTES, MaskedVector, ShareKind, Sharing, Unmasking
from neologue.masking.neighbourhood import neighbourhood
from neologue.masking.roster import Advertisement, Roster
from neologue.masking.terms import MaskingGroup, Terms
from neologue.masking.vote_packing import Entries, unpack
from neologue.protocol.report import read_report

STAGES = (Stage.ADVERTISING, Stage.SHARING, Stage.MASKING, Stage.CONFIRMING, Stage.UNMASKING)
named_stages = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)


def vectors(devices: int, entries: int = 5, most: int = 1, seed: int = 0) -> list[Counts]:
    generator = np.random.default_rng((seed, devices, entries))
    return [generator.integers(0, most, entries, endpoint=True) for _ in range(devices)]


def around(run: Run) -> dict[bytes, list[bytes]]:
    """Who is whose neighbour, as the rosters tell."""
    names = list(run.members)
    rosters = {device: run.server.message_for(device) for device in names}
    indices = {Roster.parse(roster, run.terms).index: device for device, roster in rosters.items() if roster}
    return {
        device: [indices[other] for other in Roster.parse(roster, run.terms).neighbours]
        for device, roster in rosters.items()
        if roster
    }


class TestSum:
    @settings(max_examples=100)
    @given(data=st.data())
    def test_it_is_that_of_the_vectors_that_arrived_or_there_is_none(self, data: st.DataObject) -> None:
        devices = data.draw(st.integers(3, 12), "devices")
        most = data.draw(st.sampled_from([1, 1, 2, 60]), "votes")
        terms = some_terms(
            entries=data.draw(st.integers(1, 20), "entries"),
            votes=most,
            smallest=data.draw(st.integers(3, 6), "smallest"),
            dropout=data.draw(st.sampled_from([0, 10, 20, 30]), "dropout"),
            corrupt=data.draw(st.sampled_from([0, 1, 2]), "corrupt"),
        )
        seed = data.draw(st.integers(0, 99), "seed")
        run = Run(terms, vectors(devices, terms.entries, most, seed), seed)
        weights = st.sampled_from([*STAGES, Stage.OVER, Stage.OVER, Stage.OVER, Stage.OVER, Stage.OVER, Stage.OVER])
        fate = {device: data.draw(weights, "fate") for device in run.members}
        """The stage in which a device falls silent."""

        def staying(stage: Stage) -> list[bytes]:
            orders = st.permutations([device for device in run.members if fate[device] > stage])
            return data.draw(orders, "order")

        run.step(staying(Stage.ADVERTISING))
        if run.server.stage is Stage.OVER:
            assert isinstance(run.server.outcome, NoSum)
            return
        neighbours = around(run)
        group = MaskingGroup(terms, len(neighbours))
        threshold, quorum = group.neighbourhood.threshold, group.quorum
        shared = set(staying(Stage.SHARING))
        run.step(staying(Stage.SHARING))
        # A device with too few neighbours that have shared refuses to go on.
        able = {device for device in shared if len(shared & set(neighbours[device])) >= threshold}
        arrived = {device for device in able if fate[device] > Stage.MASKING}
        confirmed = {device for device in arrived if fate[device] > Stage.CONFIRMING}
        answered = {device for device in confirmed if fate[device] > Stage.UNMASKING}
        for stage in (Stage.MASKING, Stage.CONFIRMING, Stage.UNMASKING):
            if run.server.outcome is None:
                run.step(staying(stage))
        possible = len(confirmed) >= quorum and all(
            len(answered & set(neighbours[device])) >= threshold for device in shared
        )
        if possible:
            assert isinstance(run.server.outcome, GroupSum)
            wanted = sum((run.vectors[int(device.split()[1])] for device in arrived), np.zeros(terms.entries, np.int64))
            assert run.server.outcome.votes.tolist() == wanted.tolist()
            assert run.server.outcome.counted == arrived
            assert run.server.outcome.devices == len(arrived)
        else:
            assert isinstance(run.server.outcome, NoSum)

    @pytest.mark.parametrize(("devices", "most", "entries"), [(44, 1, 1000), (48, 60, 500)])
    def test_sparse_groups_survive_the_dropouts_they_are_made_for(self, devices: int, most: int, entries: int) -> None:
        """With entries of 8 and 16 bits in memory; a quarter of the dropouts in each stage."""
        terms = some_terms(entries, most, smallest=devices // 2, dropout=10, corrupt=3)
        assert neighbourhood(devices, 10, 3).degree < devices - 1
        run = Run(terms, vectors(devices, entries, most))
        run.step()
        quarter = devices // 40
        for stage in (1, 2, 3, 4):
            run.step([name(number) for number in range(stage * quarter, devices)])
        assert isinstance(run.server.outcome, GroupSum)
        arrived = run.vectors[2 * quarter :]
        assert run.server.outcome.votes.tolist() == np.sum(arrived, axis=0).tolist()
        assert run.server.outcome.devices == len(arrived)

    @pytest.mark.parametrize("mechanism", ["unary", "subset-selection"])
    def test_reports_under_masks_give_the_votes_of_plain_ones(self, mechanism: str) -> None:
        layer = small_layer(["a", "b"], mechanism=mechanism, bound=2)
        reports = [contribute({"ab": 1, "ba": 1}, layer, SeededEntropy(number)) for number in range(6)]
        terms = terms_for(layer, bytes(16), smallest=3, dropout=10, corrupt=1)
        run = Run(terms, [])
        run.members = {
            name(number): run.member(number, Ballot.of_report(layer, partial(bytes, report)))
            for number, report in enumerate(reports)
        }
        run.go_to(Stage.OVER)
        plain = sum_of(terms.entries, (read_report(layer, report).astype(np.uint32) for report in reports))
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.votes.tolist() == plain.tolist()

    def test_every_entry_can_have_all_votes(self) -> None:
        run = Run(some_terms(votes=3), [[3] * 5] * 5).go_to(Stage.OVER)
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.votes.tolist() == [15] * 5


class TestStages:
    def test_it_is_ready_when_nobody_is_awaited(self) -> None:
        run = Run(some_terms(), vectors(6))
        for stage in STAGES:
            assert run.server.stage is stage
            answers = run.answers()
            for number, (device, answer) in enumerate(answers.items()):
                assert run.server.devices == number
                assert not run.server.ready or stage is Stage.UNMASKING
                run.server.receive(device, answer)
            assert run.server.ready is (stage is not Stage.ADVERTISING)
            run.server.advance()
        assert run.server.stage is Stage.OVER
        assert run.server.message_for(name(0)) is None
        with pytest.raises(MaskingError, match="is over"):
            run.server.advance()
        with pytest.raises(MaskingError, match="is over"):
            run.server.receive(name(0), b"something new")

    def test_it_knows_whose_messages_are_missing(self) -> None:
        run = Run(some_terms(dropout=20, smallest=5), vectors(8))
        for stage, out in zip(STAGES, (set(), set(), {name(0)}, {name(0)}, {name(0)}), strict=True):
            answers = run.answers()
            for device in run.members:
                assert run.server.awaits(device) is (device not in out)
                assert (run.server.message_for(device) is None) is (stage is Stage.ADVERTISING or device in out)
            for device, answer in answers.items():
                if (stage, device) != (Stage.SHARING, name(0)):
                    run.server.receive(device, answer)
                    assert not run.server.awaits(device)
            assert run.server.awaits(b"stranger") is (stage is Stage.ADVERTISING)
            run.server.advance()
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.counted == run.members.keys() - {name(0)}
        assert not run.server.awaits(name(1))

    def test_it_does_not_wait_for_more_shares_than_it_takes(self) -> None:
        run = Run(some_terms(dropout=20), vectors(10)).go_to(Stage.UNMASKING)
        answers = run.answers()
        while not run.server.ready:
            run.server.receive(*answers.popitem())
        assert answers
        run.server.advance()
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.devices == 10

    @named_stages
    def test_a_group_that_was_given_up_yields_nothing(self, stage: Stage) -> None:
        run = Run(some_terms(), vectors(6)).go_to(stage)
        run.server.abandon("the layer is closed")
        assert run.server.outcome == NoSum("the layer is closed")
        run.server.abandon("again")
        assert run.server.outcome == NoSum("the layer is closed")

    def test_a_sum_is_not_given_up(self) -> None:
        run = Run(some_terms(), vectors(6)).go_to(Stage.OVER)
        run.server.abandon("too late")
        assert isinstance(run.server.outcome, GroupSum)

    @named_stages
    def test_too_few_devices_yield_nothing(self, stage: Stage) -> None:
        run = Run(some_terms(smallest=5), vectors(6)).go_to(stage)
        run.step([name(0), name(1)])
        while run.server.stage is not Stage.OVER:
            run.step()
        assert isinstance(run.server.outcome, NoSum)

    def test_no_majority_of_honest_devices_yields_nothing(self) -> None:
        """As many as were promised are not enough if the corrupt ones could have signed for others as well."""
        run = Run(some_terms(smallest=5, corrupt=2, dropout=30), vectors(12)).go_to(Stage.CONFIRMING)
        run.step(list(run.members)[:7])
        assert run.server.outcome == NoSum("7 devices have signed the survivors, and it takes 8")

    def test_no_single_vector_is_kept(self) -> None:
        """Neither as it came nor unpacked, once another one has arrived."""
        run = Run(some_terms(entries=64), vectors(6, 64)).go_to(Stage.MASKING)
        answers = run.answers()
        for device, answer in answers.items():
            run.server.receive(device, answer)
        group = MaskingGroup(run.terms, 6)
        kept = list(everything(run.server))
        for answer in answers.values():
            packed = MaskedVector.parse(answer, group).packed
            entries = unpack(packed, group.bits, 64).tolist()
            assert not [thing for thing in kept if isinstance(thing, bytes) and packed in thing]
            assert not [thing for thing in kept if isinstance(thing, np.ndarray) and thing.tolist() == entries]


def everything(thing: Any) -> Iterator[Any]:  # noqa: ANN401
    """An object and all that it is made of."""
    yield thing
    if isinstance(thing, dict):
        thing = [*thing.keys(), *thing.values()]
    if isinstance(thing, list | tuple | set):
        for part in thing:
            yield from everything(part)
    elif hasattr(thing, "__dict__"):
        yield from everything(vars(thing))


class TestHostileMessages:
    """One device sends something wrong: a clear error, and the group goes on without it."""

    TERMS = some_terms(smallest=5)
    DEVICES = 8

    def answers(self, stage: Stage, terms: Terms | None = None) -> tuple[Run, dict[bytes, bytes]]:
        """A group in a stage, what its devices answer, and all but the first one's answers received."""
        run = Run(self.TERMS if terms is None else terms, vectors(self.DEVICES)).go_to(stage)
        answers = run.answers()
        for device, answer in answers.items():
            if device != name(0):
                run.server.receive(device, answer)
        return run, answers

    def refused(self, stage: Stage, make: Callable[[dict[bytes, bytes]], bytes], reason: str = ".") -> None:
        run, answers = self.answers(stage)
        wrong = make(answers)
        before = run.server.devices
        with pytest.raises(MaskingError, match=reason):
            run.server.receive(name(0), wrong)
        assert run.server.devices == before
        run.server.advance()
        self.finish(run, stage)

    def finish(self, run: Run, stage: Stage) -> None:
        """Go on without the first device from this stage on: its vector is in only if it had arrived before."""
        counted = range(1, self.DEVICES) if stage < Stage.CONFIRMING else range(self.DEVICES)
        while run.server.stage is not Stage.OVER:
            run.step([device for device in run.members if device != name(0)])
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.votes.tolist() == np.sum([run.vectors[n] for n in counted], axis=0).tolist()

    @named_stages
    def test_nothing_at_all(self, stage: Stage) -> None:
        self.refused(stage, lambda answers: b"", "no length")

    @named_stages
    def test_one_byte_less_or_more(self, stage: Stage) -> None:
        self.refused(stage, lambda answers: answers[name(0)][:-1])
        self.refused(stage, lambda answers: answers[name(0)] + b"\0")

    @named_stages
    def test_the_message_of_another_device(self, stage: Stage) -> None:
        self.refused(stage, lambda answers: answers[name(1)], "device 1, sent by device 0|in the group already")

    @named_stages
    def test_a_message_from_another_group(self, stage: Stage) -> None:
        _, others = self.answers(stage, some_terms(smallest=5, group_id=b"another"))
        self.refused(stage, lambda answers: others[name(0)], "another group")

    @pytest.mark.parametrize("stage", STAGES[1:], ids=lambda stage: stage.name)
    def test_a_message_from_another_stage(self, stage: Stage) -> None:
        for other in STAGES:
            if other is not stage:
                other_seed = Run(self.TERMS, vectors(self.DEVICES), seed=9).go_to(other).answers()
                self.refused(stage, lambda answers, old=other_seed: old[name(0)])  # type: ignore[misc]

    @named_stages
    def test_a_second_other_message(self, stage: Stage) -> None:
        run, answers = self.answers(stage)
        run.server.receive(name(0), answers[name(0)])
        run.server.receive(name(0), answers[name(0)])  # the same is no harm
        changed = answers[name(0)][:-1] + bytes([answers[name(0)][-1] ^ 128])
        with pytest.raises(MaskingError, match="before"):
            run.server.receive(name(0), changed)
        run.server.advance()
        while run.server.stage is not Stage.OVER:
            run.step()
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.votes.tolist() == np.sum(run.vectors, axis=0).tolist()

    @named_stages
    def test_a_replay_of_a_stage_that_is_over(self, stage: Stage) -> None:
        """A device that was not sure whether its message had come sends it again: no harm, and no effect."""
        run, answers = self.answers(stage)
        run.server.receive(name(0), answers[name(0)])
        run.server.advance()
        for device, answer in answers.items():
            run.server.receive(device, answer)
        assert run.server.devices == 0
        run.go_to(Stage.OVER)
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.votes.tolist() == np.sum(run.vectors, axis=0).tolist()

    @pytest.mark.parametrize("stage", STAGES[1:], ids=lambda stage: stage.name)
    def test_a_stranger(self, stage: Stage) -> None:
        run, answers = self.answers(stage)
        with pytest.raises(MaskingError, match="not, or no longer, in the group"):
            run.server.receive(b"stranger", answers[name(0)])
        assert run.server.message_for(b"stranger") is None

    @named_stages
    @settings(max_examples=25)
    @given(data=st.data())
    def test_any_changed_bits(self, stage: Stage, data: st.DataObject) -> None:
        """An error and the sum of the others; or a message that is well formed, and some outcome."""
        run, answers = self.answers(stage)
        changed = bytearray(answers[name(0)])
        for bit in data.draw(st.sets(st.integers(0, 8 * len(changed) - 1), min_size=1, max_size=3)):
            changed[bit // 8] ^= 1 << bit % 8
        try:
            run.server.receive(name(0), bytes(changed))
        except MaskingError:
            run.server.advance()
            self.finish(run, stage)
            return
        run.server.advance()
        run.go_to(Stage.OVER)
        assert run.server.outcome is not None

    def test_signed_keys_that_were_changed(self) -> None:
        run = Run(self.TERMS, vectors(self.DEVICES))
        signed = run.members[name(0)].advertise()
        signer, voucher, keys = 18, 51, 115
        for place, reason in (
            (signer, "vouches"),
            (signer + 32, "vouches"),  # the number of the issuer
            (voucher, "vouches"),
            (keys, "not signed by the signer"),
            (keys + 63, "not signed by the signer|no secret"),
            (len(signed) - 1, "not signed by the signer"),
        ):
            changed = bytearray(signed)
            changed[place] ^= 2
            with pytest.raises(MaskingError, match=reason):
                run.server.receive(name(0), bytes(changed))
        run.go_to(Stage.OVER)
        assert isinstance(run.server.outcome, GroupSum)

    def test_keys_that_lead_to_no_secret(self) -> None:
        def useless(answers: dict[bytes, bytes]) -> bytes:
            return answers[name(0)][:115] + bytes(64) + answers[name(0)][179:]

        self.refused(Stage.ADVERTISING, useless, "leads to no secret")

    def test_the_same_key_twice(self) -> None:
        def twice(answers: dict[bytes, bytes]) -> bytes:
            told, who = Advertisement.parse(answers[name(0)], self.TERMS), identity(0)
            keys = PublicKeys(told.keys.sealing, told.keys.sealing)
            return Advertisement.sign(keys, self.TERMS, who.signer, 0, who.voucher).body(self.TERMS)

        self.refused(Stage.ADVERTISING, twice, "in the group already")

    def test_a_signing_key_that_is_in_the_group(self) -> None:
        def another(answers: dict[bytes, bytes]) -> bytes:
            return Member(self.TERMS, ballot([0] * 5), promise_of(self.TERMS), identity(1)).advertise()

        self.refused(Stage.ADVERTISING, another, "in the group already")

    def test_a_signature_of_another_set(self) -> None:
        def unsigned(answers: dict[bytes, bytes]) -> bytes:
            return answers[name(0)][:20] + answers[name(1)][20:84] + answers[name(0)][84:]

        for stage in (Stage.MASKING, Stage.CONFIRMING):
            self.refused(stage, unsigned, "has not signed what it was told")

    def test_one_who_seals_nonsense_for_some_is_still_counted(self) -> None:
        run, answers = self.answers(Stage.SHARING)
        group = MaskingGroup(self.TERMS, self.DEVICES)
        sharing = Sharing.parse(answers[name(0)], group)
        broken = bytes(80) + sharing.deals[80:DEAL_BYTES]
        run.server.receive(name(0), Sharing(0, sharing.seed_tag, broken + sharing.deals[DEAL_BYTES:]).body(group))
        run.server.advance()
        run.go_to(Stage.OVER)
        assert isinstance(run.server.outcome, GroupSum)
        assert run.server.outcome.votes.tolist() == np.sum(run.vectors, axis=0).tolist()

    @pytest.mark.parametrize("silent", [[], [0]], ids=["whose vector arrives", "who drops out"])
    def test_one_who_shares_something_else_than_its_secret_is_noticed(
        self, silent: list[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Then there is no sum, instead of a wrong one that nobody can tell from noise."""
        run = Run(self.TERMS, vectors(self.DEVICES)).go_to(Stage.SHARING)
        with monkeypatch.context() as patch:
            patch.setattr(shamir, "shares", lambda secret, *rest, real=shamir.shares: real(secret ^ 1, *rest))
            wrong = run.answer(name(0))
        assert wrong is not None
        run.server.receive(name(0), wrong)
        run.step(device for device in run.members if device != name(0))
        run.step(device for device in run.members if int(device.split()[1]) not in silent)
        run.step()
        run.step()
        false = frozenset({name(0)})
        assert run.server.outcome == NoSum("a device has shared something else than its secret", false)

    def test_a_wrong_share_is_refused_and_the_others_do(self) -> None:
        group = MaskingGroup(self.TERMS, self.DEVICES)

        def wrong(answers: dict[bytes, bytes]) -> bytes:
            told = Unmasking.parse(answers[name(0)], group)
            kind, share = told.shares[2]
            return Unmasking(0, (*told.shares[:2], (kind, share ^ 1), *told.shares[3:])).body(group)

        self.refused(Stage.UNMASKING, wrong, "not the one that it gave")

    def test_a_share_of_the_other_secret_is_refused(self) -> None:
        group = MaskingGroup(self.TERMS, self.DEVICES)

        def other(answers: dict[bytes, bytes]) -> bytes:
            told = Unmasking.parse(answers[name(0)], group)
            return Unmasking(0, ((ShareKind.KEY, told.shares[0][1]), *told.shares[1:])).body(group)

        self.refused(Stage.UNMASKING, other, "not asked for")

    def test_a_group_has_room_for_so_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("neologue.aggregation.masked_group.LARGEST_GROUP", 3)
        run, server = Run(self.TERMS, vectors(4)), GroupServer(self.TERMS, ISSUERS)
        for number in range(3):
            server.receive(name(number), run.members[name(number)].advertise())
        with pytest.raises(MaskingError, match="no room"):
            server.receive(name(3), run.members[name(3)].advertise())


class TestView:
    """All that the server can work out about one device is uniform, for the votes it has."""

    ENTRIES = 1500
    RUNS = 28
    VALUES = 8
    """Of an entry: four devices, 3 bits."""
    LEVEL = 1e-7
    """The chance that a right mask is rejected in one view."""
    take_off = staticmethod(subtract_mask)

    def view(self, *, late: bool) -> tuple[MaskingGroup, list[Entries]]:
        """The vectors of four devices, without the masks that the server can take off each of them.

        If the first one's vector comes too late, the server has its key, and takes the pairwise masks off; otherwise
        it has the seeds of all, and takes those masks off.
        """
        terms = some_terms(self.ENTRIES, smallest=3, dropout=25)
        run = Run(terms, [np.arange(self.ENTRIES) // 3 % 2] * 4)
        run.members = {
            device: Member(terms, ballot(run.vectors[0]), promise_of(terms), identity(number), SecureEntropy())
            for number, device in enumerate(run.members)
        }
        run.go_to(Stage.SHARING)
        group = MaskingGroup(terms, 4)
        roster = Roster.parse(run.server.message_for(name(0)) or b"", terms)
        run.step()
        sent = run.answers()
        for device, answer in sent.items():
            if not late or device != name(0):
                run.server.receive(device, answer)
        run.server.advance()
        run.step()
        shares: dict[int, dict[int, int]] = {owner: {} for owner in range(4)}
        for answer in run.answers().values():
            told = Unmasking.parse(answer, group)
            owners = [owner for owner in range(4) if owner != told.index]
            for owner, (_, share) in zip(owners, told.shares, strict=True):
                shares[owner][told.index + 1] = share
        secrets = {owner: shamir.reconstruct(held, group.neighbourhood.threshold) for owner, held in shares.items()}
        entries = [
            unpack(MaskedVector.parse(answer, group).packed, group.bits, self.ENTRIES) for answer in sent.values()
        ]
        for owner, vector in enumerate(entries):
            if not late or owner:
                self.take_off(vector, self_mask_key(secrets[owner], roster.digest, owner))
        if late:
            own = mask_pair(secrets[0], terms.digest)
            for other in range(1, 4):
                keys = roster.advertised[other].keys
                self.take_off(entries[0], pairwise_mask_key(own, keys.masking, roster.digest, (0, other)))
        return group, [vector % self.VALUES for vector in entries]

    def p_values(self) -> dict[str, float]:
        """Of Pearson's test, for each view of the first device."""
        cells: dict[str, list[Entries]] = {}

        def look(what: str, *parts: Entries) -> None:
            cells.setdefault(what, []).append(sum(part * self.VALUES**n for n, part in enumerate(parts)))

        last: Entries | None = None
        for _ in range(self.RUNS):
            _, entries = self.view(late=False)
            seen = [vector.astype(np.uint32) for vector in entries]
            # Three of four: the last one follows from the sum.
            look("without the seeds' masks, all devices", *seen[:3])
            look("without the seeds' masks, entries side by side", seen[0][:-1], seen[0][1:])
            if last is not None:
                look("between two joins", (seen[0] - last) % self.VALUES)
            last = seen[0]
            _, entries = self.view(late=True)
            hidden = entries[0].astype(np.uint32)
            look("late, without the pairwise masks, entries side by side", hidden[:-1], hidden[1:])
        found = {}
        for what, drawn in cells.items():
            size = self.VALUES ** (3 if "all" in what else 2 if "side" in what else 1)
            found[what] = float(stats.chisquare(np.bincount(np.concatenate(drawn), minlength=size)).pvalue)
        return found

    def test_it_is_uniform(self) -> None:
        found = self.p_values()
        assert len(found) == 4
        assert min(found.values()) > self.LEVEL, found

    def test_the_test_has_the_power_to_see_a_twentieth(self) -> None:
        """A law at a distance of 1/20 (total variation) from uniform is rejected but for one time in a thousand."""
        draws = self.RUNS * self.ENTRIES
        for cells in (self.VALUES, self.VALUES**2, self.VALUES**3):
            critical = stats.chi2.isf(self.LEVEL, cells - 1)
            # Σ(p-q)²/q ≥ (Σ|p-q|)² = (2/20)².
            assert stats.ncx2.sf(critical, cells - 1, (draws - self.ENTRIES) * (2 / 20) ** 2) > 0.999

    @pytest.mark.parametrize("wrong", ["no pairwise masks", "no mask of its own", "one word for all", "the same again"])
    def test_a_wrong_mask_is_rejected(self, wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def skipped(entries: Entries, key: bytes | None, real: Callable[[Entries, bytes], None]) -> None:
            if key is None:
                return
            if wrong == "one word for all":
                word = np.zeros(1, entries.dtype)
                real(word, key)
                entries += word
            else:
                real(entries, key)

        monkeypatch.setattr(masked, "add_mask", lambda entries, key: skipped(entries, key, add_mask))
        monkeypatch.setattr(masked, "subtract_mask", lambda entries, key: skipped(entries, key, subtract_mask))
        monkeypatch.setattr(self, "take_off", lambda entries, key: skipped(entries, key, subtract_mask))
        if wrong == "no pairwise masks":
            monkeypatch.setattr(masked, "pairwise_mask_key", lambda *_: None)
        if wrong == "no mask of its own":
            monkeypatch.setattr(masked, "self_mask_key", lambda *_: None)
        if wrong == "the same again":
            seeds = cycle(range(4))
            monkeypatch.setitem(globals(), "SecureEntropy", lambda: SeededEntropy(next(seeds)))
        assert min(self.p_values().values()) < self.LEVEL
