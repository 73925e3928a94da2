"""The review: rulings that are kept and audited, lists by flag and verdict, and what is exported."""

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from click.testing import CliRunner, Result

from neologue.cli import main
from neologue.errors import CampaignError, ParameterError
from neologue.service.campaigns import campaign_store
from neologue.service.ops import access
from neologue.service.review import verdicts
from neologue.service.review.reviewed_words import WordFilter, find_words, flagged_words, page_of
from neologue.service.storage.database import Database
from neologue.service.storage.database_address import open_database

from .releases import released
from .serving import Served, served

WORDS = {"lol": 90.0, "yeet": 80.0, "jo@x.org": 70.0, "fuckkk": 60.0, "=1+1": 50.0, "a,b": 40.0, "xyzzy/q": 30.0}


class TestRulings:
    def test_the_last_one_counts_and_all_are_kept(self, database: Database) -> None:
        entry = released(database, WORDS)
        with database.transaction() as db:
            verdicts.rule(db, entry, ["lol", "yeet"], "accepted", "", "ann", 1.0)
            verdicts.rule(db, entry, ["lol"], "rejected", "too old", "bob", 2.0)
        with database.reading() as db:
            counted = verdicts.rulings(db, entry.id)
            assert counted["yeet"] == verdicts.Ruling("accepted", "", "ann", 1.0)
            assert counted["lol"] == verdicts.Ruling("rejected", "too old", "bob", 2.0)
            assert set(counted) == {"lol", "yeet"}
            assert [each.verdict for each in verdicts.history(db, entry.id, "lol")] == ["rejected", "accepted"]

    def test_of_another_campaign_nothing_counts(self, database: Database) -> None:
        entry, other = released(database, WORDS), released(database, WORDS, name="autumn")
        with database.transaction() as db:
            verdicts.rule(db, entry, ["lol"], "hidden", "", "ann", 1.0)
            assert {word for word, last in verdicts.rulings(db, entry.id).items() if last.verdict == "hidden"} == {
                "lol"
            }
            assert not verdicts.rulings(db, other.id)
            assert not verdicts.history(db, other.id, "lol")

    def test_the_audit_log_says_who_and_how_many_and_no_word(self, database: Database) -> None:
        entry = released(database, WORDS)
        with database.transaction() as db:
            verdicts.rule(db, entry, ["lol", "yeet", "lol"], "accepted", "why", "ann", 3.0)
            assert access.audit_entries(db, 1) == [
                access.AuditEntry(3.0, "ann", "review 2 words as accepted", "spring")
            ]

    @pytest.mark.parametrize("note", ["x" * 501, "two\nlines", "\0", "\ud800"])
    def test_a_note_is_one_short_line(self, database: Database, note: str) -> None:
        entry = released(database, WORDS)
        with database.transaction() as db, pytest.raises(ParameterError, match="one line of at most 500"):
            verdicts.rule(db, entry, ["lol"], "accepted", note, "ann", 1.0)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, campaign_store.CampaignRow]]:
    """A released campaign on which two rulings were made."""
    from neologue.service.storage.migrations import migrate

    database = open_database(f"sqlite:///{tmp_path_factory.mktemp('lists')}/service.db")
    migrate(database)
    entry = released(database, {**WORDS, "teh": 20.0})
    with database.transaction() as db:
        verdicts.rule(db, entry, ["yeet"], "accepted", "", "ann", 1.0)
        verdicts.rule(db, entry, ["fuckkk"], "hidden", "", "ann", 2.0)
    yield database, entry
    database.close()


