"""The page of trends over releases."""

import re
from pathlib import Path

from neologue.release.trends import FEWEST_RELEASES
from service.releases import released

from .office import office


def test_releases_of_one_population_are_shown_side_by_side_without_hidden_words(tmp_path: Path) -> None:
    with office(tmp_path) as desk:
        cookie = desk.cookie(desk.token("analyst"))

        def shown(query: str = "") -> str:
            return desk.ask("GET", f"/trends{query}", cookie).body.decode()

        assert f"Trends need {'two' if FEWEST_RELEASES == 2 else FEWEST_RELEASES} releases" in shown()
        released(desk.town.database, {"lol": 90.0, "jo@x.org": 70.0, "soon": 60.0}, name="april")
        assert "There are none yet" in shown()
        released(desk.town.database, {"lol": 90.0, "jo@x.org": 170.0, "fresh": 50.0}, name="october")
        page = shown()
        assert page.index("april") < page.index("october")
        assert re.findall(r'<bdi class="term">([^<]+)<', page) == ["fresh", "jo@x.org", "soon"]
        assert re.findall(r'<bdi class="term">([^<]+)<', shown("?show=all&q=lo")) == ["lol"]
        assert "No word matches the filter." in shown("?q=nothing")
        desk.post("/campaigns/april/review", cookie, rule="hidden jo@x.org")
        desk.post("/campaigns/april/review", cookie, rule="accepted soon")
        assert "jo@x.org" not in shown("?show=all")
        assert "accepted in <bdi>april</bdi>, so known since" in shown()
