"""Devices that break a rule of the protocol, and the vectors that tell."""

import hashlib
import runpy
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from neologue.device import contribution, layer_form
from neologue.device.network import handover
from neologue.device.network.handover import HandedRequest, HandoverTransport
from neologue.device.network.transport import Response
from neologue.device.policy import Policy
from neologue.language import vocabulary, word_form
from neologue.language.alphabet import Alphabet
from neologue.language.candidates import Candidates
from neologue.language.likely_candidates import LikelyCandidates
from neologue.language.likely_roots import NEVER, NO_PREFIXES, UNASKED, Roots
from neologue.language.likely_strings import LikelyStrings
from neologue.language.spelling_costs import SpellingCosts
from neologue.language.vocabulary import Vocabulary
from neologue.protocol import credential, invitation, layer, layer_fields, report, ticket
from neologue.protocol.closed_layer import ClosedLayer
from neologue.protocol.layer import Layer
from neologue.protocol.submission import Submission
from neologue.protocol.succession import KeyHistory, Link, Revocation
from neologue.randomizers.closed import ClosedDomain, Thermometer
from neologue.randomizers.rice import RiceCode
from neologue.randomizers.subset_selection import SubsetSelection
from neologue.randomizers.unary import Ones, Unary
from neologue.transparency.checkpoint import Checkpoint
from neologue.transparency.inclusion_proof import TreeProof
from neologue.transparency.log_entry import LogEntry

ROOT: Final = Path(__file__).parents[1]
GENERATOR: Final = runpy.run_path(str(ROOT / "vectors" / "generate.py"))
Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    """A device that breaks a rule."""

    rule: str
    name: str
    break_rule: Callable[[Patch], None]
    file: str
    """The vectors that tell."""


MUTANTS: list[Mutant] = []


def mutant(rule: str, file: str) -> Callable[[Callable[[Patch], None]], None]:
    """Enter a mutant; its name is that of the function."""

    def enter(break_rule: Callable[[Patch], None]) -> None:
        MUTANTS.append(Mutant(rule, break_rule.__name__, break_rule, file))

    return enter


def wrap(patch: Patch, owner: Any, name: str, change: Callable[..., Any]) -> None:  # noqa: ANN401
    """Replace a method by one that is given the old one first."""
    patch.setattr(owner, name, partial_method(change, getattr(owner, name)))


