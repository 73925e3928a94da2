"""`report.html`: one file that is safe to open, says what the release says, and holds a trie of bounded size."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

import pytest

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.reporting.discovery import trie_data as trie_module
from neologue.reporting.discovery.discovery_report import discovery_report
from neologue.reporting.discovery.fates import fates
from neologue.reporting.discovery.trie_data import trie_data
from neologue.reporting.html_page import embedded_json, visible
from neologue.reporting.simulated_release import discovery_document
from neologue.reporting.svg import INK, WORD, plot
from neologue.simulation.discovery_run import DiscoveryRun
from neologue.simulation.likely_trace import LikelyTrace
from neologue.simulation.trie_trace import TrieTrace

HOSTILE = ("</script>", "<!--", "<img/src=x>", "{{7*7}}", "&lt;", "'\">", "</style>")
RARE = "rarely"
COMMAND = "neologue discover '</pre><script>alert(1)</script>'"
USERS = 1500


@pytest.fixture(scope="module")
def run() -> tuple[DiscoveryRun, TrieTrace]:
    """Users who all hold words that look like markup, and one who holds another word."""
    held = {f"user {n}": dict.fromkeys(HOSTILE, 1) for n in range(USERS)}
    held["user 0"] = {RARE: 1}
    population = Population.from_words(held)
    alphabet = Alphabet("".join(sorted(set("".join((*HOSTILE, RARE))))))
    campaign = Campaign.from_profile(
        case="keep",
        punctuation="keep",
        users=USERS,
        known=Vocabulary(["known"]),
        alphabet=alphabet,
        depth=11,
        epsilon=8.0,
        words_per_user=10,
        layers=None,
    )
    trie_trace = TrieTrace(population.words)
    return discover(population, campaign, seed=1, trace=trie_trace.trace), trie_trace


@pytest.fixture(scope="module")
def page(run: tuple[DiscoveryRun, TrieTrace]) -> str:
    """The page of that run."""
    discovery, trie_trace = run
    return discovery_report(discovery, discovery_document(discovery), trie_trace, COMMAND)


@dataclass
class Element:
    """An element of a page, and the text right inside it."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    within: list[str] = field(default_factory=list)


class Reader(HTMLParser):
    """Reads a page as a browser does, as far as tests need."""

    VOID = frozenset({"meta", "input", "br", "hr", "link", "img"})

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self._open: list[Element] = []
        self.feed(page)
        self.close()
        assert not self._open, [element.tag for element in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, within=[each.tag for each in self._open])
        self.elements.append(element)
        if tag not in self.VOID:
            self._open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        for element in self._open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """The elements of a tag with these attributes."""
        wanted = attributes.items()
        return [element for element in self.elements if element.tag == tag and wanted <= element.attributes.items()]

    def the(self, tag: str, **attributes: str) -> Element:
        """The one such element."""
        (element,) = self.all(tag, **attributes)
        return element


@pytest.fixture(scope="module")
def read(page: str) -> Reader:
    """The page as read."""
    return Reader(page)


