"""Devices that break a rule, each with the check of the conformance kit that tells."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from neologue import one_address
from neologue.conformance import python_driver
from neologue.device import check_in, client, policy
from neologue.device.client import Client
from neologue.device.library import Library
from neologue.device.network import answers, transport
from neologue.device.network.backoff import Backoff
from neologue.device.operator_keys import OperatorKeys
from neologue.device.storage.log_record import LogRecord
from neologue.device.storage.spending_record import SpendingRecord
from neologue.device.tick import OUT
from neologue.errors import LaterError
from neologue.language.vocabulary import Vocabulary
from neologue.protocol import report
from neologue.protocol.invitation import Invitation
from neologue.protocol.submission import Submission
from neologue.transparency.inclusion_proof import TreeProof

Broken = Callable[[pytest.MonkeyPatch], None]
WRONG: Final[list[tuple[str, Broken]]] = []
"""Devices that break a rule, each with the check that tells."""


def wrong(check: str) -> Callable[[Broken], Broken]:
    def enter(broken: Broken) -> Broken:
        WRONG.append((check, broken))
        return broken

    return enter


def exchange(patch: pytest.MonkeyPatch, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Let a device take another answer of a check-in for the one that came."""
    really = answers.json_object
    patch.setattr(check_in, "json_object", lambda response: change(really(response)))


