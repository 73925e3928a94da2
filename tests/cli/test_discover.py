"""`neologue discover`: what it prints and writes, and that every option does what it says."""

import csv
import gzip
import json
import re
import string
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from neologue.language.vocabulary import Vocabulary
from neologue.privacy.allocation.planned_layers import planned_reports
from neologue.privacy.digits import shown
from neologue.privacy.scale import grade
from neologue.reporting import extra

Neologue = Callable[..., Result]
Release = Callable[..., dict[str, Any]]

AS_TYPED = ("--alphabet", "ascii", "--case", "keep", "--punctuation", "keep")
"""Options for words with any sign of ASCII in them, in no other form than that in which they were typed."""


def found(document: dict[str, Any]) -> set[str]:
    """The words of a release."""
    return {entry["word"] for entry in document["words"]}


def truth_of(folder: Path) -> dict[str, Any]:
    """The truth.json in a folder."""
    document: dict[str, Any] = json.loads((folder / "truth.json").read_text("utf-8"))
    return document


@pytest.fixture(scope="module")
def embedded_files(
    neologue: Neologue, few_embedded: tuple[object, ...], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Result, Path]:
    """The run of the fixture `embedded` once more, as a table and with files."""
    folder = tmp_path_factory.mktemp("embedded") / "new" / "folder"
    result = neologue("discover", *few_embedded, "--out", folder)
    assert result.exit_code == 0, result.stderr
    return result, folder