class TestPage:
    def test_it_has_a_title_a_language_and_a_section_for_every_question(self, read: Reader) -> None:
        assert read.the("title").text == f"{len(HOSTILE)} new words · neologue"
        assert read.the("html").attributes["lang"] == "en"
        sections = [section.attributes["id"] for section in read.all("section")]
        assert sections == ["found", "trie", "estimates", "layers", "words", "missed", "privacy", "reading", "again"]
        links = [link.attributes["href"] for link in read.all("a") if "nav" in link.within]
        assert links == [f"#{section}" for section in sections]
        headings = {heading.attributes["id"] for heading in read.all("h2")}
        assert {section.attributes["aria-labelledby"] for section in read.all("section")} == headings

    def test_every_name_inside_the_page_is_there_once(self, read: Reader) -> None:
        names = [element.attributes["id"] for element in read.elements if "id" in element.attributes]
        assert len(names) == len(set(names))
        linked = {element.attributes["href"] for element in read.elements if "href" in element.attributes}
        assert {link[1:] for link in linked if link.startswith("#")} <= set(names)
        clipped = {element.attributes.get("clip-path", "") for element in read.elements} - {""}
        assert {re.sub(r"url\(#(.*)\)", r"\1", clip) for clip in clipped} <= set(names)

    def test_it_asks_nobody_for_anything(self, page: str, read: Reader) -> None:
        assert not read.all("link") + read.all("img") + read.all("iframe") + read.all("base")
        links = {value for element in read.elements for name, value in element.attributes.items() if "href" in name}
        assert {link for link in links if not link.startswith("#")} == {"words.csv", "release.json"}
        assert not [element for element in read.elements if "src" in element.attributes]
        assert "url(" not in read.the("style").text
        assert "@import" not in page

    def test_its_policy_permits_its_own_style_and_script_and_nothing_else(self, read: Reader) -> None:
        policy = read.the("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"]
        allowed = dict(rule.split(" ", 1) for rule in policy.split("; "))
        (script,) = [script for script in read.all("script") if script.attributes.get("type") != "application/json"]
        for directive, text in (("style-src", read.the("style").text), ("script-src", script.text)):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert allowed.pop(directive) == f"'sha256-{digest}'"
        assert allowed == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}

    def test_nothing_is_in_it_that_the_policy_would_refuse(self, read: Reader) -> None:
        names = {name for element in read.elements for name in element.attributes}
        assert "style" not in names
        assert not [name for name in names if name.startswith("on")]
        assert len(read.all("style")) == 1

    def test_hostile_words_and_commands_are_text(self, page: str, read: Reader) -> None:
        shown = {element.text for element in read.all("bdi") if "td" in element.within}
        assert set(HOSTILE) <= shown
        assert len(read.all("script")) == 2
        assert read.the("pre").text == COMMAND
        assert "{{7*7}}" in page
        assert page.count("</script>") == 2

    def test_it_says_what_the_release_says(self, run: tuple[DiscoveryRun, TrieTrace], read: Reader) -> None:
        score = run[0].score
        cards = [" ".join(card.text.split()) for card in read.all("dd") if "div" in card.within]
        assert cards[0].startswith(f"{100 * score.coverage:.1f} %")
        assert cards[1].startswith(f"{100 * score.precision:.2f} %")
        assert cards[2].startswith(f"{score.words_released} of {score.words_true} unknown words")
        told = " ".join(section.text for section in read.all("section"))
        assert "local ε = 8" in told
        assert "about the users who would report a word, not about all who hold it" in told
        assert "reader of the release" in told
        assert str(discovery_document(run[0])["digest"]) in told

    def test_the_plots_have_labels_and_the_colours_of_the_page(self, read: Reader) -> None:
        plots = read.all("svg")
        assert len(plots) == 4
        assert all(plot.attributes["aria-label"] and plot.attributes["role"] == "img" for plot in plots)
        painted = {
            element.attributes[name]
            for element in read.elements
            for name in ("fill", "stroke")
            if name in element.attributes
        }
        assert {colour for colour in painted if colour.startswith("#")} == set()
        assert "currentColor" in painted

    def test_tables_scroll_in_boxes_that_keys_reach(self, read: Reader) -> None:
        tables = read.all("table")
        boxes = [box for box in read.all("div") if box.attributes.get("class") == "box"]
        assert len(tables) == len(boxes) == 6
        assert all(box.attributes["tabindex"] == "0" and box.attributes["aria-label"] for box in boxes)

    def test_without_scripts_there_is_an_outline(self, run: tuple[DiscoveryRun, TrieTrace], read: Reader) -> None:
        assert "hidden" in read.the("div", id="explorer").attributes
        assert "hidden" not in read.the("div", id="outline").attributes
        firsts = {summary.text.strip()[0] for summary in read.all("summary")}
        assert firsts >= {word[0] for word in HOSTILE}

    def test_the_same_run_gives_the_same_bytes(self, run: tuple[DiscoveryRun, TrieTrace], page: str) -> None:
        discovery, trie_trace = run
        again = TrieTrace(["</script>"])
        again.layers = trie_trace.layers
        assert discovery_report(discovery, discovery_document(discovery), again, COMMAND) == page

    @pytest.mark.parametrize(("layers", "kind"), [(None, TrieTrace), (4, LikelyTrace)])
    def test_a_run_that_finds_nothing_has_a_page_too(
        self, layers: int | None, kind: type[TrieTrace] | type[LikelyTrace]
    ) -> None:
        population = Population.from_words({f"user {n}": {"abba": 1} for n in range(600)})
        campaign = Campaign.from_profile(users=600, alphabet=Alphabet("ab"), depth=6, epsilon=0.01, layers=layers)
        traced = kind(population.words)
        discovery = discover(population, campaign, seed=0, trace=traced.trace)
        assert not discovery.release.words
        empty = Reader(discovery_report(discovery, discovery_document(discovery), traced, "neologue discover"))
        assert "No new word found among 600 users" in empty.the("h1").text


def nodes(data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, bool, int]]:
    """Every candidate of a trie's data, walked as the page's script does: layer, text, whether it ends, its place."""
    parents: list[str] = []
    for layer in data["layers"]:
        parents = layer.get("roots", parents)
        assert len(layer["children"]) == len(parents)
        place, living = 0, []
        for parent, children in zip(parents, layer["children"], strict=True):
            for _ in range(children):
                tail = layer["tails"][place]
                ends = len(tail) < layer["extension"]
                yield layer, parent + tail, ends, place
                if not ends and layer["votes"][place] >= layer["needed"][place]:
                    living.append(parent + tail)
                place += 1
        assert place == len(layer["tails"]) == len(layer["votes"]) == len(layer["needed"]) == len(layer["held"])
        parents = living


