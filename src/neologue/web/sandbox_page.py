"""The page of `neologue sandbox`: what is going on, and a button to take part with one's own browser."""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from neologue.errors import CampaignError
from neologue.protocol.credential import Credential, issue
from neologue.service.api.responses import answer
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.collect.layer_cache import ServedLayer
from neologue.service.review.reviewed_words import shown_words
from neologue.service.storage.states import OVER, CampaignState
from neologue.service.worker import Worker
from neologue.web import session
from neologue.web.campaign_trie import campaign_trie
from neologue.web.page import PAGE_HEADERS, Page, PageRequest, html_response, page_route, redirect, render_page
from neologue.web.progress_stream import campaign_progress
from neologue.web.sandbox_vote import vote_progress

HOME = "/sandbox"
DEMO = "/device/demo.html"
VOTE = f"{HOME}/vote"
"""Where the demo page asks what became of the browser's report."""
LINK_SECONDS = 600.0
"""How long the link that signs somebody in is valid."""
MOST_TRIES = 2000
"""How many credentials are tried until the open layer invites one."""
MOST_SHOWN = 60
"""How many words or prefixes are shown."""
USED = "This link was already used or has expired: it signs in one browser, once. Restart the sandbox for a new one."


def _no_words(word: str) -> tuple[str, str]:
    raise CampaignError("no words can be tried yet: reload the page in a moment")


@dataclass
class SandboxPages:
    """The pages that a sandbox has in addition to the dashboard."""

    token: str
    """The token of the operator that the link signs in."""
    campaign: str
    """The campaign of the simulated devices."""
    browser_campaign: str
    """The campaign that the person's browser can join."""
    opened: float
    link: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    try_word: Callable[[str], tuple[str, str]] = _no_words
    """Starts a campaign for a word; its name, and the word as it is counted."""
    _words: dict[str, str] = field(default_factory=dict)
    """The word of each such campaign."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _credential: Credential | None = None
    _layer_index: int = 0
    """The layer that invites the credential."""

    def routes(self, service: Worker) -> list[BaseRoute]:
        """The routes of these pages."""

        async def enter(http: Request) -> Response:
            if http.method == "HEAD":  # a preview of the link, as chats make one, must not use it up
                return redirect(HOME)
            secret = await service.threads.run(self._begin_session, service, http.path_params["link"])
            if secret is None:
                return html_response("sign_in.html", 401, session=None, next_path="/", problem=USED)
            response = redirect(HOME)
            session.set_cookie(response, http, service.settings, secret)
            return response

        pages = (
            Page("GET", HOME, self._show_home),
            Page("GET", f"{HOME}/findings", self._show_findings, for_script=True),
            Page("POST", f"{HOME}/join", self._join),
            Page("GET", VOTE, self._show_vote, for_script=True),
            Page("POST", f"{HOME}/word", self._try_word),
            Page("GET", f"{HOME}/word/{{name}}", self._show_word),
            Page("GET", f"{HOME}/word/{{name}}/findings", self._show_word_findings, for_script=True),
        )
        return [Route(f"{HOME}/enter/{{link}}", enter, methods=["GET"]), *(page_route(service, page) for page in pages)]

    @property
    def path(self) -> str:
        """The path of the link, which works once."""
        return f"{HOME}/enter/{self.link}"

    def _begin_session(self, service: Worker, link: str) -> str | None:
        """Begin a session for the first who opens the link in time."""
        with self._lock:
            right = bool(self.link) and secrets.compare_digest(link.encode("utf-8", "replace"), self.link.encode())
            now = service.context.clock()
            if not right or now > self.opened + LINK_SECONDS:
                return None
            self.link = ""
        with service.database.transaction() as db:
            return session.begin(db, self.token, now)

    def _show_home(self, request: PageRequest) -> Response:
        entry, joinable = self._campaigns(request)
        progress = campaign_progress(request.service, entry)
        return render_page(
            request,
            "sandbox.html",
            campaign=progress.campaign,
            progress=progress,
            joinable=joinable,
            findings=_find(request, entry),
        )

    def _show_findings(self, request: PageRequest) -> Response:
        """What was found so far, as a piece of the page."""
        entry, _ = self._campaigns(request)
        return html_response("findings.html", findings=_find(request, entry), campaign=entry)

    def _join(self, request: PageRequest) -> Response:
        """Send the browser to the demo page, with a credential that the open layer invites."""
        _, joinable = self._campaigns(request)
        with self._lock:
            credential = self._invited_credential(request.service, joinable)
        operator = request.service.context.keys.public.hex()
        values = urlencode({"operator": operator, "credential": credential.text, "follow": VOTE})
        # Browsers don't send the fragment behind # to a server.
        return Response(status_code=303, headers={**PAGE_HEADERS, "Location": f"{DEMO}#{values}"})

    def _show_vote(self, request: PageRequest) -> Response:
        """What became of the browser's report, for the demo page."""
        _, joinable = self._campaigns(request)
        if self._credential is None:
            raise CampaignError("this browser has not joined yet: open the sandbox and join")
        return answer(vote_progress(request.service.database, joinable, self._credential, self._layer_index))

    def _try_word(self, request: PageRequest) -> Response:
        """Have some simulated people type a word, and show what becomes of it."""
        name, word = self.try_word(request.form.get("word", ""))
        self._words[name] = word
        return redirect(f"{HOME}/word/{quote(name, safe='')}")

    def _show_word(self, request: PageRequest) -> Response:
        entry = request.campaign()
        progress = campaign_progress(request.service, entry)
        found = _look_for(request, entry, self._words.get(entry.name, ""))
        return render_page(
            request, "sandbox_word.html", campaign=progress.campaign, progress=progress, found=found, path=HOME
        )

    def _show_word_findings(self, request: PageRequest) -> Response:
        """How far the word has come, as a piece of the page."""
        entry = request.campaign()
        return html_response("word_found.html", found=_look_for(request, entry, self._words.get(entry.name, "")))

    def _invited_credential(self, service: Worker, joinable: CampaignRow) -> Credential:
        """The same credential as long as it is invited: one device has one."""
        if self._credential and isinstance(service.layer_cache.layer_for(self._credential), ServedLayer):
            return self._credential
        for _ in range(MOST_TRIES if service.layer_cache.campaign(joinable.id) else 0):
            credential = issue(joinable.id, service.context.keys.issuer)
            if isinstance(invited := service.layer_cache.layer_for(credential), ServedLayer):
                self._credential, self._layer_index = credential, invited.layer_index
                return credential
        raise CampaignError(
            f"the campaign {joinable.name!r} is {joinable.state} and invites nobody at the moment: try again in a few "
            "seconds, or restart the sandbox"
        )

    def _campaigns(self, request: PageRequest) -> tuple[CampaignRow, CampaignRow]:
        with request.service.database.reading() as db:
            return campaign_store.campaign_named(db, self.campaign), campaign_store.campaign_named(
                db, self.browser_campaign
            )


