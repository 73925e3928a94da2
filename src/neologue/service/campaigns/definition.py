"""The definition of a live campaign: everything that an operator decides before any device is asked."""

from dataclasses import fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from neologue.aggregation.aggregator import Aggregator
from neologue.aggregation.made_up import check_can_make_up
from neologue.aggregation.masked_aggregator import DEFAULT_STRIKES
from neologue.aggregation.modes import MODES, aggregator_of, check_mode
from neologue.campaign.allocation import expected_users
from neologue.campaign.campaign import MOST_USERS, Campaign
from neologue.campaign.measuring import Measuring
from neologue.campaign.parameters import Parameters
from neologue.campaign.privacy_level import PAPER
from neologue.campaign.profiles import profile
from neologue.campaign.rule_names import judges_layers
from neologue.errors import ParameterError
from neologue.language.alphabet import Alphabet
from neologue.language.builtin import alphabet_of
from neologue.language.vocabulary import Vocabulary
from neologue.layout.schedule import foreseen_collection
from neologue.masking.rules import GroupRules
from neologue.masking.terms import MOST_ISSUERS
from neologue.protocol.invitation import KEY_BYTES
from neologue.protocol.limits import LARGEST_CLOSED_VOTE_RATIO, check_whole
from neologue.release.codec import LIVE, REHEARSAL
from neologue.service.campaigns.rounds import Rules
from neologue.service.ops.access import NAME_RULE, is_name

DAY = 86_400
LONGEST_LAYER = 366 * DAY
LEAST_TO_ANSWER = 30.0
"""The fewest seconds that people's devices are given to answer: twice what they usually wait before they send."""


