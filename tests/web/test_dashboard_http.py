"""The pages over plain HTTP: who sees what, which headers they have, and what another site can't do."""

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import numpy as np
import pytest

from neologue.ledger.budget import Budget
from neologue.privacy.anonymity.anonymity_chances import AnonymityChances
from neologue.privacy.collection import Batch, Collection
from neologue.protocol.layer import LikelyLayer
from neologue.service.ops.settings import Settings
from neologue.service.worker import Worker
from neologue.web import progress_stream
from neologue.web.campaign_trie import MOST_BRANCHES, Trie
from neologue.web.dashboard import PAGES, dashboard, from_environment
from neologue.web.page import LARGEST_FORM, POLICY
from neologue.web.session import SECONDS
from service.campaigns import WORDS, definition
from service.serving import wait_until

from .office import TAG, TAGGED, Office, office, release_tags

TAGS = f"/campaigns/{quote(TAGGED, safe='')}"
OF_OPERATORS = ("/create", "/campaigns/open", "/campaigns/open/trie", "/campaigns/open/abort", TAGS, f"{TAGS}/trie")
OF_BOTH = ("/", "/transparency", "/trends", f"{TAGS}/words", f"{TAGS}/privacy", f"{TAGS}/review")
ASSETS = {
    "/static/dashboard.css": "text/css; charset=utf-8",
    "/static/progress.js": "text/javascript; charset=utf-8",
    "/static/icon.svg": "image/svg+xml",
    "/favicon.ico": "image/svg+xml",
    "/device/neologue-device.js": "text/javascript; charset=utf-8",
    "/device/neologue-device.d.ts": "text/plain; charset=utf-8",
    "/device/demo.html": "text/html; charset=utf-8",
    "/device/demo.js": "text/javascript; charset=utf-8",
    "/device/demo.css": "text/css; charset=utf-8",
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    folder = tmp_path_factory.mktemp("office")
    release_tags(folder)
    with office(folder) as running:
        running.begin("open")
        yield running


@pytest.fixture(scope="module")
def operator(desk: Office) -> str:
    return desk.cookie(desk.served.token)


@pytest.fixture(scope="module")
def analyst(desk: Office) -> str:
    return desk.cookie(desk.token("analyst"))


# Headers


def test_operators_see_which_key_is_in_force(desk: Office, operator: str, analyst: str) -> None:
    public = desk.served.ask("GET", "/v1/key").json["operator"]
    page = desk.ask("GET", "/", operator).body.decode()
    assert public in page
    assert "No recovery key is registered" in page
    assert public not in desk.ask("GET", "/", analyst).body.decode()


def test_the_log_is_told_of_in_plain_sentences(desk: Office, analyst: str) -> None:
    page = desk.ask("GET", "/transparency", analyst).body.decode()
    assert re.search(r"The log has its rules, and \d+ questions, of which \d+ are closed.", page)
    assert "It has one result." in page
    assert "nobody but this service vouches for the log" in page
    assert "different people may be shown different logs" in page, "without witnesses"
    assert "neologue.log/" in page


def test_every_page_and_asset_has_the_headers_and_nothing_inline(desk: Office, operator: str) -> None:
    for path in (*OF_OPERATORS, *OF_BOTH, "/campaigns/none", "/sign-in", *ASSETS):
        reply = desk.ask("GET", path, operator)
        assert reply.status == (404 if path == "/campaigns/none" else 200), path
        assert reply.headers["content-security-policy"] == POLICY, path
        assert reply.headers["x-content-type-options"] == "nosniff", path
        assert reply.headers["referrer-policy"] == "same-origin", path
        if path in ASSETS:
            assert reply.headers["content-type"] == ASSETS[path]
            assert desk.ask("GET", path, If_None_Match=reply.headers["etag"]).status == 304
        else:
            assert reply.headers["cache-control"] == "no-store", path
        if "html" in reply.headers["content-type"]:
            page = reply.body.decode()
            assert not re.search(r"<style|\sstyle=|\son[a-z]+=[\"']|javascript:|https?://", page), path
            assert re.findall(r"<script[^>]*>", page) == re.findall(r'<script type="module" src="[^"]+">', page), path
    assert "'unsafe" not in POLICY


@pytest.mark.parametrize(
    "sheet", ["/static/dashboard.css", "/static/review.css", "/static/sandbox.css", "/device/demo.css"]
)
def test_all_sizes_of_text_are_steps_of_one_scale(desk: Office, sheet: str) -> None:
    style = desk.ask("GET", sheet).body.decode()
    sizes = re.findall(r"font-size:\s*([^;}]+)|font:\s*([^;}]+)", style)
    # Code and words are sized by the text around them.
    assert all(re.search(r"var\(--size-[a-z]+\)|em$|^inherit", size or font) for size, font in sizes)
    assert not re.search(r"[0-9]rem", " ".join(size or font for size, font in sizes))


def test_what_is_not_an_asset_is_not_served(desk: Office) -> None:
    for path in ("/static/demo.js", "/device/dashboard.css", "/static/..%2fapp.py", "/static/", "/static/base.html"):
        assert desk.ask("GET", path).status == 404, path


# Signing in


def test_strangers_are_sent_to_the_door_and_come_back(desk: Office) -> None:
    for path in (*OF_OPERATORS, *OF_BOTH):
        reply = desk.ask("GET", path, "neologue-session=made-up")
        assert reply.status == 303, path
        assert reply.headers["location"] == ("/sign-in" if path == "/" else f"/sign-in?next={quote(path, safe='')}")
    assert desk.ask("GET", "/campaigns/open/progress").code == "no_session"
    assert desk.ask("POST", "/campaigns/open/pause", form={}).headers["location"] == "/sign-in"
    form = {"token": desk.served.token, "next": "/create"}
    assert desk.ask("POST", "/sign-in", form=form).headers["location"] == "/create"


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil", ""])
def test_the_door_leads_nowhere_else(desk: Office, back: str) -> None:
    reply = desk.ask("POST", "/sign-in", form={"token": desk.served.token, "next": back})
    assert reply.headers["location"] == "/"


def test_the_cookie_is_of_no_use_to_scripts_and_other_sites(desk: Office) -> None:
    given = desk.ask("POST", "/sign-in", form={"token": desk.served.token}).headers["set-cookie"]
    name, _, secret = given.partition(";")[0].partition("=")
    assert name == "neologue-session"
    assert len(secret) == 43
    attributes = {part.strip().lower() for part in given.split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/", f"max-age={SECONDS}"} <= attributes
    assert "secure" not in attributes, "this service does not speak TLS"
    with desk.town.database.reading() as db:
        rows = db.execute("SELECT hash, token FROM sessions")
    assert rows
    assert not any(secret.encode() in value for row in rows for value in row), "only its hash is kept"


def test_behind_a_proxy_that_speaks_tls_the_cookie_is_secure(tmp_path: Path) -> None:
    with office(tmp_path, proxies=1) as proxied:
        form = {"token": proxied.served.token}
        given = proxied.ask("POST", "/sign-in", form=form, X_Forwarded_Proto="https").headers["set-cookie"]
        assert given.startswith("__Host-neologue-session=")
        assert "; secure" in given.lower()
        cookie = given.partition(";")[0]
        assert proxied.ask("GET", "/", cookie, X_Forwarded_Proto="https").status == 200
        plain = cookie.removeprefix("__Host-")
        assert proxied.ask("GET", "/", plain, X_Forwarded_Proto="https").status == 303, "any host could have set it"


def test_wrong_tokens_slow_their_address_down(tmp_path: Path) -> None:
    with office(tmp_path, failures_per_minute=3) as strict:
        guesses = [strict.ask("POST", "/sign-in", form={"token": n * "guess "}).status for n in (1, 2, 1000, 1, 1)]
        assert guesses == [401, 401, 401, 429, 429]
        assert strict.ask("OPTIONS", "/v1/reports").status == 204, "a preflight has nothing to do with that"
        slow = strict.ask("POST", "/v1/reports")
        assert strict.ask("POST", "/sign-in", form={"token": strict.served.token}).status == 303, "this one is no guess"
        assert (slow.status, slow.headers["access-control-allow-origin"]) == (429, "*")
        assert slow.headers["access-control-expose-headers"] == "Retry-After"


def test_a_session_ends_by_time_by_revocation_and_by_signing_out(tmp_path: Path) -> None:
    now = [1e9]
    with office(tmp_path, lambda settings: dashboard(settings, lambda: now[0])) as desk:
        running = desk.served
        first = desk.cookie(running.token)
        now[0] += SECONDS - 1
        assert desk.ask("GET", "/", first).status == 200
        second = desk.cookie(running.token)
        now[0] += 1
        assert desk.ask("GET", "/", first).status == 303, "12 hours are over"
        assert desk.ask("GET", "/", second).status == 200

        token = running.ask("POST", "/v1/tokens", {"name": "guest", "role": "analyst"}).json["token"]
        guest = desk.cookie(token)
        assert desk.ask("GET", "/", guest).status == 200
        running.ask("DELETE", "/v1/tokens/guest")
        assert desk.ask("GET", "/", guest).status == 303, "the token is revoked, and with it the session"

        gone = desk.post("/sign-out", second)
        assert (gone.status, gone.headers["location"]) == (303, "/sign-in")
        assert "max-age=0" in gone.headers["set-cookie"].lower()
        assert desk.ask("GET", "/", second).status == 303, "the server has forgotten it too"


# Other sites


def test_nothing_is_changed_by_a_form_of_another_site(desk: Office, operator: str, analyst: str) -> None:
    right = desk.form_token(operator)
    tokens = ("", "0" * 64, desk.form_token(analyst))
    wrong: list[dict[str, str]] = [{}, *({"form_token": token} for token in tokens)]
    posts = [page.path.replace("{name}", "open") for page in PAGES if page.method == "POST"]
    assert {"/sign-out", "/create", "/campaigns/open/abort", "/campaigns/open/credentials"} <= set(posts)
    for path in posts:
        for form in wrong:
            assert desk.ask("POST", path, operator, form).status == 403, path
        for headers in (
            {"Sec_Fetch_Site": "cross-site"},
            {"Sec_Fetch_Site": "same-site"},
            {"Origin": "https://evil.example"},
            {"Origin": "http://["},
            {"Origin": "null"},
            {"Origin": ""},
        ):
            assert desk.ask("POST", path, operator, {"form_token": right}, **headers).status == 403, path
    assert desk.served.ask("GET", "/v1/campaigns/open").json["state"] == "running"
    form = {"token": desk.served.token}
    for headers in ({"Sec_Fetch_Site": "cross-site"}, {"Origin": "null"}, {"Origin": "https://evil.example"}):
        assert desk.ask("POST", "/sign-in", form=form, **headers).status == 403, headers
    held = desk.ask("POST", "/campaigns/open/pause", operator, {"form_token": right}, Sec_Fetch_Site="same-origin")
    assert held.status == 303
    here = desk.address.removeprefix("http://")
    resumed = desk.ask("POST", "/campaigns/open/start", operator, {"form_token": right}, Origin=f"http://{here}")
    assert resumed.status == 303
    assert desk.served.ask("GET", "/v1/campaigns/open").json["state"] == "running"


def test_a_form_is_as_large_as_a_page_can_make_it_but_for_known_words(desk: Office, operator: str) -> None:
    large = {"word": "x" * LARGEST_FORM}
    posts = {page.path.replace("{name}", "open"): page for page in PAGES if page.method == "POST"}
    for path in posts:
        assert desk.ask("POST", path, operator, large).status == (413 if posts[path].largest else 403), path
    known = "\n".join(f"word{n}" for n in range(LARGEST_FORM // 8))
    assert desk.post("/create/price", operator, name="x", devices="", known=known).status == 200


# Roles


def test_an_analyst_sees_releases_and_nothing_else(desk: Office, analyst: str, operator: str) -> None:
    for path in OF_BOTH:
        assert desk.ask("GET", path, analyst).status == 200, path
    for path in (*OF_OPERATORS, f"{TAGS}/progress", f"{TAGS}/trie/branches"):
        assert desk.ask("GET", path, analyst).status == 403, path
    for path in (
        "/campaigns/open/words",
        "/campaigns/open/privacy",
        "/campaigns/open/files/words.csv",
        "/campaigns/open/files/layers.zip",
    ):
        assert desk.ask("GET", path, analyst).status == 409, path
    for path in ("/campaigns/open/start", "/campaigns/open/abort", "/campaigns/open/credentials", "/create"):
        assert desk.post(path, analyst).status == 403, path
    listed = desk.ask("GET", "/", analyst).body.decode()
    assert "Not released yet." in listed
    assert "reports" not in listed.partition("<footer>")[0], "nothing of who takes part"
    assert "reports." in desk.ask("GET", "/", operator).body.decode().partition("<footer>")[0]


def test_words_are_searched_sorted_and_leafed_through(desk: Office, analyst: str) -> None:
    def shown(query: str) -> list[str]:
        page = desk.ask("GET", f"{TAGS}/words?{query}", analyst).body.decode()
        return re.findall(r'<th scope="row"><bdi class="term">(.*?)</bdi>', page)

    assert sorted(shown("")) == ["&lt;svg/onload=hack()&gt;", "lol", "lolz"]
    assert shown("q=LOL&sort=word") == ["lol", "lolz"]
    assert shown("q=lol&sort=length") == ["lolz", "lol"]
    assert shown("q=zzz") == []
    assert shown("page=99&sort=nonsense") == shown("")


def test_files_are_what_the_command_line_writes(desk: Office, analyst: str) -> None:
    for path in (f"{TAGS}/words", f"{TAGS}/review"):
        page = desk.ask("GET", path, analyst).body.decode()
        assert "users reporting it" in page
        assert "about the users who would report a word, not about all who hold it" in page
        assert "How many hold it was not measured." in page
    csv = desk.ask("GET", f"{TAGS}/files/words.csv", analyst)
    assert {TAG, "lol", "lolz"} == {line.split(",")[0] for line in csv.body.decode().splitlines()[1:]}
    assert csv.headers["content-disposition"] == 'attachment; filename="-img-src-x-onerror-hack--words.csv"'
    signed = desk.ask("GET", f"{TAGS}/files/release.json", analyst)
    assert signed.body == desk.served.ask("GET", f"/v1{TAGS}/release").body
    assert "svg\\/onload" in desk.ask("GET", f"{TAGS}/files/words.dic", analyst).body.decode()
    assert desk.ask("GET", f"{TAGS}/files/votes.csv", analyst).status == 409
    asked = desk.ask("GET", f"{TAGS}/files/layers.zip", analyst)
    assert (asked.status, asked.headers["content-type"]) == (200, "application/zip")


def test_credentials_are_issued_as_a_file_and_in_bounds(desk: Office, operator: str) -> None:
    issued = desk.post("/campaigns/open/credentials", operator, count="3")
    assert [len(line) for line in issued.body.decode().splitlines()] == [128, 128, 128]
    assert issued.headers["cache-control"] == "no-store"
    for count in ("0", "-1", "100001", "three", ""):
        refused = desk.post("/campaigns/open/credentials", operator, count=count)
        assert refused.status == 400, count
        assert "1 to 100,000 at once" in refused.body.decode()


# The trie


def test_a_trie_gives_the_ways_on_from_a_prefix_and_how_much_is_behind_each() -> None:
    trie = Trie.of(dict.fromkeys(["lo", "lol", "xb", "x<"]), {"lol": 9.0, "xbox": 4.0})

    def told(prefix: str) -> list[tuple[str, int, float | None]]:
        return [(branch.text, branch.below, branch.estimate) for branch in trie.branches(prefix).branches]

    assert told("") == [("x", 3, None), ("l", 2, None)]
    assert told("l") == [("lo", 1, None)]
    assert told("lo") == [("lol", 0, 9.0)]
    assert told("xb") == [("xbo", 1, None)]
    assert told("x") == [("xb", 1, None), ("x<", 0, None)]
    assert told("z") == told("lol") == []


def test_a_large_alphabet_comes_in_parts() -> None:
    trie = Trie.of(dict.fromkeys(chr(0x4E00 + n) for n in range(MOST_BRANCHES + 5)), {})
    first, last = trie.branches(""), trie.branches("", MOST_BRANCHES)
    assert (len(first.branches), first.more) == (MOST_BRANCHES, 5)
    assert (len(last.branches), last.more) == (5, 0)
    assert not {branch.text for branch in first.branches} & {branch.text for branch in last.branches}


def test_the_trie_grows_by_what_is_kept_and_shows_words_when_they_are_released(desk: Office, operator: str) -> None:
    identity = desk.begin("growing", devices=900)

    def under(prefix: str) -> list[tuple[str, float | None]]:
        reply = desk.ask("GET", f"/campaigns/growing/trie/branches?prefix={prefix}", operator)
        assert set(reply.json) == {"prefix", "branches", "more"}
        assert all(set(branch) == {"text", "below", "estimate", "share"} for branch in reply.json["branches"]), (
            "and no votes"
        )
        return [(branch["text"], branch["estimate"]) for branch in reply.json["branches"]]

    assert under("") == []
    place = desk.town.layer(identity)
    assert place
    desk.town.answer(identity, 202, WORDS)
    wait_until(lambda: (now := desk.town.layer(identity)) and now[1] > place[1])
    assert {text for text, _ in under("")} == {"l", "t", "x"}
    while place[1] < 3:
        desk.town.answer(identity, 202, WORDS)
        before = place
        wait_until(lambda before=before: (now := desk.town.layer(identity)) and now[1] > before[1])
        place = desk.town.layer(identity)
        assert place
    decided = desk.served.ask("GET", "/v1/campaigns/growing/layers").json[2]
    assert decided["facts"]["words"] == 2
    assert dict(under("lo")) == {"lol": None}, "whether it is a word is told by the release"
    desk.finish(identity, WORDS)
    assert dict(under("lo")).keys() == {"lol"}
    assert dict(under("lo"))["lol"] is not None
    assert desk.ask("GET", "/campaigns/growing/trie/branches?start=x", operator).code == "invalid"
    stored = desk.ask("GET", "/campaigns/growing", operator).body.decode()
    assert "hostile devices could have moved" in stored


def test_beginnings_of_what_was_not_asked_about_have_their_share_of_users(desk: Office, operator: str) -> None:
    """People hold a likely word, and one that is spelled like no other."""
    parameters = {"layers": 3, "candidates": 6000, "depth": 6}
    known = ["lob", "lol", "tub", "tab"]
    identity = desk.begin("likely", devices=900, parameters=parameters, known=known)
    words = {"xqzjkv": 3, "toll": 2}

    def branch(prefix: str) -> dict[str, Any]:
        reply = desk.ask("GET", f"/campaigns/likely/trie/branches?prefix={prefix[:-1]}", operator)
        found: dict[str, Any] = next(one for one in reply.json["branches"] if one["text"] == prefix)
        return found

    asked = desk.town.layer(identity)
    assert asked
    layer = asked[0]
    assert isinstance(layer, LikelyLayer)
    (escape,), (ended,) = layer.candidates.prefixes(layer.candidates.index(np.array(["xqzjkv"])))
    assert escape
    assert not ended
    desk.town.answer(identity, layer.layer_size, words)
    wait_until(lambda: (now := desk.town.layer(identity)) and now[1] > 0)
    kept = branch(str(escape))
    assert kept["estimate"] is None
    assert 0.8 < kept["share"] <= 1
    page = desk.ask("GET", "/campaigns/likely/trie", operator).body.decode()
    assert "likely by their spelling" in page
    desk.finish(identity, words)
    assert branch("toll")["share"] is None
    assert branch("toll")["estimate"] > 500
    for path in ("", "/words", "/privacy", "/review"):
        assert desk.ask("GET", f"/campaigns/likely{path}", operator).status == 200


# Progress


def test_progress_is_told_as_it_changes_and_streams_end_by_themselves(
    desk: Office, operator: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_stream, "STREAM_SECONDS", 0.3)
    identity = desk.begin("watched", devices=900)
    before = desk.ask("GET", "/campaigns/watched/progress", operator)
    assert before.headers["content-type"].startswith("text/event-stream")
    assert before.headers["cache-control"] == "no-store"
    desk.town.answer(identity, 20, WORDS)
    after = desk.ask("GET", "/campaigns/watched/progress", operator).body.decode()
    assert "0 of 202 reports" in before.body.decode()
    assert "20 of 202 reports" in after
    events = re.findall("^event: (.*)$", after, re.M)
    assert events[:5] == ["state", "now", "timeline", "layers", "announcement"]
    assert set(events[5:]) <= {"now", "timeline"}, "time goes on in the chart, and nothing else has changed"
    shown = re.findall("^event: now\ndata: (.*)$", after, re.M)
    assert len({re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d", "", each) for each in shown}) == 1, "but times to come"
    assert after.startswith("retry: ")


def test_only_so_many_streams_last_and_none_longer_than_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress_stream, "STREAM_SECONDS", 1e9)
    monkeypatch.setattr(progress_stream, "MOST_STREAMS", 1)
    wait_until(lambda: not progress_stream._open_streams)  # of pages that others have just left
    services: list[Worker] = []

    def made(settings: Settings) -> Worker:
        services.append(dashboard(settings))
        return services[0]

    with office(tmp_path, made) as desk, ThreadPoolExecutor(1) as pool:
        desk.create("draft")
        path, cookie = "/campaigns/draft/progress", desk.cookie(desk.served.token)
        first = pool.submit(desk.ask, "GET", path, cookie)
        wait_until(lambda: progress_stream._open_streams)
        second = desk.ask("GET", path, cookie).body.decode()
        assert second.startswith(f"retry: {progress_stream.BUSY_RETRY_MILLISECONDS}\n")
        assert re.findall("^event: (.*)$", second, re.M) == ["state", "now", "timeline", "layers", "announcement"]
        assert not first.done()
        services[0].stopping = True
        assert first.result(300).body.decode().startswith(f"retry: {progress_stream.RETRY_MILLISECONDS}\n")
    assert not progress_stream._open_streams


# A new campaign


def test_a_wrong_form_loses_nothing_and_says_what_is_wrong_beside_the_field(desk: Office, operator: str) -> None:
    typed = {"name": "a <b>", "devices": "many", "epsilon": "99", "known": "one\ntwo", "reserve": "0.2"}
    reply = desk.post("/create", operator, **typed)
    page = reply.body.decode()
    assert reply.status == 422
    assert 'id="devices-problem">Devices must be a whole number, not “many”.' in page
    assert 'value="a &lt;b&gt;"' in page
    assert "one\ntwo</textarea>" in page
    assert 'value="0.2"' in page
    for field, given, told in (
        ("epsilon", {"epsilon": "99"}, "Epsilon must be a number"),
        ("name", {"name": "a/b"}, "A campaign&#39;s name has"),
        ("k_anonymity", {"k_anonymity": "10000000"}, "K must be a whole number"),
        ("batch", {"batch": "5000"}, "A batch of 5,000 is more than"),
        ("devices", {"devices": "10"}, "9 users are too few"),
        ("hours", {"hours": "0"}, "Layer seconds must be above 0"),
        ("language", {"language": "tlh"}, "No language is called"),
        ("alphabet", {"alphabet": "xx"}, "No alphabet is called &#39;xx&#39;"),
        ("case", {"case": "lower"}, "Case must be one of fold, keep"),
        ("punctuation", {"punctuation": "none"}, "Punctuation must be one of strip, keep"),
        ("measure_devices", {"measure_devices": "1"}, "1 users who measure are too few"),
        ("name", {"name": "open"}, "There is already a campaign"),
    ):
        right = {"name": "fine", "devices": "200000", "language": "en", "accept_weak_privacy": "yes"}
        page = desk.post("/create", operator, **{**right, **given}).body.decode()
        assert f'id="{field}-problem">{told}' in page, field
    taken = {"name": "open", "devices": "200000", "language": "en", "accept_weak_privacy": "yes"}
    page = desk.post("/create", operator, **taken).body.decode()
    assert "There is already a campaign called &#39;open&#39;" in page
    page = desk.post("/create", operator, name="fine", devices="200000", aggregation="none").body.decode()
    assert "aggregation must be one of ephemeral, secure, not &#39;none&#39;" in page
    assert desk.served.ask("GET", "/v1/campaigns/fine").status == 404, "nothing was written down"


def test_a_campaign_that_protects_no_user_is_created_only_by_who_accepts_that(desk: Office, operator: str) -> None:
    small = {"name": "weak", "devices": "2000", "alphabet": "en", "epsilon": "10", "depth": "4"}
    box = (
        r'<input type="checkbox" id="accept_weak_privacy" name="accept_weak_privacy" value="yes" form="new"( checked)?>'
    )
    price = desk.post("/create/price", operator, **small).json["html"]
    assert re.findall(box, price) == [""]
    assert re.findall(box, desk.post("/create/price", operator, **small, accept_weak_privacy="yes").json["html"]) == [
        " checked"
    ]
    safe = small | {"devices": "5000000", "epsilon": "1", "words_per_user": "1"}
    assert "accept_weak_privacy" not in desk.post("/create/price", operator, **safe).json["html"]
    refused = desk.post("/create", operator, **small)
    assert refused.status == 422
    page = refused.body.decode()
    assert re.findall(box, page) == [""]
    assert re.search(
        r"The release would have a central ε of \d+ for a whole user, above 10: no meaningful protection", page
    )
    assert desk.served.ask("GET", "/v1/campaigns/weak").status == 404
    assert desk.post("/create", operator, **small, accept_weak_privacy="yes").headers["location"] == "/campaigns/weak"


def test_whoever_sees_how_many_came_is_told_to_tell_nobody_where_slots_hide_it(desk: Office, operator: str) -> None:
    hidden = definition(
        name="hidden", rehearsal=True, devices=1200, parameters={"layers": 3, "allocation": "drawn"}, layer_seconds=60.0
    )
    assert desk.served.ask("POST", "/v1/campaigns", msgspec.to_builtins(hidden)).status == 201
    page = desk.ask("GET", "/campaigns/hidden", operator).body.decode()
    assert "tell nobody what this page shows" in page
    assert "whoever comes" in page, "no layer is extended"
    page = desk.ask("GET", "/campaigns/open", operator).body.decode()
    assert "tell nobody" not in page


def test_the_price_is_told_with_what_the_population_has_left(tmp_path: Path) -> None:
    with office(tmp_path) as desk:
        desk.town.ledger.add_population("rich", Budget("item", 20.0, 1e-9))
        desk.town.ledger.add_population("poor", Budget("item", 0.01, 1e-9))
        before = Collection("unary", 1.0, 2, (Batch(90_000, 1_000),))
        desk.town.ledger.plan("rich", "before", before, AnonymityChances(10, 0.05, 1e-6, 1))
        desk.town.ledger.settle("before", before)
        cookie = desk.cookie(desk.served.token)
        form = {"name": "x", "devices": "90,000", "alphabet": "en", "epsilon": "5", "depth": "4", "words_per_user": "2"}
        rich = desk.post("/create/price", cookie, **form, population="rich").json["html"]
        assert "With this campaign, ε = " in rich
        few = "What fewer than 10 users report to the layers of a campaign that judge it may have been published by the"
        assert few in rich
        assert "at most 1e-06, even if 1 device of each layer is hostile." in rich
        assert "<dt>a whole user</dt>" in rich
        poor = desk.post("/create/price", cookie, **form, population="poor").json["html"]
        assert "This campaign exceeds the budget" in poor
        assert "may have been published by" not in poor, "nobody has told anything of them"
        assert desk.post("/create", cookie, **form, population="rich").headers["location"] == "/campaigns/x"
        page = desk.ask("GET", "/campaigns/x/privacy", cookie).body.decode()
        assert "<dt>a whole user</dt>" in page
        assert "With this campaign, ε = " in page
        assert "Expected privacy guarantees" in page
        assert re.findall(r'<td class="n">(\d+) %</td>', page) == ["0", "10", "50"]
        assert desk.post("/campaigns/x/start", cookie).status == 303
        assert "This campaign is already charged" in desk.ask("GET", "/campaigns/x/privacy", cookie).body.decode()


def test_whoever_is_still_typing_is_not_wrong(desk: Office, operator: str) -> None:
    told = desk.post("/create/price", operator, name="x", devices="")
    assert told.status == 200
    assert told.json["problems"] == {"devices": "Devices is required."}
    assert 'name="population"' not in desk.ask("GET", "/create", operator).body.decode(), "there is none"


# Devices of other origins


def test_pages_of_any_origin_may_be_devices_and_nothing_more(desk: Office, operator: str) -> None:
    for path in ("/v1/check-in", "/v1/reports"):
        reply = desk.ask("OPTIONS", path, Origin="https://app.example", Access_Control_Request_Method="POST")
        assert reply.status == 204
        assert {name: value for name, value in reply.headers.items() if name.startswith("access-control")} == {
            "access-control-allow-origin": "*",
            "access-control-allow-methods": "GET, POST",
            "access-control-allow-headers": "Content-Type",
            "access-control-max-age": "86400",
        }
    known = "0" * 64
    for method, path in (
        ("POST", "/v1/check-in"),
        ("GET", "/v1/check-in"),
        ("POST", "/v1/reports"),
        ("GET", "/v1/reports"),
        ("GET", f"/v1/layers/{known}"),
        ("GET", f"/v1/known/{known}"),
    ):
        headers = desk.ask(method, path).headers
        assert headers["access-control-allow-origin"] == "*", path
        assert headers["access-control-expose-headers"] == "Retry-After", path
    asked = desk.town.layer(bytes.fromhex(desk.served.ask("GET", "/v1/campaigns/open").json["id"]))
    assert asked
    document = desk.ask("GET", f"/v1/layers/{asked[0].digest.hex()}")
    assert (document.status, document.headers["access-control-allow-origin"]) == (200, "*")
    for path in ("/", "/create", "/v1/campaigns", "/v1/key", "/metrics", "/healthz", "/sign-in"):
        headers = desk.ask("GET", path, operator, Origin="https://app.example").headers
        assert not any(name.startswith("access-control") for name in headers), path
    assert desk.ask("OPTIONS", "/v1/campaigns").status == 405


def test_the_settings_of_a_worker_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEOLOGUE_SETTINGS", json.dumps({"database": f"{tmp_path}/w.db", "patience": 3.5}))
    assert from_environment().settings == Settings(database=f"{tmp_path}/w.db", patience=3.5)


def test_a_draft_is_edited_cloned_and_deleted(desk: Office, operator: str) -> None:
    made = {"name": "first draft", "devices": "200000", "accept_weak_privacy": True, "too_few": "end", "language": "en"}
    made |= {"parameters": {"epsilon": 6.0, "frontier": 5000}, "known": ["the", "ox"]}
    assert desk.served.ask("POST", "/v1/campaigns", {**made, "devices": 200_000}).status == 201
    page = desk.ask("GET", "/campaigns/first%20draft/edit", operator).body.decode()
    assert 'value="200000"' in page
    assert "the\nox</textarea>" in page
    form = {"name": "first draft", "devices": "300000", "language": "en", "epsilon": "5", "accept_weak_privacy": "yes"}
    edited = desk.post("/campaigns/first%20draft/edit", operator, like="first draft", **form)
    assert edited.headers["location"] == "/campaigns/first%20draft"
    changed = desk.served.ask("GET", "/v1/campaigns/first%20draft/definition").json
    assert (changed["devices"], changed["too_few"], changed["known"]) == (300_000, "end", None)
    assert changed["parameters"] == {"epsilon": 5.0, "frontier": 5000}, "what the form has no field for is kept"
    page = desk.ask("GET", "/create?like=first%20draft", operator).body.decode()
    assert 'name="like" value="first draft"' in page
    cloned = desk.post("/create", operator, like="first draft", **{**form, "name": "second draft"})
    assert cloned.headers["location"] == "/campaigns/second%20draft"
    for name in ("first%20draft", "second%20draft"):
        assert desk.post(f"/campaigns/{name}/delete", operator).headers["location"] == "/"
        assert desk.served.ask("GET", f"/v1/campaigns/{name}").status == 404
    assert desk.served.ask("POST", "/v1/campaigns", {**made, "devices": 200_000}).status == 201, "the name is free"
    assert desk.served.ask("DELETE", "/v1/campaigns/first%20draft").status == 200


def test_only_a_draft_is_changed_or_deleted(desk: Office, operator: str) -> None:
    settings = desk.served.ask("GET", "/v1/campaigns/open/definition").json | {"answer_seconds": 60.0}
    for method, body in (("DELETE", None), ("PUT", settings)):
        refused = desk.served.ask(method, "/v1/campaigns/open", body)
        assert refused.status == 409
        assert "only a draft can be changed or deleted" in refused.json["error"]["message"]


def test_a_browser_gets_a_page_where_nothing_is_and_programs_get_json(desk: Office) -> None:
    for path in ("/nope", "/campaigns/x/nope"):
        page = desk.ask("GET", path, Accept="text/html,application/xhtml+xml")
        assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
        assert "There is nothing under this address." in page.body.decode()
        assert "<h1>Page not found</h1>" in page.body.decode()
        assert "default-src" in page.headers["content-security-policy"]
        assert desk.ask("GET", path).json["error"]["code"] == "unknown"
    assert desk.ask("GET", "/v1/nope", Accept="text/html").json["error"]["code"] == "unknown"