@dataclass(frozen=True)
class Findings:
    """What stands out from the noise so far."""

    texts: list[str]
    more: int
    are_words: bool


def _find(request: PageRequest, entry: CampaignRow) -> Findings:
    """The released words, or until then the longest prefixes that were kept."""
    database = request.service.database
    if entry.state == CampaignState.RELEASED:
        texts = [word.word for word in shown_words(database, entry)]
    else:
        texts = sorted(campaign_trie(database, entry).texts, key=lambda text: (-len(text), text))
    return Findings(texts[:MOST_SHOWN], max(0, len(texts) - MOST_SHOWN), entry.state == CampaignState.RELEASED)


@dataclass(frozen=True)
class WordFound:
    """How far a word has come in its campaign."""

    word: str
    beginning: str
    """The longest beginning of it that was kept so far."""
    is_over: bool
    is_released: bool
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    """How many people would report it, if it is released."""


def _look_for(request: PageRequest, entry: CampaignRow, word: str) -> WordFound:
    database = request.service.database
    over = entry.state in OVER
    if entry.state == CampaignState.RELEASED:
        released = next((each for each in shown_words(database, entry) if each.word == word), None)
        if released:
            return WordFound(word, word, over, True, released.estimate, released.low, released.high)
    kept = {text for text in campaign_trie(database, entry).texts if word.startswith(text)}
    return WordFound(word, max(kept, key=len, default=""), over, False)