def partial_method(change: Callable[..., Any], really: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **named: change(really, *given, **named)


def nothing(*_: object, **__: object) -> None:
    """A check that is not made."""


# Words


@mutant("W1", "counting.json")
def white_space_is_a_space_alone(patch: Patch) -> None:
    patch.setattr(word_form, "_is_taken_off", lambda character, _stripped: character == " ")


@mutant("W1", "counting.json")
def a_byte_order_mark_is_white_space(patch: Patch) -> None:
    wrap(patch, word_form, "_is_taken_off", lambda really, each, stripped: each == "\ufeff" or really(each, stripped))


@mutant("W2", "forms.json")
def a_form_is_not_composed_again(patch: Patch) -> None:
    patch.setattr("neologue.language.word_form.unicodedata.normalize", lambda _form, text: text)


@mutant("W2", "forms.json")
def a_range_ends_before_its_last_character(patch: Patch) -> None:
    def is_taken_off(really: Callable[..., bool], each: str, stripped: str) -> bool:
        return really(each, stripped) and each not in stripped[1::2]

    wrap(patch, word_form, "_is_taken_off", is_taken_off)


@mutant("W3", "candidates.json")
def an_alphabet_is_in_the_order_of_utf_16(patch: Patch) -> None:
    def order(alphabet: Alphabet) -> None:
        ordered = sorted(set(alphabet.characters), key=lambda character: character.encode("utf-16-be"))
        object.__setattr__(alphabet, "characters", "".join(ordered))

    patch.setattr(Alphabet, "__post_init__", order)


@mutant("W4a", "counting.json")
def the_depth_is_ignored(patch: Patch) -> None:
    wrap(patch, Alphabet, "spells", lambda really, alphabet, word, _depth: really(alphabet, word, 99))


@mutant("W4a", "counting.json")
def the_depth_is_counted_in_utf_16(patch: Patch) -> None:
    wrap(
        patch,
        Alphabet,
        "spells",
        lambda really, alphabet, word, depth: (
            really(alphabet, word, depth) and len(word.encode("utf-16-be")) <= 2 * depth
        ),
    )


@mutant("W4b", "counting.json")
def foreign_characters_count(patch: Patch) -> None:
    patch.setattr(Alphabet, "spells", lambda _alphabet, word, depth: 0 < len(word) <= depth)


@mutant("W4c", "counting.json")
def white_space_inside_words_counts(patch: Patch) -> None:
    patch.setattr(Alphabet, "spells", lambda alphabet, word, depth: 0 < len(word) <= depth and alphabet.expresses(word))


@mutant("W4d", "counting.json")
def found_words_are_ignored_with_targets(patch: Patch) -> None:
    def counts(really: Callable[..., bool], asked: Layer, word: str) -> bool:
        return really(asked, word) if asked.targets is None else word in asked.targets

    wrap(patch, Layer, "counts", counts)


@mutant("W4e", "counting.json")
def targets_are_compared_in_any_case(patch: Patch) -> None:
    def counts(really: Callable[..., bool], asked: Layer, word: str) -> bool:
        return really(asked, word) or (asked.targets is not None and word.lower() in asked.targets)

    wrap(patch, Layer, "counts", counts)


@mutant("W4e", "counting.json")
def a_known_target_does_not_count(patch: Patch) -> None:
    wrap(patch, Layer, "counts", lambda really, asked, word: really(asked, word) and word not in asked.known)


@mutant("W5", "counting.json")
def case_is_exact(patch: Patch) -> None:
    patch.setattr(vocabulary, "_permitted_forms", lambda _word: ())


@mutant("W5", "counting.json")
def any_case_is_known(patch: Patch) -> None:
    patch.setattr(vocabulary, "_permitted_forms", lambda word: (word.lower(), word.capitalize()))


@mutant("W5", "counting.json")
def sigma_has_one_small_form(patch: Patch) -> None:
    def forms(really: Callable[[str], tuple[str, ...]], word: str) -> tuple[str, ...]:
        return tuple(form.replace("ς", "σ") for form in really(word))

    wrap(patch, vocabulary, "_permitted_forms", forms)


@mutant("W6", "counting.json")
def counts_are_not_clamped(patch: Patch) -> None:
    patch.setattr(contribution, "MOST_TIMES", 2**62)


# Candidates


@mutant("C1", "candidates.json")
def the_end_of_a_word_is_no_extension(patch: Patch) -> None:
    wrap(patch, Candidates, "index", lambda really, candidates, words: really(candidates, words) - 1)


@mutant("C2", "reports.json")
def what_has_no_candidate_is_the_first(patch: Patch) -> None:
    wrap(patch, Candidates, "index", lambda really, candidates, words: np.maximum(really(candidates, words), 0))


@mutant("L1", "likely.json")
def back_offs_are_free(patch: Patch) -> None:
    really = vars(SpellingCosts)["cost"].func

    def cost(spelling: SpellingCosts) -> Any:  # noqa: ANN401
        return really(SpellingCosts.__new__(SpellingCosts).__class__(**_without_backoffs(spelling)))

    patch.setattr(SpellingCosts, "cost", property(cost))


def _without_backoffs(spelling: SpellingCosts) -> dict[str, Any]:
    names = ("alphabet", "contexts", "backoffs", "symbols", "costs")
    return {name: getattr(spelling, name) for name in names} | {"backoffs": np.zeros_like(spelling.backoffs)}


@mutant("L2", "likely.json")
def the_beginning_of_a_word_is_no_context(patch: Patch) -> None:
    patch.setattr(SpellingCosts, "start", property(lambda _spelling: 0))


@mutant("L3", "likely.json")
def even_costs_are_ignored(patch: Patch) -> None:
    really = vars(Roots)["next_costs"].func

    def next_costs(roots: Roots) -> Any:  # noqa: ANN401
        never = np.full_like(roots.even_costs, NEVER)
        return really(Roots(roots.spelling, roots.prefixes, roots.costs, never, roots.asked))

    patch.setattr(Roots, "next_costs", property(next_costs))


@mutant("L4", "likely.json")
def nothing_is_closed(patch: Patch) -> None:
    wrap(patch, Roots, "asked_after", lambda really, *given: np.full_like(really(*given), UNASKED))


@mutant("L5", "likely.json")
def what_costs_just_the_limit_is_not_asked_again(patch: Patch) -> None:
    def again(candidates: LikelyCandidates) -> tuple[LikelyStrings, ...]:
        earlier = enumerate(candidates.rounds[:-1])
        return tuple(
            LikelyStrings(candidates.round_roots(number), max(each.again - 1, 0), NO_PREFIXES)
            for number, each in earlier
        )

    patch.setattr(LikelyCandidates, "again", property(again))


@mutant("L6", "likely.json")
def what_is_not_asked_about_has_no_escape(patch: Patch) -> None:
    def index(really: Callable[..., Any], strings: LikelyStrings, words: Any) -> Any:  # noqa: ANN401
        found = really(strings, words)
        _, ended = strings.strings(np.maximum(found, 0))
        return np.where(ended, found, -1)

    wrap(patch, LikelyStrings, "index", index)


@mutant("L7", "likely.json")
def a_symbol_is_counted_before_itself(patch: Patch) -> None:
    wrap(
        patch,
        LikelyStrings,
        "_earlier",
        lambda really, *given: really(*given) + 1,
    )


@mutant("L8", "policy.json")
def what_cannot_be_counted_is_small(patch: Patch) -> None:
    patch.setattr(LikelyCandidates, "size", property(lambda candidates: min(int(candidates.starts[-1]), 1000)))


# Documents


@mutant("D1", "documents.json")
def what_is_not_ascii_is_escaped(patch: Patch) -> None:
    wrap(
        patch,
        layer_fields,
        "canonical",
        lambda really, told: really(told).decode().encode("ascii", "backslashreplace"),
    )


@mutant("D2", "reports.json")
def a_digest_is_of_other_bytes(patch: Patch) -> None:
    wrap(patch, layer_fields, "canonical", lambda really, told: really(told) + b"\n")


@mutant("D3", "documents.json")
def a_field_is_left_out(patch: Patch) -> None:
    wrap(
        patch,
        layer_fields,
        "canonical",
        lambda really, told: really({name: value for name, value in told.items() if name != "stripped"}),
    )


@mutant("D4", "reports.json")
def a_decimal_has_no_fraction_that_is_zero(patch: Patch) -> None:
    def write(really: Callable[..., bytes], told: dict[str, Any]) -> bytes:
        return really(told | {"epsilon": told["epsilon"].removesuffix(".0")})

    wrap(patch, layer_fields, "canonical", write)


@mutant("D5", "documents.json")
def known_words_end_in_a_newline(patch: Patch) -> None:
    def document(known: Vocabulary) -> bytes:
        return "".join(f"{word}\n" for word in sorted(known.words)).encode()

    patch.setattr(Vocabulary, "digest", property(lambda known: hashlib.sha256(document(known)).hexdigest()))
    patch.setitem(GENERATOR["FILES"]["documents.json"].__globals__, "known_document", document)


# Reports


@mutant("S2", "reports.json")
def the_least_typed_are_sampled(patch: Patch) -> None:
    wrap(
        patch,
        contribution,
        "sample",
        lambda really, prefixes, times, bound, sampler, entropy: really(prefixes, -times, bound, sampler, entropy),
    )


@mutant("S2", "reports.json")
def random_is_greedy(patch: Patch) -> None:
    wrap(
        patch,
        contribution,
        "sample",
        lambda really, prefixes, times, bound, _sampler, entropy: really(prefixes, times, bound, "greedy", entropy),
    )


@mutant("R1", "unary.json")
def noise_is_rounded_down(patch: Patch) -> None:
    really = vars(Unary)["noise"].func
    patch.setattr(Unary, "noise", property(lambda unary: really(unary) - 1))


@mutant("R1", "unary.json")
def what_is_held_is_always_told(patch: Patch) -> None:
    wrap(
        patch,
        Unary,
        "randomize",
        lambda really, unary, held, entropy: Ones(np.union1d(really(unary, held, entropy).positions, held)),
    )


@mutant("R2", "subset_selection.json")
def truth_is_rounded_up(patch: Patch) -> None:
    really = vars(SubsetSelection)["truth"].func
    patch.setattr(SubsetSelection, "truth", property(lambda selection: really(selection) + 1))


@mutant("R3", "unary.json")
def a_payload_has_no_padding(patch: Patch) -> None:
    wrap(patch, RiceCode, "encode", lambda really, code, positions: really(code, positions).rstrip(b"\0"))


@mutant("R4", "subset_selection.json")
def offsets_come_before_the_seed(patch: Patch) -> None:
    wrap(
        patch,
        SubsetSelection,
        "encode",
        lambda really, selection, made: really(selection, made)[16:] + made.seed,
    )


@mutant("R5", "reports.json")
def a_report_has_the_end_of_the_digest(patch: Patch) -> None:
    patch.setattr(report, "header", lambda asked: bytes([2]) + asked.digest[-8:])


@mutant("R6", "reports.json")
def nothing_to_say_is_not_said(patch: Patch) -> None:
    wrap(
        patch,
        report,
        "make_report",
        lambda really, asked, held, entropy: really(asked, held, entropy) if len(held) else b"",
    )
    patch.setattr(contribution, "make_report", report.make_report)


@mutant("M1", "closed.json")
def every_word_is_kept(patch: Patch) -> None:
    patch.setattr(ClosedLayer, "chance", property(lambda _layer: 1 << 64))


@mutant("M2", "closed.json")
def a_thermometer_is_filled_from_its_end(patch: Patch) -> None:
    wrap(
        patch,
        Thermometer,
        "held",
        lambda really, domain, listed, others: np.concatenate(
            [listed, domain.listed + domain.bound - 1 - np.arange(others)]
        ),
    )


@mutant("M3", "closed.json")
def other_words_are_none(patch: Patch) -> None:
    for domain in ClosedDomain.__subclasses__():
        if domain is not Thermometer:
            patch.setattr(domain, "held", lambda _domain, listed, _others: listed)


# Identities and keys


@mutant("T3", "identities.json")
def a_credential_is_signed_for_something_else(patch: Patch) -> None:
    patch.setattr(credential, "DOMAIN", b"neologue credential v2\0")


@mutant("T5", "documents.json")
def an_invitation_is_signed_for_something_else(patch: Patch) -> None:
    patch.setattr(invitation, "DOMAIN", b"neologue invitation v2\0")


@mutant("T8", "identities.json")
def a_ticket_comes_behind_the_report(patch: Patch) -> None:
    patch.setattr(Submission, "__bytes__", lambda sent: sent.campaign_id + sent.serial + sent.report + sent.ticket)


@mutant("T11", "identities.json")
def a_ticket_is_made_for_something_else(patch: Patch) -> None:
    patch.setattr(ticket, "_PURPOSE", b"neologue slot")


@mutant("K1", "succession.json")
def signatures_of_links_are_not_checked(patch: Patch) -> None:
    patch.setattr("neologue.protocol.succession.is_signed", lambda *_: True)


@mutant("K2", "succession.json")
def the_last_succession_counts(patch: Patch) -> None:
    def follow(really: Callable[..., KeyHistory], history: KeyHistory, link: Link, pins: object) -> KeyHistory:
        if isinstance(link, Revocation):
            return really(history, link, pins)
        return KeyHistory({**history.successions, link.old: link.new}, history.revocations)

    wrap(patch, KeyHistory, "_with", follow)


@mutant("K2", "succession.json")
def any_recovery_key_revokes(patch: Patch) -> None:
    patch.setattr(
        KeyHistory, "_knows", lambda history, link, _: not hasattr(link, "recovery") and link.old in history.successions
    )
    patch.setattr(
        KeyHistory,
        "_successor",
        lambda history, key, _: {revoked: new for (_, revoked), new in history.revocations.items()}.get(
            key, history.successions.get(key)
        ),
    )


@mutant("K3", "succession.json")
def a_succession_goes_before_a_revocation(patch: Patch) -> None:
    patch.setattr(
        KeyHistory,
        "_successor",
        lambda history, key, recovery: history.successions.get(key, history.revocations.get((recovery, key))),
    )


@mutant("K4", "succession.json")
def the_pinned_key_stays_trusted(patch: Patch) -> None:
    wrap(patch, KeyHistory, "path", lambda really, history, *pin: really(history, *pin)[:1])


# Hand-over by file


@mutant("H1", "handover.json")
def a_request_is_named_without_a_line_break(patch: Patch) -> None:
    def name(request: HandedRequest) -> str:
        return hashlib.sha256(f"{request.method} {request.path}".encode() + request.body).hexdigest()

    patch.setattr(HandedRequest, "name", property(name))


@mutant("H1", "handover.json")
def documents_go_round_with_the_answers(patch: Patch) -> None:
    patch.setattr(handover, "_KEPT", ("nowhere",))


@mutant("H1", "handover.json")
def what_was_used_does_not_come_back(patch: Patch) -> None:
    patch.setattr(handover, "_KEPT", ("/",))


@mutant("H1", "handover.json")
def a_request_for_a_document_has_no_type(patch: Patch) -> None:
    def write(really: Callable[[HandedRequest], bytes], request: HandedRequest) -> bytes:
        return really(replace(request, kind="") if request.method == "GET" else request)

    wrap(patch, HandedRequest, "__bytes__", write)


@mutant("H2", "handover.json")
def an_answer_is_used_again(patch: Patch) -> None:
    def request(really: Callable[..., Response], transport: HandoverTransport, *given: Any) -> Response:  # noqa: ANN401
        kept = dict(transport._answers)
        response = really(transport, *given)
        transport._answers = kept
        return response

    wrap(patch, HandoverTransport, "request", request)


# The usual limits


def _limits(**changes: Any) -> Callable[[Patch], None]:  # noqa: ANN401
    """A policy with another limit."""
    made = GENERATOR["FILES"]["policy.json"].__globals__
    return lambda patch: patch.setitem(made, "Policy", partial(Policy, **changes))


LIMITS: Final[dict[str, dict[str, Any]]] = {
    "P3": {"largest_epsilon": 1e6},
    "P4": {"largest_user_epsilon": 1e6},
    "P5": {"lifetime_epsilon": 1e6},
    "P6": {"smallest_layer_size": 1},
    "P7": {"longest_word": 64},
    "P8": {"allow_targets": True},
    "P9": {"largest_layer": 1 << 27},
    "P10": {"largest_report": 1 << 30},
    "P11": {"most_votes": 1 << 27},
    "P12": {"largest_closed_vote_ratio": 1e9},
    "P13": {"largest_silence_ratio": 1e9},
    "P14": {"fewest_noise_votes": 0},
}
for _rule, _limit in LIMITS.items():
    MUTANTS.append(Mutant(_rule, "_".join(_limit), _limits(**_limit), "policy.json"))


@mutant("P16", "policy.json")
def any_list_of_words_is_answered(patch: Patch) -> None:
    made = GENERATOR["FILES"]["policy.json"].__globals__
    patch.setitem(made, "Policy", lambda **given: Policy(**given | {"allow_unlogged_lists": True}))


@mutant("P1", "policy.json")
def any_epsilon_will_do(patch: Patch) -> None:
    patch.setattr(layer_form, "SMALLEST_EPSILON", 0.0)
    patch.setattr("neologue.randomizers.thresholds.SMALLEST_EPSILON", 0.0)


@mutant("P2", "policy.json")
def an_unknown_randomizer_is_unary(patch: Patch) -> None:
    patch.setattr(layer_form, "RANDOMIZERS", {"unary": Unary, "subset-selection": SubsetSelection, "plain": Unary})
    wrap(patch, layer, "randomizer", lambda really, name, *given: really("unary" if name == "plain" else name, *given))


# The log


@mutant("V2", "log.json")
def a_promise_is_not_in_the_entry(patch: Patch) -> None:
    def write(really: Callable[[LogEntry], bytes], entry: LogEntry) -> bytes:
        return really(replace(entry, promise=None))

    wrap(patch, LogEntry, "__bytes__", write)


@mutant("V3", "log.json")
def bytes_behind_a_proof_are_passed_over(patch: Patch) -> None:
    patch.setattr("neologue.transparency.inclusion_proof._Reader.end", nothing)


@mutant("V4", "log.json")
def the_logs_signature_is_not_checked(patch: Patch) -> None:
    patch.setattr("neologue.transparency.inclusion_proof.is_signed", lambda *_: True)


@mutant("V4", "log.json")
def a_witness_that_signs_twice_counts_twice(patch: Patch) -> None:
    def count(proof: TreeProof, checkpoint: Checkpoint, witnesses: list[bytes], now: float, quorum: int) -> int:
        text = str(checkpoint)
        return sum(
            signed.time <= now + 86_400 and any(signed.is_by(key, text) for key in witnesses)
            for _, signed in proof.cosignatures
        )

    patch.setattr(TreeProof, "witnesses_of", count)


@mutant("V4", "log.json")
def clocks_that_are_ahead_are_believed(patch: Patch) -> None:
    patch.setattr("neologue.transparency.inclusion_proof.is_past", lambda *_: True)


@mutant("V6", "log.json")
def evidence_is_over_the_key_alone(patch: Patch) -> None:
    patch.setattr("neologue.transparency.evidence.DOMAIN", b"")


@mutant("V5", "log.json")
def a_larger_tree_is_not_compared(patch: Patch) -> None:
    def check(really: Callable[..., None], known: Checkpoint, newest: Checkpoint, fetch: Callable[..., bytes]) -> None:
        if newest.size <= known.size:
            really(known, newest, fetch)

    made = GENERATOR["FILES"]["log.json"].__globals__
    patch.setitem(made, "check_goes_on", partial(check, made["check_goes_on"]))


@mutant("V5", "log.json")
def a_log_may_go_back(patch: Patch) -> None:
    def check(really: Callable[..., None], known: Checkpoint, newest: Checkpoint, fetch: Callable[..., bytes]) -> None:
        if newest.size >= known.size:
            really(known, newest, fetch)

    made = GENERATOR["FILES"]["log.json"].__globals__
    patch.setitem(made, "check_goes_on", partial(check, made["check_goes_on"]))


@mutant("V4", "log.json")
def the_tree_of_the_campaign_need_not_be_cosigned(patch: Patch) -> None:
    def count(really: Callable[..., int], proof: TreeProof, checkpoint: Checkpoint, *given: object) -> int:
        return 3 if checkpoint.origin.count("/") == 2 else really(proof, checkpoint, *given)

    wrap(patch, TreeProof, "witnesses_of", count)