@pytest.fixture(scope="module")
def written(neologue: Neologue, typed: Path, known: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of a run on the file of users, words of every length.

    Three known words teach no spelling, so it takes six layers to spell glimmerfrond.
    """
    folder = tmp_path_factory.mktemp("written")
    result = neologue("discover", typed, "--known", known, *AS_TYPED, "--layers", 6, "--seed", 0, "--out", folder)
    assert result.exit_code == 0, result.stderr
    return folder


class TestEmbeddedPopulation:
    def test_the_table_begins_with_the_most_widely_held_words(
        self, embedded: Result, embedded_files: tuple[Result, Path]
    ) -> None:
        tables = re.split(r"^(?=New words|Prefixes whose)", embedded_files[0].stdout, flags=re.MULTILINE)
        (table,) = [table for table in tables if table.startswith("New words")]
        shown = re.findall(r"^│ (\S+) +│ +([\d,]+) │", table, re.MULTILINE)
        words = json.loads(embedded.stdout)["words"]
        assert len(shown) == 20
        assert [word for word, _ in shown] == [entry["word"] for entry in words[:20]]
        assert all(
            abs(int(estimate.replace(",", "")) - entry["estimate"]) <= 0.55
            for (_, estimate), entry in zip(shown, words[:20], strict=True)
        )

    def test_the_prefixes_with_the_most_users_left_are_in_a_table_of_their_own(
        self, embedded: Result, embedded_files: tuple[Result, Path]
    ) -> None:
        (table,) = re.findall(
            r"^Prefixes whose words were not all.*?^└", embedded_files[0].stdout, re.MULTILINE | re.DOTALL
        )
        shown = re.findall(r"^│ (\S+)… +│ +([\d,]+) │", table, re.MULTILINE)
        document = json.loads(embedded.stdout)
        users_left = {entry["prefix"]: entry["estimate"] for entry in document["prefixes"]}
        last = len(document["layers"])
        for word in document["words"]:
            beginnings = [prefix for prefix in users_left if word["word"].startswith(prefix)]
            if word["since"] == word["layer"] == last and beginnings:
                users_left[max(beginnings, key=len)] -= word["estimate"]
        left = [int(users.replace(",", "")) for _, users in shown]
        assert shown
        assert {prefix for prefix, _ in shown} == {prefix for prefix, users in users_left.items() if users > 0}
        assert left == sorted(left, reverse=True)

    def test_the_summary_says_who_was_asked_what_was_found_and_at_what_price(
        self, embedded: Result, embedded_files: tuple[Result, Path]
    ) -> None:
        document = json.loads(embedded.stdout)
        told = " ".join(embedded_files[0].stdout.split())
        asked = sum(layer["asked"] for layer in document["layers"])
        assert "20,000 simulated users who write en" in told
        assert f"asked {asked:,} of 20,000 users, once each, in {len(document['layers'])} layers" in told
        assert f"found {len(document['words']):,} new words of" in told
        assert "intervals are of the users who would report a word." in told
        assert "How many hold it was not measured." in told
        assert f"coverage {100 * truth_of(embedded_files[1])['score']['coverage']:.1f} % of all pairs" in told
        assert f"local ε = {document['privacy']['local_epsilon']:g}" in told
        assert f"{document['privacy']['user_local_epsilon']:g} in one report, which has at most 60 words" in told
        item, user = (document["privacy"][f"{unit}_central"]["best"] for unit in ("item", "user"))
        assert "Privacy, at δ = 1e-10" in told
        assert f"a word central ε = {shown(item)} ({grade(item).words})" in told
        assert f"a whole user central ε = {shown(user)} ({grade(user).words})" in told
        assert "rare words what fewer than 10 users report is published with a chance of at most 0.05" in told
        assert "what one user alone reports is shown with a chance of at most 1e-06, even if 1 device" in told
        planting = document["planting"]
        assert f"one can plant at most {planting['bounds'][0]['words']:,} of {len(document['words']):,} words" in told
        assert f"{planting['untrusted_from']['devices']:,} (" in told
        assert "seed 7, fidelity fast" in told

    def test_warnings_are_printed_only_where_they_apply(self, neologue: Neologue, known: Path, tmp_path: Path) -> None:
        data = tmp_path / "typed.csv"
        few = ("--epsilon", 2, "--words-per-user", 1)
        data.write_text("user,word\n" + "".join(f"u{user},zonk\n" for user in range(600)), "utf-8")

        def printed(depth: int) -> str:
            return neologue("discover", data, "--known", known, "--seed", 0, "--depth", depth, *few).stdout

        assert "Warning" not in printed(4)
        assert "Warning: More than a tenth was left out." in printed(3)

    def test_progress_is_beside_the_output_one_line_a_layer(self, embedded: Result) -> None:
        layers = json.loads(embedded.stdout)["layers"]
        told = " ".join(embedded.stderr.split())
        assert [f"pass {layer['pass']} layer {layer['layer']}" for layer in layers] == re.findall(
            r"pass \d+ layer \d+", told
        )

    def test_json_has_the_documented_fields_and_no_others(self, embedded: Result) -> None:
        document = json.loads(embedded.stdout)
        assert set(document) == {
            "format",
            "campaign",
            "profile",
            "parameters",
            "fidelity",
            "simulated",
            "seed",
            "population",
            "layers",
            "words",
            "prefixes",
            "measurement",
            "exposure",
            "planting",
            "warnings",
            "privacy",
            "digest",
        }
        assert set(document["population"]) == {"users", "description"}
        assert {frozenset(entry) for entry in document["words"]} == {
            frozenset({"word", "votes", "estimate", "low", "high", "layer", "pass", "since"})
        }
        assert {frozenset(entry) for entry in document["prefixes"]} == {
            frozenset({"prefix", "votes", "estimate", "low", "high", "layer", "pass"})
        }
        facts = ("pass", "layer", "length", "extension", "candidates", "asked", "reports")
        assert {frozenset(layer) for layer in document["layers"]} == {
            frozenset({*facts, "kept", "words", "fewest_votes", "decided", "digest"})
        }
        assert set(document["privacy"]) == {
            "applies_to",
            "unit",
            "neighbours",
            "mechanism",
            "local_epsilon",
            "enforced_local_epsilon",
            "user_local_epsilon",
            "words_per_user",
            "reports_per_user",
            "delta",
            "item_central",
            "user_central",
            "k_anonymity",
            "unique_words",
            "thresholds",
            "trust",
        }
        assert (document["profile"], document["fidelity"], document["seed"]) == ("neologue", "fast", 7)
        assert (document["format"], document["simulated"]) == (3, True)
        assert document["population"]["users"] == 20_000

    def test_the_figures_fit_together(self, embedded: Result, embedded_files: tuple[Result, Path]) -> None:
        document = json.loads(embedded.stdout)
        layers = {(layer["pass"], layer["layer"]): layer for layer in document["layers"]}
        words = document["words"]
        assert sum(layer["asked"] for layer in layers.values()) <= document["population"]["users"]
        assert sorted(layers) == [(1, number) for number in (1, 2, 3, 4)]
        assert {layer["asked"] for layer in layers.values()} == {5_000}
        # Layers count the reports that were planned, more than those who are asked; the rest is made up.
        planned = planned_reports(5_000, document["parameters"]["delta"])
        assert {layer["reports"] for layer in layers.values()} == {planned}
        assert planned > 5_000
        assert all(entry["low"] <= entry["estimate"] <= entry["high"] <= 20_000 for entry in words)
        assert [entry["estimate"] for entry in words] == sorted((e["estimate"] for e in words), reverse=True)
        assert all(1 <= entry["since"] <= entry["layer"] for entry in words)
        for number, layer in layers.items():
            assert layer["words"] == sum((entry["pass"], entry["layer"]) == number for entry in words)
            assert (layer["length"], layer["extension"]) == (0, 0), "likely strings begin at no common length"
        assert truth_of(embedded_files[1])["score"]["words_released"] == len(words) == len(found(document))
        assert document["privacy"]["enforced_local_epsilon"] <= document["privacy"]["local_epsilon"]
        assert document["privacy"]["local_epsilon"] == document["parameters"]["epsilon"]

    def test_real_new_words_are_found_and_hardly_anything_else(
        self, embedded: Result, embedded_files: tuple[Result, Path]
    ) -> None:
        document = json.loads(embedded.stdout)
        dictionary = Vocabulary.builtin("en")
        assert {"lol", "dont", "2am", "haha"} <= found(document)
        assert sum(word in dictionary for word in found(document)) <= 2, "what noise alone may bring"
        score = truth_of(embedded_files[1])["score"]
        assert score["coverage"] > 0.15
        assert score["precision"] > 0.98

    def test_the_same_seed_gives_the_same_bytes(self, embedded: Result, embedded_files: tuple[Result, Path]) -> None:
        assert (embedded_files[1] / "release.json").read_bytes() == embedded.stdout_bytes

    def test_another_language_brings_its_own_words_and_known_words(self, neologue: Neologue) -> None:
        result = neologue("discover", "--language", "id", "--users", 4_000, "--depth", 5, "--json")
        document = json.loads(result.stdout)
        assert document["parameters"]["alphabet"]["name"] == "id"
        assert "id list" in document["parameters"]["known"]["source"]
        assert "who write id" in document["population"]["description"]
        assert len(document["words"]) > 20
        assert not found(document) & Vocabulary.builtin("id").words


class TestOwnData:
    def test_every_expressible_new_word_is_found_with_about_its_true_number_of_users(
        self, written: Path, typed: Path, new_words: tuple[str, ...]
    ) -> None:
        document = json.loads((written / "release.json").read_text("utf-8"))
        assert found(document) == {word for word in new_words if word.isascii() and word.isprintable()}
        counts = {"words_true": 9, "words_released": 9, "words_below_k": 0}
        assert truth_of(written)["score"] == {"coverage": 1.0, "precision": 1.0} | counts
        truth = Counter(row["word"] for row in csv.DictReader(typed.read_text("utf-8").splitlines()))
        right = [entry["low"] <= truth[entry["word"]] <= entry["high"] for entry in document["words"]]
        assert sum(right) >= 7, "of nine intervals of 95 %"

    def test_what_four_layers_do_not_find_is_behind_a_prefix_that_they_list(
        self, release: Release, new_words: tuple[str, ...]
    ) -> None:
        document = release(*AS_TYPED, "--depth", 15)
        prefixes = tuple(entry["prefix"] for entry in document["prefixes"])
        expressible = {word for word in new_words if word.isascii() and word.isprintable()}
        missed = expressible - found(document)
        assert document["parameters"]["layers"] == 4
        assert missed == {"glimmerfrond"}
        assert [word for word in missed if not word.startswith(prefixes)] == []

    def test_no_estimate_is_far_from_the_truth(self, written: Path, typed: Path) -> None:
        document = json.loads((written / "release.json").read_text("utf-8"))
        truth = Counter(row["word"] for row in csv.DictReader(typed.read_text("utf-8").splitlines()))
        ratios = {entry["word"]: entry["estimate"] / truth[entry["word"]] for entry in document["words"]}
        assert {word: ratio for word, ratio in ratios.items() if not 0.5 < ratio < 2} == {}

    def test_another_seed_gives_another_result_and_the_same_seed_the_same(self, release: Release) -> None:
        first, again, other = (release("--seed", seed) for seed in (1, 1, 2))
        assert first == again
        assert first["words"] != other["words"]

    def test_columns_may_have_other_names(
        self, neologue: Neologue, release: Release, typed: Path, known: Path, tmp_path: Path
    ) -> None:
        renamed = tmp_path / "export.tsv"
        rows = list(csv.reader(typed.read_text("utf-8").splitlines()))
        lines = ["noise\tdevice id\ttoken\ttimes typed", *("\t".join(["?", *row]) for row in rows[1:])]
        renamed.write_text("\n".join(lines) + "\n", "utf-8")
        result = neologue(
            *("discover", renamed, "--known", known, "--depth", 4, "--seed", 0, "--json"),
            *("--user-column", "device id", "--word-column", "token", "--count-column", "times typed"),
        )
        assert result.exit_code == 0, result.stderr
        assert json.loads(result.stdout)["words"] == release()["words"]

    def test_only_the_newest_days_count(self, neologue: Neologue, known: Path, tmp_path: Path) -> None:
        data = tmp_path / "dated.csv"
        rows = [f"u{user},{word},{day}" for user in range(600) for word, day in (("olds", 1), ("news", 30))]
        data.write_text("\n".join(["user,word,on", *rows]) + "\n", "utf-8")
        options = ("--known", known, "--depth", 4, "--seed", 0, "--json", "--day-column", "on")
        newest, all_days = (
            json.loads(neologue("discover", data, *options, "--days", days).stdout) for days in (29, 30)
        )
        assert found(newest) == {"news"}
        assert found(all_days) == {"news", "olds"}
        assert newest["parameters"]["days"] == 29

    def test_fewer_users_than_there_are_may_be_asked(self, release: Release) -> None:
        document = release("--users", 700)
        assert document["population"]["users"] == 700
        assert sum(layer["asked"] for layer in document["layers"]) <= 700
        assert "1,500 users" in document["population"]["description"]
        assert "blorp" not in found(document)
        assert "zonk" in found(document)

    def test_words_are_shown_as_text_whatever_they_look_like(
        self, neologue: Neologue, typed: Path, known: Path, tmp_path: Path
    ) -> None:
        sample = tmp_path / "sample.txt"
        sample.write_text(f"\x1b[31mred\x1b[0m {string.printable}", "utf-8")
        result = neologue("discover", typed, "--known", known, "--alphabet", sample, *AS_TYPED[2:], "--seed", 0)
        assert result.exit_code == 0, result.stderr
        assert re.search(r"^│ \[i\]x +│", result.stdout, re.MULTILINE)
        assert "│ blorp" in result.stdout
        assert "\x1b" not in result.stdout + result.stderr


class TestFiles:
    def test_a_folder_is_made_and_holds_eight_files_and_no_drafts(self, embedded_files: tuple[Result, Path]) -> None:
        result, folder = embedded_files
        names = {"release.json", "layers.zip", "truth.json", "report.html", "prefixes.csv"}
        names |= {"words.aff", "words.csv", "words.dic"}
        assert {path.name for path in folder.iterdir()} == names
        (line,) = [line for line in result.stderr.splitlines() if line.startswith(f"Written to {folder}: ")]
        assert set(line.partition(": ")[2].split(", ")) == set(names)

    @pytest.mark.parametrize("kind", ["embedded", "own"])
    def test_the_files_agree_with_each_other(
        self, kind: str, embedded_files: tuple[Result, Path], written: Path
    ) -> None:
        folder = embedded_files[1] if kind == "embedded" else written
        words = json.loads((folder / "release.json").read_text("utf-8"))["words"]
        with (folder / "words.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        assert [row["word"] for row in rows] == [entry["word"] for entry in words]
        figures = ("votes", "estimate", "low", "high", "layer", "pass")
        for row, entry in zip(rows, words, strict=True):
            assert [float(figure) for figure in list(row.values())[1:]] == [float(entry[name]) for name in figures]
        count, *entries = (folder / "words.dic").read_text("utf-8").splitlines()
        assert int(count) == len(entries) == len(words)
        assert {entry.replace("\\/", "/") for entry in entries} == {entry["word"] for entry in words}

    def test_the_report_is_of_this_run_and_says_how_to_run_it_again(self, embedded_files: tuple[Result, Path]) -> None:
        _, folder = embedded_files
        document = json.loads((folder / "release.json").read_text("utf-8"))
        report = (folder / "report.html").read_text("utf-8")
        assert document["digest"] in report
        command = "neologue discover --users 20000 --epsilon 10.0 --depth 8 --candidates 1000000 --seed 7"
        assert f"<code>{command}</code>" in report
        assert len(report) < 1_000_000

    def test_the_report_of_own_data_is_confidential_and_names_no_folder(
        self, neologue: Neologue, typed: Path, known: Path, tmp_path: Path
    ) -> None:
        result = neologue("discover", typed, "--known", known, "--depth", 4, "--out", tmp_path)
        told = (
            "truth.json and report.html have exact figures that no privacy statement covers: keep them as confidential"
        )
        assert told in result.stderr
        report = (tmp_path / "report.html").read_text("utf-8")
        assert "<code>neologue discover typed.csv --epsilon 10.0 --depth 4 --known known.txt</code>" in report
        assert str(typed.parent) not in report
        assert str(tmp_path) not in report

    def test_without_the_libraries_of_reports_the_other_files_are_written(
        self, neologue: Neologue, typed: Path, known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(extra, "find_spec", lambda name: None)
        result = neologue("discover", typed, "--known", known, "--depth", 4, "--out", tmp_path)
        assert result.exit_code == 0
        names = {"release.json", "layers.zip", "truth.json", "prefixes.csv", "words.aff", "words.csv", "words.dic"}
        assert {path.name for path in tmp_path.iterdir()} == names
        (line,) = [line for line in result.stderr.splitlines() if "No report.html" in line]
        assert line == 'No report.html was written: it needs pip install "neologue[report]"'

    @pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
    def test_a_spell_checker_reads_the_dictionary_and_knows_its_words(self, written: Path) -> None:
        from spylls.hunspell import Dictionary

        checker = Dictionary.from_files(str(written / "words"))
        words = found(json.loads((written / "release.json").read_text("utf-8")))
        assert {"and/or", "a/b", "[i]x"} <= words
        assert [word for word in sorted(words) if not checker.lookup(word)] == []
        assert not checker.lookup("and")
        assert not checker.lookup("blarp")

    def test_words_once_found_are_known_the_next_time(self, written: Path, release: Release) -> None:
        document = release("--known", written / "words.dic", *AS_TYPED)
        assert document["parameters"]["known"]["source"] == "Hunspell words"
        assert found(document) == {"the"}

    def test_older_files_are_replaced(self, neologue: Neologue, typed: Path, known: Path, tmp_path: Path) -> None:
        (tmp_path / "words.csv").write_text("something old", "utf-8")
        (tmp_path / "notes.txt").write_text("something of the user's", "utf-8")
        result = neologue("discover", typed, "--known", known, "--depth", 4, "--out", tmp_path)
        assert result.exit_code == 0, result.stderr
        header = (tmp_path / "words.csv").read_text("utf-8").partition("\n")[0]
        assert header == "word,votes,would_report,would_report_low,would_report_high,layer,pass"
        assert (tmp_path / "notes.txt").read_text("utf-8") == "something of the user's"

    def test_json_on_the_output_is_the_file_byte_for_byte(
        self, neologue: Neologue, typed: Path, known: Path, tmp_path: Path
    ) -> None:
        result = neologue("discover", typed, "--known", known, "--depth", 4, "--json", "--out", tmp_path)
        assert result.stdout_bytes == (tmp_path / "release.json").read_bytes()

    def test_a_word_with_white_space_in_it_is_none_even_where_the_alphabet_has_it(
        self, neologue: Neologue, known: Path, tmp_path: Path
    ) -> None:
        data, odd = tmp_path / "data.csv", ["a\nb", "c\td", "e f", "gh"]
        rows = [f'u{user},"{word}"' for user in range(600) for word in odd]
        data.write_text("\n".join(["user,word", *rows]) + "\n", "utf-8")
        options = ("--known", known, "--profile", "gboard-2024", "--rule", "significant", "--depth", 3, "--seed", 0)
        result = neologue("discover", data, *options, "--out", tmp_path / "out")
        assert result.exit_code == 0, result.stderr
        words = found(json.loads((tmp_path / "out" / "release.json").read_text("utf-8")))
        assert words == {"gh"}
        assert (tmp_path / "out" / "words.dic").read_text("utf-8") == "1\ngh\n"


class TestWords:
    def test_known_words_may_be_a_text_file(self, release: Release, tmp_path: Path) -> None:
        path = tmp_path / "mine.txt"
        path.write_text("the\nzonk\n", "utf-8")
        document = release("--known", path, *AS_TYPED)
        assert found(document) == {"a/b", "[i]x", "yeet", "quux", "h4xx"}
        assert document["parameters"]["known"]["source"] == path.name
        assert document["parameters"]["known"]["words"] == 2

    def test_known_words_may_be_compressed(self, release: Release, tmp_path: Path) -> None:
        plain, packed = tmp_path / "mine.txt", tmp_path / "mine.txt.gz"
        plain.write_text("the\nquux\nyeet\n", "utf-8")
        packed.write_bytes(gzip.compress(plain.read_bytes()))
        documents = [release("--known", path, *AS_TYPED) for path in (plain, packed)]
        digests = {document["parameters"]["known"]["digest"] for document in documents}
        assert found(documents[1]) == found(documents[0]) == {"a/b", "[i]x", "zonk", "h4xx"}
        assert len(digests) == 1

    def test_known_words_may_be_a_hunspell_dictionary(self, release: Release, tmp_path: Path) -> None:
        (tmp_path / "tiny.aff").write_text("SET UTF-8\nSFX X Y 1\nSFX X 0 k .\n", "utf-8")
        (tmp_path / "tiny.dic").write_text("2\nthe\nzon/X\n", "utf-8")
        document = release("--known", tmp_path / "tiny.dic")
        assert "zonk" not in found(document)
        assert "quux" in found(document)

    def test_a_known_word_is_never_released_however_loud_the_noise(self, release: Release, tmp_path: Path) -> None:
        letters, pairs = tmp_path / "letters.txt", tmp_path / "pairs.txt"
        letters.write_text("abcd", "utf-8")
        pairs.write_text("\n".join(a + b for a in "abcd" for b in "abcd"), "utf-8")
        noisy = ("--rule", "top", "--frontier", 60, "--epsilon", 1, "--depth", 2)
        document = release(*noisy, "--alphabet", letters, "--known", pairs)
        assert not found(document) & set(pairs.read_text("utf-8").split())

    def test_with_targets_no_other_word_is_contributed(self, release: Release, truth: Release, tmp_path: Path) -> None:
        path = tmp_path / "targets.txt"
        path.write_text("zonk\nthe\nnobodys\n", "utf-8")
        document = release("--targets", path)
        assert found(document) == {"zonk", "the"}
        assert document["parameters"]["targets"] == 2  # the third is too long to be contributed
        assert truth("--targets", path)["score"]["words_true"] == 2

    def test_the_most_candidates_of_a_layer_are_chosen(self, release: Release) -> None:
        document = release("--candidates", 20_000)
        assert document["parameters"]["candidates"] == 20_000
        assert max(layer["candidates"] for layer in document["layers"]) <= 20_000

    def test_an_alphabet_is_chosen_by_name(self, release: Release) -> None:
        document = release("--alphabet", "es")
        assert document["parameters"]["alphabet"] == {"name": "es", "symbols": 74}
        assert found(document) == {"zonk", "yeet", "quux", "h4xx", "öß"}

    def test_an_alphabet_may_come_from_a_sample_of_the_language(self, release: Release, tmp_path: Path) -> None:
        path = tmp_path / "sample.txt"
        path.write_text("zonk, zonk\nux?\n", "utf-8")
        document = release("--alphabet", path)
        assert document["parameters"]["alphabet"] == {"name": "sample.txt", "symbols": len("zonk,ux?") + 1}
        assert found(document) == {"zonk"}

    def test_a_language_brings_its_letters_to_own_data(self, release: Release) -> None:
        german, indonesian = (release("--language", language, "--depth", 2) for language in ("de", "id"))
        assert german["parameters"]["alphabet"]["name"] == "de"
        assert found(german) == {"öß"}
        assert found(indonesian) == set()


class TestParameters:
    @pytest.mark.parametrize(
        ("option", "value", "name"),
        [
            ("--sampler", "greedy", "sampler"),
            ("--randomizer", "subset-selection", "randomizer"),
            ("--frontier", 7, "frontier"),
            ("--passes", 3, "passes"),
            ("--depth", 3, "depth"),
            ("--layers", 3, "layers"),
            ("--epsilon", 2.5, "epsilon"),
            ("--words-per-user", 5, "words_per_user"),
            ("--k-anonymity", 3, "k_anonymity"),
            ("--unique-chance", 0.001, "unique_chance"),
            ("--hostile-devices", 4, "hostile_devices"),
            ("--alpha", 0.999, "alpha"),
            ("--delta", 1e-6, "delta"),
            ("--colluders", 0.25, "colluders"),
        ],
    )
    def test_an_option_changes_its_parameter_and_no_other(
        self, release: Release, option: str, value: object, name: str
    ) -> None:
        quick = ("--frontier", 50)
        plain, changed = release(*quick)["parameters"], release(*quick, option, value)["parameters"]
        assert changed[name] == value
        assert plain[name] != value
        assert {key for key in plain if plain[key] != changed[key]} == {name}

    def test_the_rule_top_grows_a_trie_and_changes_nothing_else(self, release: Release) -> None:
        quick = ("--frontier", 50)
        plain, changed = release(*quick)["parameters"], release(*quick, "--rule", "top")["parameters"]
        assert {key: (plain[key], changed[key]) for key in plain if plain[key] != changed[key]} == {
            "rule": ("significant", "top"),
            "layers": (4, None),
        }

    def test_the_sampler_decides_which_of_too_many_words_is_reported(
        self, neologue: Neologue, known: Path, tmp_path: Path
    ) -> None:
        data = tmp_path / "data.csv"
        rows = [f"u{user},{word},{times}" for user in range(400) for word, times in (("much", 90), ("rare", 1))]
        data.write_text("\n".join(["user,word,count", *rows]) + "\n", "utf-8")
        options = ("--known", known, "--depth", 4, "--words-per-user", 1, "--seed", 0, "--json")
        greedy, any_word = (
            json.loads(neologue("discover", data, *options, "--sampler", sampler).stdout)
            for sampler in ("greedy", "random")
        )
        assert found(greedy) == {"much"}
        assert found(any_word) == {"much", "rare"}

    def test_the_randomizer_is_the_one_of_the_privacy_statement(self, release: Release) -> None:
        assert release("--randomizer", "subset-selection")["privacy"]["mechanism"] == "subset-selection"
        assert release("--randomizer", "unary")["privacy"]["mechanism"] == "unary"

    def test_epsilon_and_words_per_user_decide_the_price(self, release: Release) -> None:
        privacy = release("--epsilon", 6, "--words-per-user", 4)["privacy"]
        assert privacy["local_epsilon"] == 6
        assert privacy["user_local_epsilon"] == 24
        assert 5.9 < privacy["enforced_local_epsilon"] <= 6

    def test_less_epsilon_finds_less(self, truth: Release) -> None:
        loud, soft = (truth("--epsilon", epsilon)["score"]["coverage"] for epsilon in (10, 0.5))
        assert soft < loud == 1

    def test_the_rule_top_keeps_just_as_many_as_the_frontier_allows(self, release: Release, truth: Release) -> None:
        options = ("--rule", "top", "--frontier", 60, "--epsilon", 2, "--k-anonymity", 0, "--unique-chance", 0)
        document = release(*options)
        assert all(layer["kept"] + layer["words"] == 60 for layer in document["layers"])
        assert truth(*options)["score"]["precision"] < 1, "noise fills what the words leave free"

    def test_k_anonymity_keeps_out_what_the_rule_top_would_keep(self, release: Release) -> None:
        top = ("--rule", "top", "--frontier", 60, "--epsilon", 2, "--unique-chance", 0)
        free, bound = (release(*top, "--k-anonymity", k) for k in (0, 45))
        assert all(layer["kept"] + layer["words"] < 60 for layer in bound["layers"])
        assert bound["privacy"]["k_anonymity"]["k"] == 45
        assert free["privacy"]["k_anonymity"]["k"] is None
        assert "threshold" in free["privacy"]["k_anonymity"]["reasons"]["k"]

    def test_colluders_and_a_smaller_delta_make_the_release_cost_more(self, release: Release) -> None:
        plain, crowd, strict = (
            release(*options)["privacy"]["item_central"]["best"]
            for options in ((), ("--colluders", 0.9), ("--delta", 1e-14))
        )
        assert crowd > plain
        assert strict > plain

    def test_no_layer_keeps_more_prefixes_than_the_frontier(self, release: Release) -> None:
        free, bounded = release(), release("--frontier", 2)
        assert max(layer["kept"] for layer in free["layers"]) > 2
        assert max(layer["kept"] for layer in bounded["layers"]) == 2

    def test_each_pass_has_users_of_its_own(self, release: Release) -> None:
        layers = release("--passes", 2)["layers"]
        asked = [sum(layer["asked"] for layer in layers if layer["pass"] == number) for number in (1, 2)]
        assert {layer["pass"] for layer in layers} == {1, 2}
        assert all(0 < users <= 750 for users in asked)

    def test_no_word_is_longer_than_the_depth(self, release: Release) -> None:
        short, longer = (release("--depth", depth, *AS_TYPED) for depth in (3, 5))
        assert found(short) == {"a/b"}
        assert found(longer) == {"a/b", "[i]x", "zonk", "yeet", "quux", "h4xx", "blorp"}
        assert max(layer["length"] + layer["extension"] for layer in short["layers"]) <= 4

    def test_every_report_can_be_made_in_full(self, release: Release) -> None:
        document = release("--fidelity", "devices", "--users", 600, *AS_TYPED)
        assert document["fidelity"] == "devices"
        assert sum(layer["reports"] for layer in document["layers"]) > 100
        assert {"a/b", "zonk", "yeet", "quux"} <= found(document)

    def test_the_paper_s_profile_has_equal_layers_sized_to_the_users_there_are(
        self, neologue: Neologue, typed: Path, known: Path, tmp_path: Path
    ) -> None:
        data = tmp_path / "twice.csv"
        lines = typed.read_text("utf-8").splitlines()
        data.write_text("\n".join([*lines, *(f"v{line}" for line in lines[1:])]) + "\n", "utf-8")
        options = ("--known", known, "--profile", "gboard-2024", "--frontier", 40, "--seed", 0)
        table = neologue("discover", data, *options, "--out", tmp_path / "out")
        assert table.exit_code == 0, table.stderr
        told = " ".join(table.stdout.split())
        assert "asked 3,000 of 3,000 users, once each, in 30 layers of 100" in told
        assert "profile gboard-2024, 2 passes" in told
        document = json.loads((tmp_path / "out" / "release.json").read_text("utf-8"))
        assert document["profile"] == "gboard-2024"
        assert document["parameters"]["alphabet"] == {"name": "paper", "symbols": 100}
        assert document["parameters"]["epsilon"] == 10
        assert document["privacy"]["mechanism"] == "subset-selection"
        assert [(layer["pass"], layer["layer"]) for layer in document["layers"]] == [
            (pass_number, number) for pass_number in (1, 2) for number in range(1, 16)
        ]
        assert {layer["extension"] for layer in document["layers"]} == {1}
        assert {"blorp", "glimmerfrond"} <= found(document)
