"""A visitor's word in the sandbox: 200 simulated people type it, and a campaign of its own finds it or not."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from neologue.cli.devices.fleet import OVER, issue_credentials
from neologue.cli.service_client import ServiceClient
from neologue.errors import CampaignError, ParameterError

if TYPE_CHECKING:
    from neologue.populations.population import Population

PEOPLE = 1000
"""How many simulated people take part."""
HOLDERS = 200
"""How many of them type the word."""


class WordTrials:
    """Runs a campaign for each word that is tried, one after the other."""

    def __init__(self, server: str, service: ServiceClient, definition: dict[str, Any], language: str) -> None:
        self._server, self._service, self._language = server, service, language
        self._definition = definition
        self._lock, self._ended = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._tried = 0

    def try_word(self, typed: str) -> tuple[str, str]:
        """Start a campaign among people of whom some type this word; its name, and the word as it is counted."""
        word = self._check(typed)
        with self._lock:
            if self._thread and self._thread.is_alive():
                raise CampaignError("another word is being tried at the moment: wait until its campaign is over")
            self._tried += 1
            name = f"word {self._tried}: {word}"
            self._service.request_json("POST", "campaigns", body={**self._definition, "name": name})
            self._service.request_json("POST", "campaigns", name, "start")
            self._thread = threading.Thread(target=self._run, args=(name, word), daemon=True)
            self._thread.start()
        return name, word

    @contextmanager
    def running(self) -> Iterator[None]:
        """End the campaign that is under way when the sandbox ends."""
        try:
            yield
        finally:
            self._ended.set()
            if self._thread:
                self._thread.join()

    def _check(self, typed: str) -> str:
        """The word as it is counted; refuses one that could not be found, with the reason."""
        from neologue.campaign.campaign import Campaign
        from neologue.language import builtin

        parameters = self._definition["parameters"]
        campaign = Campaign.from_profile(
            users=PEOPLE,
            alphabet=builtin.alphabet(self._language),
            known=builtin.vocabulary(self._language),
            depth=parameters["depth"],
            epsilon=parameters["epsilon"],
            smallest_layer=1,
        )
        word, depth = campaign.form.of(typed.strip()), parameters["depth"]
        if not campaign.alphabet.spells(word, depth):
            raise ParameterError(
                f"{typed[:40]!r} can't be found: a word has 1 to {depth} characters of the alphabet "
                f"{campaign.alphabet.name}, without spaces"
            )
        if word in campaign.known:
            raise ParameterError(f"{typed[:40]!r} is a known word, which devices never report: make one up")
        return word

    def _run(self, name: str, word: str) -> None:
        from neologue.fleet.fleet import Weather, run, simulated_policy

        policy = simulated_policy(bytes.fromhex(self._service.request_json("GET", "key")["operator"]))

        def over() -> bool:
            return self._ended.is_set() or self._service.request_json("GET", "campaigns", name)["state"] in OVER

        credentials = issue_credentials(self._service, name, PEOPLE)
        people = people_with(word, self._language, PEOPLE, HOLDERS, self._tried)
        run(people, credentials, self._server, policy, Weather(), processes=1, over=over)


def people_with(word: str, language: str, people: int, holders: int, seed: int) -> "Population":
    """Simulated people, some of whom also type a word."""
    from neologue.fleet.fleet import draw_users
    from neologue.populations.population import Population

    crowd = Population.embedded(language, people, seed=seed)
    drawn = draw_users(crowd, 0, people)
    held = [
        dict(zip((crowd.words[each] for each in row.words), row.counts.tolist(), strict=True))
        for row in (drawn.rows(user, user + 1) for user in range(people))
    ]
    for user in range(holders):
        held[user][word] = 3
    return Population.from_words({f"person {number}": words for number, words in enumerate(held)}, seed=seed)
