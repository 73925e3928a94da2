"""The page of words lists the prefixes whose words were not all asked about."""

from pathlib import Path

from neologue.discovery.result import ReleasedPrefix
from service.releases import released

from .office import office

PREFIXES = (ReleasedPrefix("xq", 30, 60.0, 40.0, 90.0, 1, 1), ReleasedPrefix("jo@", 20, 40.0, 20.0, 60.0, 1, 1))


def test_prefixes_are_listed_and_downloaded_but_for_those_of_hidden_words(tmp_path: Path) -> None:
    with office(tmp_path) as desk:
        released(desk.town.database, {"lol": 90.0, "jo@x.org": 70.0}, prefixes=PREFIXES)
        released(desk.town.database, {"lol": 90.0}, name="none")
        cookie = desk.cookie(desk.token("analyst"))

        def shown(path: str) -> str:
            return desk.ask("GET", f"/campaigns/{path}", cookie).body.decode()

        assert all(f">{kept.prefix}…<" in shown("spring/words") for kept in PREFIXES)
        assert shown("spring/files/prefixes.csv").splitlines()[1:] == [
            "xq,30,60.0,40.0,90.0,1,1",
            "jo@,20,40.0,20.0,60.0,1,1",
        ]
        desk.post("/campaigns/spring/review", cookie, rule="hidden jo@x.org")
        for path in ("spring/words", "spring/files/prefixes.csv"):
            assert "xq" in shown(path)
            assert "jo@" not in shown(path)
        assert "Prefixes whose words" not in shown("none/words")