@wrong("waits_as_told")
def waits_no_second(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.network.answers.SOONEST", 0.0)


@wrong("waits_as_told")
def waits_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.network.answers.LATEST", 1e12)


@wrong("ends_when_all_is_over")
def does_not_end(patch: pytest.MonkeyPatch) -> None:
    waiting = {"state": "wait", "retry_after": 60}
    exchange(patch, lambda told: waiting if told.get("state") == "over" else told)


@wrong("asks_again_in_an_hour_if_it_is_refused")
def asks_again_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.tick.REFUSED_DELAY", 1.0)


@wrong("comes_later_after_nonsense")
def takes_a_number_in_a_string(patch: pytest.MonkeyPatch) -> None:
    really = answers.clamp_delay
    patch.setattr(check_in, "clamp_delay", lambda told: really(float(told) if isinstance(told, str) else told))


@wrong("comes_later_after_nonsense")
def takes_a_ticket_of_any_length(patch: pytest.MonkeyPatch) -> None:
    really = answers.hex_bytes
    patch.setattr(
        check_in,
        "hex_bytes",
        lambda told, name, length: bytes(length) if name == "ticket" else really(told, name, length),
    )


@wrong("ignores_what_it_does_not_know")
def takes_known_keys_alone(patch: pytest.MonkeyPatch) -> None:
    exchange(patch, lambda told: {} if "weather" in told else told)


@wrong("gives_up_an_answer_that_does_not_end")
def waits_for_the_end_of_every_answer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(one_address.Allowance, "seconds_left", lambda _: 60.0)


def reads_all(patch: pytest.MonkeyPatch, of: str) -> None:
    """Let a device read what comes for a path to its end."""
    really = transport.HttpTransport.request

    def request(connection: transport.HttpTransport, method: str, path: str, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        return really(connection, method, path, *given, **named | ({"most": 1 << 30} if path.startswith(of) else {}))

    patch.setattr(transport.HttpTransport, "request", request)


@wrong("reads_no_more_of_an_answer")
def reads_all_of_an_answer(patch: pytest.MonkeyPatch) -> None:
    reads_all(patch, "/v1/check-in")


@wrong("reads_no_more_of_a_layer")
def reads_all_of_a_layer(patch: pytest.MonkeyPatch) -> None:
    reads_all(patch, "/v1/layers")
    patch.setattr("neologue.protocol.documents.LARGEST_DOCUMENT", 1 << 30)


def loosen(patch: pytest.MonkeyPatch, **limits: Any) -> None:  # noqa: ANN401
    """Let the owner of a device have other limits."""
    really = python_driver._policy
    patch.setattr(python_driver, "_policy", lambda *given: replace(really(*given), **limits))


@wrong("reads_no_more_known_words")
def counts_no_known_words(patch: pytest.MonkeyPatch) -> None:
    loosen(patch, most_known_words=1 << 30)


@wrong("reads_no_more_known_words")
def reads_all_known_words(patch: pytest.MonkeyPatch) -> None:
    loosen(patch, largest_known=1 << 30)


@wrong("reads_no_larger_model")
def reads_every_model(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.language.spelling_costs.MOST_ENTRIES", 1 << 30)


@wrong("sends_nothing_unmasked_that_is_to_be_masked")
def sees_no_masks(patch: pytest.MonkeyPatch) -> None:
    exchange(patch, lambda told: {name: value for name, value in told.items() if name != "masked"})


@wrong("sends_nothing_unmasked_that_is_to_be_masked")
def forgets_masks_when_it_has_checked_them(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        client,
        "invitation_of",
        lambda asked, campaign, _promise, asked_about: Invitation(
            asked_about, campaign, asked.operator, asked.signature
        ),
    )
    # It would be told by the signature.
    patch.setattr("neologue.protocol.invitation.is_signed", lambda *_: True)


@wrong("refuses_a_list_that_no_log_shows")
def answers_every_list(patch: pytest.MonkeyPatch) -> None:
    loosen(patch, allow_unlogged_lists=True)


@wrong("answers_a_list_that_is_in_the_log")
def answers_no_list(patch: pytest.MonkeyPatch) -> None:
    loosen(patch, largest_closed_vote_ratio=1.0)


@wrong("refuses_another_version")
def reads_every_version(patch: pytest.MonkeyPatch) -> None:
    really = Library._content

    def content(library: Library, kind: str, *given: Any) -> bytes:  # noqa: ANN401
        return really(library, kind, *given).replace(b'"version":3', b'"version":2')

    patch.setattr(Library, "_content", content)
    patch.setattr("neologue.protocol.invitation.is_signed", lambda *_: True)


@wrong("refuses_known_words_out_of_order")
def sorts_known_words(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.library.read_known", lambda content: Vocabulary(content.decode().split("\n")))
    # It would be told by other digests.
    patch.setattr("neologue.protocol.documents._check_known", lambda *_: None)
    patch.setattr("neologue.protocol.invitation.is_signed", lambda *_: True)


@wrong("answers_in_order")
def fetches_known_words_twice(patch: pytest.MonkeyPatch) -> None:
    really = Library._content

    def content(library: Library, kind: str, *given: Any) -> bytes:  # noqa: ANN401
        if kind == "known":
            really(library, kind, *given)
        return really(library, kind, *given)

    patch.setattr(Library, "_store", lambda *_: None)
    patch.setattr(Library, "_content", content)


@wrong("answers_in_order")
def sends_a_report_as_text(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(client, "OCTETS", "text/plain")


@wrong("answers_likely_strings")
def asks_about_one_candidate_more(patch: pytest.MonkeyPatch) -> None:
    really = report.make_report
    patch.setattr("neologue.device.contribution.make_report", lambda *given: really(*given) + b"\0")


@wrong("sends_the_same_bytes_until_they_are_final")
@wrong("sends_the_same_bytes_after_a_restart")
@wrong("remembers_what_left_before_a_crash")
def draws_again(patch: pytest.MonkeyPatch) -> None:
    really = Submission

    def submission(campaign: bytes, serial: bytes, ticket: bytes, report: bytes) -> Any:  # noqa: ANN401
        return really(campaign, serial, ticket, report[:-1] + bytes([next(NUMBERS) % 256]))

    patch.setattr(client, "Submission", submission)


def _numbers() -> Iterator[int]:
    yield from range(1 << 30)


NUMBERS: Final = _numbers()


@wrong("says_nothing_at_the_same_length")
def is_silent_without_words(patch: pytest.MonkeyPatch) -> None:
    really = Client.tick

    def tick(device: Client) -> Any:  # noqa: ANN401
        return really(device) if device._diary.words() else OUT

    patch.setattr(Client, "tick", tick)


@wrong("checks_signatures")
def believes_every_signature(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy, "is_signed", lambda *_: True)


@wrong("answers_no_stranger")
def answers_everybody(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy.Policy, "_operator_complaints", lambda *_: iter(()))


@wrong("checks_digests")
def believes_every_digest(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Library, "_content", lambda _library, kind, digest, most, fetch: fetch(f"/v1/{kind}/{digest}", most))
    # It has other lines of defence.
    patch.setattr("neologue.protocol.documents._check_known", lambda *_: None)
    patch.setattr("neologue.protocol.invitation.is_signed", lambda *_: True)


@wrong("comes_later_and_later")
def comes_again_at_once(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Backoff, "delay", lambda _backoff, error: error.retry_after or 1.0)


@wrong("keeps_to_retry_after")
def waits_for_years(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.network.answers.LATEST", 1e9)


@wrong("follows_no_redirection")
def follows_redirections(patch: pytest.MonkeyPatch) -> None:
    really = transport.HttpTransport.request

    def request(connection: transport.HttpTransport, method: str, path: str, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        response = really(connection, method, path, *given, **named)
        return really(connection, method, "/v1/elsewhere") if response.status == 307 else response

    patch.setattr(transport.HttpTransport, "request", request)


@wrong("answers_a_list_that_is_in_the_log")
@wrong("answers_one_layer_alone")
def answers_every_layer(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.storage.spending_record._stored_report", lambda *_: b"\x02" + bytes(1000))


@wrong("follows_a_key_and_never_goes_back")
def forgets_keys(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(OperatorKeys, "learn", lambda *_: None)


@wrong("refuses_a_wrong_succession")
def believes_every_succession(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.protocol.succession.is_signed", lambda *_: True)


@wrong("answers_no_second_time_however_it_is_forgotten")
def forgets_what_it_spent(patch: pytest.MonkeyPatch) -> None:
    really = Client.forget_me

    def forget_me(device: Client) -> None:
        really(device)
        with device._record._file.transaction() as db:
            db.execute("DELETE FROM answers")

    patch.setattr(Client, "forget_me", forget_me)


@wrong("judges_a_layer_before_it_fetches_words")
def asks_no_policy(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(policy.Policy, "check", lambda *_: None)


@wrong("renews_a_ticket_that_is_not_accepted")
def keeps_its_ticket(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.storage.membership.Membership.drop_ticket", lambda _membership: None)


@wrong("gives_up_what_is_closed")
def sends_what_is_closed(patch: pytest.MonkeyPatch) -> None:
    def later(*_: object) -> None:
        raise LaterError("again", 1.0)

    patch.setattr(Client, "_settle", later)


@wrong("is_silent_when_its_owner_opts_out")
def talks_on(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Client, "opt_out", lambda _device: None)


@wrong("shows_no_word")
def tells_a_word(patch: pytest.MonkeyPatch) -> None:
    really = SpendingRecord.answer

    def answer(record: SpendingRecord, invitation: Any, words: Any, *given: Any) -> bytes:  # noqa: ANN401
        return really(record, invitation, words, *given) + "".join(words).encode()

    patch.setattr(SpendingRecord, "answer", answer)


@wrong("needs_a_proof")
def asks_for_no_proof(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogRecord, "check", lambda *_: None)


@wrong("answers_what_is_in_the_log_alone")
def believes_every_proof(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.transparency.inclusion_proof.is_signed", lambda *_: True)
    patch.setattr(TreeProof, "witnesses_of", lambda _proof, _checkpoint, _witnesses, _now, quorum: quorum)


@wrong("counts_the_witnesses_that_it_knows")
def counts_no_witnesses(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TreeProof, "witnesses_of", lambda _proof, _checkpoint, _witnesses, _now, quorum: quorum)


@wrong("follows_a_log_that_grows_and_no_fork")
def follows_every_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("neologue.device.storage.log_record.check_goes_on", lambda *_: None)


@wrong("waits_for_a_log_that_went_back")
def goes_back_with_a_log(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogRecord, "newest", lambda *_: None)
