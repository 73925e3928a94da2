"""What a person gets in a notebook: results that are short, convert, save and show themselves."""

import json
from pathlib import Path

import pandas
import polars
import pytest

from neologue import Campaign, Discovery, Measuring, NeologueError, Population, certify, discover, plan
from neologue.language import builtin
from neologue.release.signature import generate_key
from neologue.workbench.optional import import_optional

pytestmark = pytest.mark.slow  # whichever comes first makes the discovery that they share

USERS = 2000
HELD = {"yeet": 3, "rizz": 1, "the": 9, "<b>": 1}


def people() -> Population:
    return Population.from_words({f"user {number}": HELD for number in range(USERS)})


@pytest.fixture(scope="module")
def found() -> Discovery:
    return discover(people(), seed=1)


def test_english_is_known_as_on_the_command_line(found: Discovery) -> None:
    assert sorted(found.table()["word"]) == ["rizz", "yeet"]


def test_another_language_knows_other_words() -> None:
    german = discover(
        Population.from_words({f"u{i}": {"und": 1, "the": 1} for i in range(USERS)}), language="DE", seed=1
    )
    assert german.release.campaign.alphabet.name == builtin.alphabet("de").name
    assert german.table()["word"] in ([], ["the"])


def test_simulated_people_keep_their_own_language() -> None:
    campaign = discover(Population.embedded("id", 2000), seed=0).release.campaign
    assert campaign.alphabet.name == "id"


def test_who_measures_is_not_asked() -> None:
    asked = discover(people(), seed=1, measure=Measuring(300))
    assert asked.users == USERS - 300
    assert "measured_estimate" in asked.table()


def test_a_result_is_a_frame_of_pandas_polars_and_arrow(found: Discovery) -> None:
    columns = ["word", "estimate", "low", "high", "votes", "pass_number", "layer"]
    assert found.to_pandas().columns.tolist() == found.to_arrow().column_names == columns
    assert polars.DataFrame(found)["word"].to_list() == found.to_pandas()["word"].tolist() == found.table()["word"]
    assert isinstance(found.to_pandas(), pandas.DataFrame)


def test_an_optional_package_that_is_missing_is_named() -> None:
    with pytest.raises(ImportError, match="needs pandaz, which is not installed: get it with pip install pandaz"):
        import_optional("pandaz")


def test_prefixes_are_a_table_of_their_own() -> None:
    odd = Population.from_words({f"user {n}": {"xqzjkvwpq": 1} for n in range(2000)})
    found = discover(odd, seed=1)
    table = found.prefix_table()
    assert list(table) == ["prefix", "estimate", "low", "high", "votes", "pass_number", "layer"]
    assert table["prefix"] == [kept.prefix for kept in found.release.prefixes] != []


def test_what_is_saved_is_certified(tmp_path: Path) -> None:
    key, public = generate_key(tmp_path / "operator.key")
    files = discover(people()).save(tmp_path / "found", sign=key)
    assert {path.name for path in files} == {
        *("words.csv", "prefixes.csv", "words.dic", "words.aff", "release.json", "layers.zip", "truth.json")
    }
    assert certify(tmp_path / "found" / "release.json", verify=public).passed
    release = tmp_path / "found" / "release.json"
    document = json.loads(release.read_text())
    document["words"][0]["estimate"] += 1
    release.write_text(json.dumps(document))
    assert not certify(release).passed


def test_everything_prints_in_a_line(found: Discovery) -> None:
    things = (found, found.release, found.release.campaign, found.release.campaign.known, people())
    assert all(len(repr(thing)) < 120 for thing in things)
    assert repr(found) == "<Discovery of 2 words: coverage 100.0%, precision 100.0%>"


def test_the_page_of_a_result_has_its_words_and_no_markup_of_theirs(found: Discovery) -> None:
    page = found._repr_html_()
    assert "<td>yeet</td>" in page
    assert "Coverage: 100 % of all pairs of a user and a new word they typed." in page
    word = found.release.words[0]
    object.__setattr__(word, "word", "<b>")
    assert "<td>&lt;b&gt;</td>" in found._repr_html_()


def test_what_is_no_population_is_refused_with_the_remedy() -> None:
    with pytest.raises(NeologueError, match=r"a DataFrame is no population: make one with Population\.from_frame"):
        discover(pandas.DataFrame({"user": ["a"], "word": ["x"]}))


def test_a_campaign_has_its_language() -> None:
    with pytest.raises(NeologueError, match="leave out language='de'"):
        discover(people(), Campaign.from_profile(users=USERS, epsilon=10.0), language="de")


def test_a_plan_keeps_to_its_limits() -> None:
    found = plan(users=60_000, language="ID", central_epsilon=2.0, depth=6)
    assert found.campaign.parameters.promised_epsilon == 2.0
    assert repr(found).startswith("<Plan for 60,000 users, local ε = ")
