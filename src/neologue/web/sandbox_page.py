"""The page of `neologue sandbox`: what is going on, and a button by which the person's own browser takes part."""

import secrets
import threading
from dataclasses import dataclass, field
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from neologue.errors import CampaignError
from neologue.protocol.credential import Credential, issue
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.collect.replies import Invited
from neologue.service.storage.states import CampaignState
from neologue.service.worker import Worker
from neologue.web import session
from neologue.web.campaign_trie import trie_of
from neologue.web.page import PRIVATE, Page, Visit, html, rendered, route, seen
from neologue.web.progress import standing
from neologue.web.released import shown_words

HOME = "/sandbox"
DEMO = "/device/demo.html"
SECONDS = 600.0
"""How long the link that signs somebody in is good for."""
TRIES = 2000
"""How many credentials are tried for one that the open layer invites."""
SHOWN = 60
"""How many words or prefixes are shown."""
USED = "This link was used before, or is too old: it signs in one browser, once. Start the sandbox anew for another."


@dataclass
class Sandbox:
    """A service that was started to be looked at."""

    token: str
    """Of the operator that whoever opens the link becomes."""
    campaign: str
    """The campaign of the simulated devices."""
    yours: str
    """The one that waits for the person's browser."""
    opened: float
    link: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _credential: Credential | None = None

    def routes(self, service: Worker) -> list[BaseRoute]:
        """What the sandbox serves beside all other pages."""

        async def entered(request: Request) -> Response:
            if request.method == "HEAD":  # who looks where the link leads, as a chat does, must not use it up
                return seen(HOME)
            secret = await service.threads.run(self._begun, service, request.path_params["link"])
            if secret is None:
                return html("sign_in.html", 401, session=None, back="/", problem=USED)
            response = seen(HOME)
            session.give(response, request, service.settings, secret)
            return response

        pages = (
            Page("GET", HOME, self._home),
            Page("GET", f"{HOME}/growing", self._growing, for_script=True),
            Page("POST", f"{HOME}/join", self._join),
        )
        return [Route(f"{HOME}/enter/{{link}}", entered, methods=["GET"]), *(route(service, page) for page in pages)]

    @property
    def path(self) -> str:
        """Where the person enters, once."""
        return f"{HOME}/enter/{self.link}"

    def _begun(self, service: Worker, link: str) -> str | None:
        """A session for whoever comes first with the link, and soon enough."""
        with self._lock:
            right = bool(self.link) and secrets.compare_digest(link.encode("utf-8", "replace"), self.link.encode())
            now = service.context.clock()
            if not right or now > self.opened + SECONDS:
                return None
            self.link = ""
        with service.database.transaction() as db:
            return session.begin(db, self.token, now)

    def _home(self, visit: Visit) -> Response:
        entry, yours = self._entries(visit)
        stands = standing(visit.service, entry)
        return rendered(
            visit, "sandbox.html", campaign=stands.campaign, standing=stands, yours=yours, grown=_grown(visit, entry)
        )

    def _growing(self, visit: Visit) -> Response:
        """What has stood out so far, as a piece of the page."""
        entry, _ = self._entries(visit)
        return html("growing.html", grown=_grown(visit, entry), campaign=entry)

    def _join(self, visit: Visit) -> Response:
        """Hand the browser a credential that is asked now, and the page on which it answers."""
        _, yours = self._entries(visit)
        with self._lock:
            credential = self._invited(visit.service, yours)
        operator = visit.service.context.keys.public.hex()
        handed = urlencode({"operator": operator, "credential": credential.text})
        # Behind the sign is what no browser sends to a server.
        return Response(status_code=303, headers={**PRIVATE, "Location": f"{DEMO}#{handed}"})

    def _invited(self, service: Worker, yours: CampaignRow) -> Credential:
        """The same credential as long as it is of use: one device has one."""
        if self._credential and isinstance(service.layer_cache.check_in(self._credential), Invited):
            return self._credential
        for _ in range(TRIES if service.layer_cache.campaign(yours.id) else 0):
            credential = issue(yours.id, service.context.keys.issuer)
            if isinstance(service.layer_cache.check_in(credential), Invited):
                self._credential = credential
                return credential
        raise CampaignError(
            f"the campaign {yours.name!r} is {yours.state}, and asks nobody at the moment: try again in a few seconds, "
            "or start the sandbox anew"
        )

    def _entries(self, visit: Visit) -> tuple[CampaignRow, CampaignRow]:
        with visit.service.database.reading() as db:
            return campaign_store.named(db, self.campaign), campaign_store.named(db, self.yours)


@dataclass(frozen=True)
class Grown:
    """What has stood out of the noise."""

    texts: list[str]
    more: int
    are_words: bool


def _grown(visit: Visit, entry: CampaignRow) -> Grown:
    """The words that were released, or until then the longest beginnings that were kept."""
    database = visit.service.database
    if entry.state == CampaignState.RELEASED:
        texts = [word.word for word in shown_words(database, entry)]
    else:
        texts = sorted(trie_of(database, entry).texts, key=lambda text: (-len(text), text))
    return Grown(texts[:SHOWN], max(0, len(texts) - SHOWN), entry.state == CampaignState.RELEASED)