class TestLists:
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            ({}, ["lol", "yeet", "jo@x.org", "=1+1", "a,b", "xyzzy/q", "teh"]),
            ({"verdict": "any"}, ["lol", "yeet", "jo@x.org", "fuckkk", "=1+1", "a,b", "xyzzy/q", "teh"]),
            ({"verdict": "hidden"}, ["fuckkk"]),
            ({"verdict": "accepted"}, ["yeet"]),
            ({"verdict": "rejected"}, []),
            ({"flag": "personal"}, ["jo@x.org"]),
            ({"flag": "profanity", "verdict": "any"}, ["fuckkk"]),
            ({"flag": "near"}, ["teh"]),
            ({"flag": "any"}, ["jo@x.org", "teh"]),
            ({"flag": "none", "verdict": "open"}, ["lol", "=1+1", "a,b", "xyzzy/q"]),
            ({"search": "Éet"}, ["yeet"]),
            ({"sort": "rarest", "search": "y"}, ["xyzzy/q", "yeet"]),
            ({"sort": "word", "flag": "none"}, ["=1+1", "a,b", "lol", "xyzzy/q", "yeet"]),
            ({"sort": "flags", "verdict": "any", "search": "o"}, ["jo@x.org", "lol"]),
            ({"sort": "latest", "verdict": "any", "search": "e"}, ["yeet", "teh"]),
        ],
        ids=str,
    )
    def test_what_is_asked_for_is_found_in_order(
        self, opened: tuple[Database, campaign_store.CampaignRow], asked: dict[str, Any], found: list[str]
    ) -> None:
        assert [one.word for one in find_words(flagged_words(*opened), WordFilter(**asked))] == found

    def test_a_page_is_a_part_of_it(self, opened: tuple[Database, campaign_store.CampaignRow]) -> None:
        wanted = WordFilter(offset=2, limit=2)
        assert [one.word for one in page_of(find_words(flagged_words(*opened), wanted), wanted)] == ["jo@x.org", "=1+1"]

    def test_before_the_release_there_is_nothing_to_review(self, database: Database) -> None:
        entry = released(database, WORDS)
        with database.transaction() as db:
            db.execute("UPDATE campaigns SET state = 'running'")
            running = campaign_store.campaign_named(db, entry.name)
        with pytest.raises(CampaignError, match="is running, and nothing of it is released"):
            flagged_words(database, running)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A service with a released campaign."""
    url = f"sqlite:///{tmp_path_factory.mktemp('review')}/service.db"
    with served(url, failures_per_minute=1e5) as running:
        database = open_database(url)
        released(database, WORDS, language="en", alphabet=None, known=None)
        released(database, WORDS, name="commands")
        database.close()
        yield running


def asked(service: Served, path: str, **query: str | int) -> Any:  # noqa: ANN401
    reply = service.ask("GET", f"/v1/campaigns/{path}?{urlencode(query)}")
    assert reply.status == 200, reply.body
    return reply.json


def decide(service: Served, verdict: str, *words: str, token: str | None = None, note: str = "") -> Any:  # noqa: ANN401
    body = {"words": list(words), "verdict": verdict, "note": note}
    reply = service.ask("POST", "/v1/campaigns/spring/review", body, token)
    assert reply.status == 200, reply.body
    return reply.json


class TestOverHttp:
    def test_an_analyst_reviews_and_every_word_keeps_its_history(self, service: Served) -> None:
        made = service.ask("POST", "/v1/tokens", {"name": "ann", "role": "analyst"}).json["token"]
        assert decide(service, "accepted", "lol", "yeet", token=made) == {"verdict": "accepted", "words": 2}
        decide(service, "open", "lol", token=made, note="not sure")
        assert [
            (each["verdict"], each["by"], each["note"]) for each in asked(service, "spring/review/history", word="lol")
        ] == [
            ("open", "ann", "not sure"),
            ("accepted", "ann", ""),
        ]
        listed = asked(service, "spring/review", search="lol")
        assert listed["total"] == 1
        (word,) = listed["words"]
        assert (word["word"], word["verdict"], word["ruling"]["note"], word["flags"]) == ("lol", "open", "not sure", [])
        assert service.ask("GET", "/v1/audit").json[0]["action"] == "review 1 words as open"
        assert service.ask("GET", "/v1/campaigns/spring/review", token="").status == 401

    def test_flags_come_with_their_reasons(self, service: Served) -> None:
        flagged = {
            each["word"]: each["flags"] for each in asked(service, "spring/review", flag="any", verdict="any")["words"]
        }
        assert flagged["jo@x.org"] == [{"kind": "personal", "reason": "may be an e-mail address"}]
        assert flagged["fuckkk"][0]["kind"] == "profanity"

    def test_what_is_hidden_is_in_no_list_and_in_no_export(self, service: Served) -> None:
        decide(service, "accepted", "jo@x.org", "fuckkk")
        decide(service, "hidden", "jo@x.org")
        assert "jo@x.org" not in [each["word"] for each in asked(service, "spring/words")]
        assert "jo@x.org" in [each["word"] for each in asked(service, "spring/words", hidden="true")]
        assert "jo@x.org" not in [each["word"] for each in asked(service, "spring/review")["words"]]
        for kind in ("csv", "dic", "aosp", "json"):
            for verdict in ("accepted", "rejected", "open"):
                path = f"/v1/campaigns/spring/review/export?format={kind}&verdict={verdict}"
                text = service.ask("GET", path).body.decode()
                assert "jo@x.org" not in text
                assert ("fuckkk" in text) == (verdict == "accepted")
        assert service.ask("GET", "/v1/campaigns/spring/review/export?format=csv&verdict=hidden").status == 400

    def test_each_format_is_what_its_readers_expect(self, service: Served) -> None:
        decide(service, "accepted", "=1+1", "a,b", "xyzzy/q")

        def exported(kind: str) -> str:
            reply = service.ask("GET", f"/v1/campaigns/spring/review/export?format={kind}")
            assert reply.status == 200
            return reply.body.decode()

        rows = list(csv.DictReader(io.StringIO(exported("csv"))))
        assert {"'=1+1", "a,b", "xyzzy/q"} <= {row["word"] for row in rows}
        assert {"would_report", "would_report_low", "would_report_high"} <= set(rows[0])
        count, *entries = exported("dic").splitlines()
        assert int(count) == len(entries)
        assert "xyzzy\\/q" in entries
        header, *lines = exported("aosp").splitlines()
        assert header == "dictionary=main:en,locale=en,description=New words,date=1700000000,version=1"
        assert any(line.startswith(" word==1+1,f=") for line in lines)
        assert not any("a,b" in line for line in lines)
        document = json.loads(exported("json"))
        assert document["campaign"] == "spring"
        assert {"=1+1", "a,b", "xyzzy/q"} <= {each["word"] for each in document["words"]}
        assert {each["verdict"] for each in document["words"]} == {"accepted"}

    @pytest.mark.parametrize(
        ("body", "message"),
        [
            ({"words": ["nowhere"], "verdict": "accepted"}, "'nowhere' is not among the released words"),
            ({"words": ["lol", "no", "never"], "verdict": "accepted"}, "and 1 more is not among"),
            ({"words": [], "verdict": "accepted"}, "length >= 1"),
            ({"words": ["lol"], "verdict": "great"}, "Invalid enum value 'great'"),
            ({"words": ["lol"], "verdict": "accepted", "note": "a\nb"}, "a note is one line"),
        ],
    )
    def test_what_makes_no_sense_is_refused_with_a_sentence(
        self, service: Served, body: dict[str, Any], message: str
    ) -> None:
        before = asked(service, "spring/review", verdict="any")
        reply = service.ask("POST", "/v1/campaigns/spring/review", body)
        assert reply.status == 400
        assert message in reply.json["error"]["message"]
        assert asked(service, "spring/review", verdict="any") == before

    @pytest.mark.parametrize(
        "query", ["sort=best", "limit=0", "limit=1001", "offset=-1", "offset=x", "colour=red", "limit=1&limit=2"]
    )
    def test_a_list_is_asked_for_in_its_own_words(self, service: Served, query: str) -> None:
        reply = service.ask("GET", f"/v1/campaigns/spring/review?{query}")
        assert (reply.status, reply.code) == (400, "malformed")

    def test_a_word_that_was_not_released_has_no_history(self, service: Served) -> None:
        for word in ("nowhere", "\0", ""):
            reply = service.ask("GET", f"/v1/campaigns/spring/review/history?word={quote(word)}")
            assert (reply.status, reply.code) == (400, "invalid")


class TestCommands:
    def invoked(self, service: Served, *arguments: str) -> Result:
        base = ["campaign", "--server", service.address, "--token", service.token]
        return CliRunner().invoke(main, [*base, *arguments])

    def test_words_are_reviewed_and_exported(self, service: Served, tmp_path: Path) -> None:
        done = self.invoked(
            service, "review", "commands", "--accept", "lol", "--accept", "yeet", "--hide", "fuckkk", "--note", "fine"
        )
        assert (done.exit_code, done.stderr) == (0, "2 accepted\n1 hidden\n")
        assert "fine" in self.invoked(service, "review", "commands", "--history", "lol").stdout
        listed = self.invoked(service, "review", "commands", "--flag", "personal").stdout
        assert "may be an e-mail address" in listed
        assert "1 of 1 words" in listed
        out = tmp_path / "found"
        assert self.invoked(service, "export", "commands", "--verdict", "accepted", "--out", str(out)).exit_code == 0
        names = {"accepted.csv", "accepted.dic", "accepted.aff", "accepted.combined", "accepted.json"}
        assert {path.name for path in out.iterdir()} == names
        assert (out / "accepted.dic").read_text() == "2\nlol\nyeet\n"
        one = tmp_path / "one"
        self.invoked(service, "export", "commands", "--verdict", "accepted", "--format", "csv", "--out", str(one))
        assert [path.name for path in one.iterdir()] == ["accepted.csv"]

    def test_a_verdict_can_be_taken_back(self, service: Served) -> None:
        self.invoked(service, "review", "commands", "--reject", "a,b")
        assert self.invoked(service, "review", "commands", "--reopen", "a,b").exit_code == 0
        shown = json.loads(self.invoked(service, "review", "commands", "--search", "a,b", "--json").stdout)
        assert [each["verdict"] for each in shown] == ["open"]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["review", "commands", "--note", "why"], "--note is the reason for a verdict"),
            (["review", "commands", "--accept", "nowhere"], "'nowhere' is not among the released words"),
            (["export", "commands", "--format", "csv", "--out", "x"], "--format goes with --verdict"),
            (["export", "nothing", "--verdict", "accepted", "--out", "x"], "no campaign is called 'nothing'"),
        ],
    )
    def test_a_mistake_is_one_sentence(self, service: Served, arguments: list[str], message: str) -> None:
        done = self.invoked(service, *arguments)
        assert done.exit_code == 2
        assert message in done.stderr
        assert "Traceback" not in done.stderr