class TestTrie:
    def test_the_page_holds_the_data_whole(self, run: tuple[DiscoveryRun, TrieTrace], read: Reader) -> None:
        discovery, trie_trace = run
        data = trie_data(trie_trace.layers, discovery.release.words, discovery.truth, USERS)
        embedded = read.the("script", id="trie-data").text
        assert json.loads(embedded) == json.loads(json.dumps(data))
        assert not set(embedded) & set("<>&")

    def test_words_and_prefixes_have_the_votes_estimates_and_truth_of_the_run(
        self, run: tuple[DiscoveryRun, TrieTrace]
    ) -> None:
        discovery, trie_trace = run
        data: Any = trie_data(trie_trace.layers, discovery.release.words, discovery.truth, USERS)
        released = {word.word: word for word in discovery.release.words}
        seen = {}
        for layer, text, ends, place in nodes(data):
            assert ends or len(text) == layer["length"] + layer["extension"]
            if ends and layer["votes"][place] >= layer["needed"][place]:
                word = seen[text] = released[text]
                assert (word.votes, word.layer) == (layer["votes"][place], layer["layer"])
                estimate = (word.votes - layer["noise"]) * layer["scale"]
                assert min(max(estimate, word.low), word.high) == pytest.approx(word.estimate, rel=1e-3)
                assert layer["held"][place] == discovery.truth[text]
            elif not ends:
                assert layer["held"][place] == sum(word.startswith(text) for word in discovery.truth)
        assert seen.keys() == released.keys()
        assert data["words"] == len(released)
        assert data["shown"] == data["kept"] == sum(len(layer.kept.index) for layer in trie_trace.layers)

    def test_a_real_word_that_died_is_there_with_what_it_lacked(self, run: tuple[DiscoveryRun, TrieTrace]) -> None:
        discovery, trie_trace = run
        data: Any = trie_data(trie_trace.layers, discovery.release.words, discovery.truth, USERS)
        (died,) = [
            (layer["votes"][place], layer["needed"][place])
            for layer, text, _, place in nodes(data)
            if RARE.startswith(text) and layer["votes"][place] < layer["needed"][place]
        ]
        (fate,) = fates(trie_trace.layers, discovery.truth, {word.word for word in discovery.release.words}, 10)
        assert (fate.word, fate.holders, fate.layer) == (RARE, 1, 1)
        assert (fate.votes, fate.needed) == died
        assert RARE.startswith(fate.prefix)

    def test_its_size_is_bounded_and_the_most_widely_held_words_come_first(
        self, run: tuple[DiscoveryRun, TrieTrace], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        discovery, trie_trace = run
        words = discovery.release.words
        steps = words[0].layer + words[1].layer
        monkeypatch.setattr(trie_module, "MOST_ON_PATHS", steps)
        monkeypatch.setattr(trie_module, "MOST_BESIDE", len(trie_trace.layers))
        data: Any = trie_data(trie_trace.layers, words, discovery.truth, USERS)
        walked = list(nodes(data))
        assert len(walked) <= steps + 2 * len(trie_trace.layers)
        assert {words[0].word, words[1].word} <= {text for _, text, ends, _ in walked if ends}
        assert data["shown"] < data["kept"]
        assert data["words"] < len(words)
        left_out = sum(sum(layer["more"].values()) for layer in data["layers"])
        assert 0 < left_out <= data["kept"] - data["shown"]

    def test_noise_that_spells_a_known_word_is_marked(self) -> None:
        population = Population.from_words({f"user {n}": {"ab": 1} for n in range(600)})
        campaign = Campaign.from_profile(
            users=600,
            known=Vocabulary(["ba"]),
            alphabet=Alphabet("ab"),
            depth=2,
            epsilon=1.0,
            rule="top",
            frontier=100,
            k_anonymity=0,
            unique_chance=0.0,
        )
        trie_trace = TrieTrace(population.words)
        discovery = discover(population, campaign, seed=0, trace=trie_trace.trace)
        data: Any = trie_data(trie_trace.layers, discovery.release.words, discovery.truth, 600)
        marked = {text for layer, text, _, place in nodes(data) if place in layer["known"]}
        assert marked == {"ba"}


class TestPieces:
    def test_json_in_a_script_element_ends_nothing(self) -> None:
        value = ["</script>", "<!--", "&amp;", "]]>", "\u2028", "é"]
        text = embedded_json(value)
        assert json.loads(text) == value
        assert not set(text) & set("<>&")

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("plain", "plain"),
            ("a b\n", "a␠b␊"),
            ("\x1b[31m", "␛[31m"),
            ("ab\u202edc", "ab⟨202E⟩dc"),
            ("می\u200cخواهم", "می\u200cخواهم"),
            ("\xa0", "⟨00A0⟩"),
        ],
    )
    def test_what_is_blank_or_steers_the_display_is_shown_as_a_sign(self, text: str, shown: str) -> None:
        assert visible(text) == shown

    def test_a_plot_is_the_same_each_time_and_styled_by_attributes(self) -> None:
        drawings = []
        for _ in range(2):
            with plot("sample", "A sample & more") as drawn:
                drawn.axes.plot([1, 2, 3], [3, 1, 2], color=WORD, label="<line>")
                drawn.axes.legend()
                drawings.append(drawn.svg())
        first, second = drawings
        assert first == second
        assert 'aria-label="A sample &amp; more"' in first
        assert "var(--word)" in first
        assert "&lt;line&gt;" in first
        assert "style=" not in first
        assert "xmlns" not in first
        assert INK not in first
        assert all(name.startswith("sample-") for name in re.findall(r' id="([^"]*)"', first))