class Definition(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True, dict=True):
    """The settings of a campaign."""

    name: str
    """Its name, here and in the ledger; never used twice."""
    devices: int
    """How many devices are expected to check in; if slots are drawn, not more than these get a credential."""
    population: str | None = None
    """Whose budget pays, by its name in the ledger."""
    rehearsal: bool = False
    """Whether the operator runs the devices, with simulated or recorded words: the release then says so."""
    profile: str = "neologue"
    language: str | None = None
    """Sets the alphabet and the known words, unless the fields below do."""
    alphabet: str | None = None
    """The name of an alphabet, instead of the language's or the profile's."""
    known: list[str] | None = None
    """The known words, instead of the language's."""
    also_known: list[str] = []
    """More known words, such as those that were accepted in an earlier campaign."""
    targets: list[str] | None = None
    """If given, devices contribute these words alone."""
    parameters: dict[str, Any] = {}
    """Parameters that differ from the profile."""
    accept_weak_privacy: bool = False
    """Whether the operator accepts a central ε above 10 for a whole user, which protects nobody."""
    measure_devices: int = 0
    """How many of the devices count the words found instead of finding them."""
    measure_rate: float = 1.0
    largest_closed_vote_ratio: float = LARGEST_CLOSED_VOTE_RATIO
    """The most by which the policy of the devices lets a vote on a listed word multiply the odds that it is held."""
    reserve: float = 0.1
    """The share of the devices that no layer relies on, because some will be offline; not used if slots are drawn."""
    layer_seconds: float | None = None
    """How long a layer waits for reports: a week, if it is not said. It has to be said if slots are drawn, because a
    layer then ends by its deadline alone."""
    too_few: Literal["extend", "end"] = "extend"
    """What happens to a layer with too few reports at its deadline: it waits as long again, or its pass ends."""
    most_extensions: int = 3
    batch: int = 100
    """The fewest reports that are written together."""
    check_in_seconds: int = 3600
    """After how long a device that has nothing to do yet asks again."""
    answer_seconds: float = 300.0
    """For how long a place in a layer is kept for a device that is invited. Devices fetch what they are asked and send
    after a time of their own, usually 5 to 15 seconds."""
    issuers: list[str] = []
    """The public keys, in hexadecimal, of others who may issue credentials, such as an app's own backend."""
    aggregation: Annotated[str, msgspec.Meta(extra_json_schema={"enum": list(MODES)})] = "ephemeral"
    """How reports become one sum: as they are, in memory; or under masks, in sums of groups."""
    cohort_size: int = GroupRules.size
    """How many devices mask their votes for each other."""
    smallest_cohort: int = GroupRules.smallest
    """The fewest devices whose masked votes are summed."""
    dropout: int = GroupRules.dropout
    """The dropouts that a group survives, in per cent."""
    corruption: int = GroupRules.corruption
    """The share of all devices that may be corrupt, in per cent."""
    corruption_risk: float = GroupRules.risk
    """The chance that any group has more corrupt devices than it withstands."""
    gather_seconds: float = 600.0
    """How long a group waits for its devices."""
    stage_seconds: float = 120.0
    """How long each of its four stages after that waits for those who have not answered."""
    strikes: int = DEFAULT_STRIKES
    """How many groups may miss a device in one of their stages before it is invited to no other."""

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise ParameterError(f"a campaign's name has {NAME_RULE}, not {self.name[:200]!r}", parameter="name")
        check_whole("devices", self.devices, 1, MOST_USERS, parameter="devices")
        check_whole("devices that measure", self.measure_devices, 0, MOST_USERS, parameter="measure_devices")
        check_whole("batch", self.batch, 2, 100_000, parameter="batch")
        check_whole("most extensions", self.most_extensions, 0, 1000, parameter="most_extensions")
        check_whole("strikes", self.strikes, 1, 1000, parameter="strikes")
        check_whole("check-in seconds", self.check_in_seconds, 1, 30 * DAY, parameter="check_in_seconds")
        if not 0 <= self.reserve < 1:
            raise ParameterError(f"reserve must be a share from 0 to below 1, not {self.reserve}", parameter="reserve")
        if not self.largest_closed_vote_ratio >= 1:  # written so that it also rejects NaN
            raise ParameterError(
                f"largest closed vote ratio must be at least 1, not {self.largest_closed_vote_ratio}",
                parameter="largest_closed_vote_ratio",
            )
        if self.measure_devices and self.measure_devices >= int(self.devices * (1 - self.reserve)):
            raise ParameterError(
                f"{self.measure_devices:,} devices that measure leave none of {self.devices:,} to discover words with, "
                f"less a reserve of {self.reserve:g}: measure with fewer",
                parameter="measure_devices",
            )
        if self.layer_seconds is not None and not 0 < self.layer_seconds <= LONGEST_LAYER:
            raise ParameterError(
                f"layer seconds must be above 0 and at most a year, not {self.layer_seconds}", parameter="layer_seconds"
            )
        for name in ("answer_seconds", "gather_seconds", "stage_seconds"):
            if not 0 < getattr(self, name) <= DAY:
                raise ParameterError(
                    f"{name.replace('_', ' ')} must be above 0 and at most a day, not {getattr(self, name)}",
                    parameter=name,
                )
        unknown = [name for name in self.parameters if name not in {field.name for field in fields(Parameters)}]
        if unknown:
            raise ParameterError(
                f"no parameter is called {unknown[0]!r}; neologue profiles lists them", parameter="parameters"
            )
        for key in self.issuers:
            _check_key(key)
        if len(self.issuers) > MOST_ISSUERS or len(set(self.issuers)) < len(self.issuers):
            raise ParameterError(
                f"a campaign names at most {MOST_ISSUERS} issuers, each once, not {len(self.issuers)}",
                parameter="issuers",
            )
        check_mode(self.aggregation)

    @cached_property
    def campaign(self) -> Campaign:
        """The campaign, for as many users as its devices leave after the reserve and those who measure."""
        base = profile(self.profile)
        stated = msgspec.convert(self.parameters, dict[str, Any])
        if "rule" in stated and not judges_layers(stated["rule"]):
            stated = {"layers": None, **stated}
        alphabet = alphabet_of(base.alphabet, self.language or "en")
        known = Vocabulary.builtin(self.language) if self.language else Vocabulary.empty()
        if self.alphabet:
            alphabet = Alphabet.named(self.alphabet)
        if self.known is not None:
            known = Vocabulary(self.known, source="given words")
        if self.also_known:
            known = known.with_words(self.also_known, f"{len(self.also_known):,} more")
        try:
            # An ε that follows from a level of privacy is stated by whoever creates the campaign.
            least = {"epsilon": PAPER.local_epsilon} if base.parameters.epsilon is None else {}
            parameters = msgspec.convert({**base.parameters.as_dict(), **least, **stated}, Parameters)
        except msgspec.ValidationError as error:
            raise ParameterError(f"the parameters can't be used: {error}") from error
        # Layers that end by count are quicker: whoever wants to claim that slots hide people says so.
        parameters = replace(parameters, allocation=stated.get("allocation", "filled"))
        if parameters.allocation != "filled":
            self._check_drawn(parameters)
        return Campaign(
            users=expected_users(parameters, self.devices, self.reserve, self.measure_devices),
            parameters=parameters,
            alphabet=alphabet,
            # On a device there are no rules for words, only a list.
            known=Vocabulary(known.words, source=known.source),
            targets=None if self.targets is None else frozenset(self.targets),
            profile=self.profile,
            groups=self.aggregator.exposure.masked,
        )

    @property
    def drawn(self) -> bool:
        """Whether layers end by their deadlines alone, and count planned numbers of reports."""
        return self.campaign.parameters.drawn

    @property
    def seconds(self) -> float:
        """How long a layer waits for reports."""
        return 7.0 * DAY if self.layer_seconds is None else self.layer_seconds

    @property
    def fidelity(self) -> str:
        """What the release says of where its reports come from."""
        return REHEARSAL if self.rehearsal else LIVE

    @property
    def measuring(self) -> Measuring | None:
        """How many devices measure, if any do."""
        return Measuring(self.measure_devices, self.measure_rate) if self.measure_devices else None

    @cached_property
    def aggregator(self) -> Aggregator:
        """How reports become sums."""
        return aggregator_of(self.aggregation, self)

    def rules_for(self, candidates: int) -> Rules:
        """The rules of the round of a layer on so many candidates: how long it waits, and for how many."""
        return replace(self.rules, smallest=self.campaign.fewest_reports(candidates))

    @property
    def rules(self) -> Rules:
        """What all of its rounds have in common."""
        return Rules(
            devices=self.devices,
            reserve=self.reserve,
            seconds=self.seconds,
            batch=self.aggregator.fewest,
            smallest=self.campaign.parameters.smallest_layer,
            most_extensions=self.most_extensions if self.too_few == "extend" else 0,
        )

    def check(self) -> None:
        """Refuse a campaign that can't be run."""
        self._check_time()
        campaign = self.campaign
        if self.measuring:
            self.measuring.check(campaign, self.devices)
            self._check_listed_votes(self.measuring, campaign)
        fewest, what = self.aggregator.fewest, self.aggregator.unit
        if campaign.parameters.promised_epsilon is not None:
            self._check_room(fewest, what)
        if fewest > campaign.parameters.smallest_layer:
            raise ParameterError(
                f"a {what} of {fewest:,} is more than the {campaign.parameters.smallest_layer:,} reports that "
                f"decide a layer; give a smaller {what} or a larger smallest layer",
                parameter=self.aggregator.parameter,
            )

    def _check_drawn(self, parameters: Parameters) -> None:
        """Refuse planned layers where what their proof needs can't be kept."""
        close_by_count = "or close layers by count (allocation filled), which claims nothing"
        if self.aggregator.exposure.masked:
            raise ParameterError(
                "masked groups fill up by count, so that who is in a layer depends on who else is, and slots hide "
                f"nobody: take aggregation ephemeral, {close_by_count}",
                parameter="parameters",
            )
        if parameters.layers is None:
            raise ParameterError(
                "a trie has as many layers as the votes make it, so none can be planned by slots: give a number of "
                f"layers, such as 4, {close_by_count}",
                parameter="layers",
            )
        check_can_make_up(parameters.randomizer)
        if self.issuers:
            raise ParameterError(
                "how many credentials others issue is not known here, and planned numbers of reports must not be "
                f"exceeded: hand out credentials of this service instead of naming issuers, {close_by_count}",
                parameter="issuers",
            )
        if self.layer_seconds is None:
            raise ParameterError(
                "if slots are drawn, a layer ends by its deadline alone: say how long it waits (layer_seconds, or "
                f"--hours), {close_by_count}",
                parameter="layer_seconds",
            )

    def _check_time(self) -> None:
        """Refuse to give people's devices less time than they take: they would answer in vain."""
        name = "answer_seconds" if self.aggregator.keeps_places else "stage_seconds"
        if not self.rehearsal and getattr(self, name) < LEAST_TO_ANSWER:
            raise ParameterError(
                f"{name.replace('_', ' ')} must be at least {LEAST_TO_ANSWER:g} for people's devices, which usually "
                f"wait 5 to 15 before they send, not {getattr(self, name):g}: give more, or create a rehearsal",
                parameter=name,
            )

    def _check_listed_votes(self, measuring: Measuring, campaign: Campaign) -> None:
        """Refuse a measurement that people's devices would refuse, when all words are found and paid for."""
        most = self.largest_closed_vote_ratio
        ratio = measuring.vote_ratio(campaign, campaign.epsilon)
        if self.rehearsal or ratio <= most:
            return
        hundredths = range(int(100 * campaign.epsilon), 0, -1)
        fits = next((e / 100 for e in hundredths if measuring.vote_ratio(campaign, e / 100) <= most), None)
        smaller = "" if fits is None else f"give an ε of at most {fits:g}, or "
        raise ParameterError(
            f"at ε = {campaign.epsilon:g} a vote on a word of the list that is measured multiplies the odds that it is "
            f"held by {float(ratio):,.0f}, and devices refuse more than {most:g}: {smaller}measure with no devices; "
            "if the policy of your devices allows more, give its largest_closed_vote_ratio",
            parameter="measure_devices",
        )

    def _check_room(self, fewest: int, what: str) -> None:
        """Refuse batches so large that what a full layer may lack of them breaks its promise."""
        for layer in foreseen_collection(self.campaign).batches:
            decides = self.campaign.fewest_reports(layer.candidates)
            if layer.reports - fewest < decides:
                raise ParameterError(
                    f"a layer of {layer.reports:,} may end with a {what} of {fewest:,} missing, and needs {decides:,} "
                    f"reports to keep the promised central ε: give a smaller {what}, or more devices",
                    parameter=self.aggregator.parameter,
                )


def _check_key(key: str) -> None:
    try:
        raw = bytes.fromhex(key)
        Ed25519PublicKey.from_public_bytes(raw)
    except ValueError:
        raise ParameterError(
            f"an issuer is an Ed25519 public key of {KEY_BYTES} bytes in hexadecimal, not {key[:80]!r}",
            parameter="issuers",
        ) from None
