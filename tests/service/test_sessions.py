"""Sessions of the pages, in both databases."""

from neologue.service.ops import access
from neologue.service.ops.access import ANALYST, OPERATOR, Person
from neologue.service.storage.database import Database
from neologue.web import session


def test_a_session_stands_for_its_token_until_it_is_over(database: Database) -> None:
    with database.transaction() as db:
        token = access.new_token(db, "ada", OPERATOR, 0.0)
        assert session.begin(db, "another", 0.0) is None
        first, second = session.begin(db, token, 0.0), session.begin(db, token, 10.0)
        assert first
        assert second
        assert first != second
        found = session.find(db, first, session.SECONDS - 1)
        assert found
        assert found.person == Person("ada", OPERATOR)
        assert session.is_own_form(found, session.form_token(first))
        assert not session.is_own_form(found, session.form_token(second))
        assert session.find(db, first, session.SECONDS) is None
        session.end(db, second)
        assert session.find(db, second, 11.0) is None
        assert session.begin(db, token, 2 * session.SECONDS)
        ((left,),) = db.execute("SELECT count(*) FROM sessions")
        assert left == 1, "those that were over are gone"


def test_revoking_a_token_ends_its_sessions_and_no_other(database: Database) -> None:
    with database.transaction() as db:
        kept, revoked = (access.new_token(db, name, role, 0.0) for name, role in (("a", OPERATOR), ("b", ANALYST)))
        staying, going = session.begin(db, kept, 0.0), session.begin(db, revoked, 0.0)
        assert staying
        assert going
        access.revoke(db, "b")
        assert session.find(db, staying, 1.0)
        assert session.find(db, going, 1.0) is None
        assert db.execute("SELECT count(*) FROM sessions") == [(1,)]
