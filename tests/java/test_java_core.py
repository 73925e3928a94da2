"""What Java computes is what Python computes: vectors, what is read and refused, which words are known."""

import json
import re
from dataclasses import asdict
from typing import Final

import pytest

from device_cases import CASED_VOCABULARIES, CASED_WORDS, KNOWN_LISTS, SPACES, hostile_documents, layers_to_judge
from invitations import OPERATOR, campaign_id, default_policy
from layers import small_layer
from neologue.device.policy import Policy
from neologue.errors import DocumentError, PolicyError
from neologue.language.alphabet import normalise
from neologue.language.vocabulary import Vocabulary
from neologue.protocol.documents import read_known, read_layer
from neologue.protocol.invitation import invite

from .machine import ROOT, JavaMachine

LARGEST_JAR: Final = 150_000


def test_all_vectors(java: JavaMachine) -> None:
    told = java.ask("vectors", folder=str(ROOT / "vectors"))
    assert told["failures"] == []
    files = {path.stem for path in (ROOT / "vectors").glob("*.json")}
    assert {name for name, passed in told["passed"].items() if passed} == files


@pytest.mark.parametrize(("page", "example"), [("java", "WordsWorker"), ("android", "UnmeteredTransport")])
def test_the_examples_of_the_documentation_are_compiled(page: str, example: str) -> None:
    source = (ROOT / "devices/java/test/example" / f"{example}.java").read_text("utf-8")
    shown = (ROOT / "docs" / f"{page}.md").read_text("utf-8").split("```java\n")
    assert any(source.endswith(each.partition("```")[0]) for each in shown[1:])


def test_the_jar_is_small(java: JavaMachine) -> None:
    assert java.jar.stat().st_size < LARGEST_JAR


def test_the_same_documents_are_read_and_refused(java: JavaMachine) -> None:
    known = small_layer(["ab"]).known
    documents = dict(hostile_documents())
    told = java.ask("read", documents=[each.hex() for each in documents.values()], known=known.digest)
    read = 0
    for (name, document), got in zip(documents.items(), told, strict=True):
        try:
            expected = read_layer(document, known).digest.hex()
        except DocumentError:
            expected = "refused"
        read += expected != "refused"
        assert got == expected, name
    assert 10 < read < len(documents) / 4


def test_the_same_lists_of_known_words_are_read_and_refused(java: JavaMachine) -> None:
    told = java.ask("known", lists=KNOWN_LISTS)
    assert dict(zip(KNOWN_LISTS, told, strict=True)) == {each: _is_read(each.encode()) for each in KNOWN_LISTS}


def _is_read(content: bytes) -> bool:
    try:
        read_known(content)
    except DocumentError:
        return False
    return True


def test_words_are_known_and_stripped_as_in_python(java: JavaMachine) -> None:
    texts = [f"{space}a{space}b{space}" for space in SPACES]
    known, formed = java.ask("words", words=CASED_WORDS, vocabularies=CASED_VOCABULARIES, texts=texts)
    for listed, got in zip(CASED_VOCABULARIES, known, strict=True):
        vocabulary = Vocabulary(listed)
        expected = {word: word in vocabulary for word in CASED_WORDS}
        assert dict(zip(CASED_WORDS, got, strict=True)) == expected
    assert formed == [normalise(text) for text in texts]


def test_the_same_layers_are_refused_for_the_same_limit_by_default(java: JavaMachine) -> None:
    layers = list(layers_to_judge())
    told = java.ask("judge", documents=[layer.document.hex() for layer in layers])
    verdicts: set[str] = set()
    for layer, message in zip(layers, told, strict=True):
        expected = ""
        try:
            default_policy().check(invite(campaign_id(1), layer, OPERATOR))
        except PolicyError as error:
            expected = str(error)
        limits = [limit for limit in asdict(Policy()) if limit in expected]
        assert message == re.sub("|".join(limits) or "$", lambda found: camel_case(found[0]), expected)
        verdicts |= set(limits or ["answered"])
    assert verdicts >= {
        "answered",
        "largest_closed_vote_ratio",
        "largest_silence_ratio",
        "fewest_noise_votes",
        "allow_unlogged_lists",
    }


def test_the_default_limits_are_those_of_python() -> None:
    source = (ROOT / "devices/java/src/neologue/device/Limits.java").read_text("utf-8")
    declared = re.findall(r"^    public (?:boolean|int|double) (\w+) = (.+);$", source, re.M)
    told = {name: _value(text) for name, text in declared}
    # Operators are no limits, and lists of keys are empty.
    others = {"operators", "recovery", "issuers", "logs", "witnesses"}
    # It doesn't look at evidence of where a service runs (V6); docs/transparency.md says so.
    others |= {"measurements", "vendors"}
    assert told == {camel_case(name): value for name, value in asdict(Policy()).items() if name not in others}


def _value(text: str) -> object:
    if " << " in text:
        number, shift = text.split(" << ")
        return int(number) << int(shift)
    return json.loads(text.replace("_", ""))


def camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
