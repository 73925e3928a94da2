"""A release for lawyers, and as an entry of the public registry of deployments."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from neologue import Alphabet, Campaign, Population, Vocabulary, discover
from neologue.cli.main import main
from neologue.errors import ReleaseError
from neologue.privacy.scale import certainty
from neologue.release.codec import LIVE, REHEARSAL, ReleaseDocument, read_release_file, release_text
from neologue.release.signature import sign_document
from neologue.reporting.legal_page import legal_page, shown_certainty
from neologue.reporting.published_deployments import DEPLOYMENTS
from neologue.reporting.registry_entry import Publication, registry_entry, slug, to_yaml

TEXT = {"type": "string", "minLength": 1}


def fields(required: list[str], **properties: dict[str, Any]) -> dict[str, Any]:
    """An object with these fields and no others."""
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


SCHEMA = fields(
    ["url_slug", "status", "tier", "deployment"],
    url_slug={"type": "string", "pattern": "^[a-z0-9-]+$"},
    status={"enum": ["Draft"]},
    tier={"enum": [1, 2, 3]},
    deployment=fields(
        ["basic"],
        basic=fields(
            [
                *("name", "data_curators", "description", "intended_use", "data_product_type"),
                *("data_product_region", "publication_date"),
            ],
            name=TEXT,
            data_curators={"type": "array", "items": TEXT, "minItems": 1},
            intended_use=TEXT,
            data_product_type={"enum": ["Summary statistics", "Dataset"]},
            data_product_region=TEXT,
            description=TEXT,
            publication_date={"type": "string", "format": "date"},
            data_product_sector={"enum": ["Technology"]},
        ),
        dp_variant=fields([], variant_name={"enum": ["Approximate DP"]}, data_domain=TEXT, unprotected_quantities=TEXT),
        privacy_loss=fields(
            [],
            privacy_unit=TEXT,
            privacy_unit_details=TEXT,
            privacy_parameters=fields([], epsilon={"type": "number"}, delta={"type": "number"}),
            privacy_parameters_details=TEXT,
        ),
        deployment_model=fields(
            [],
            model_name={"enum": ["Local", "Central", "Shuffle", "Federated"]},
            model_name_details=TEXT,
            actors=TEXT,
            release_type={"enum": ["One release", "Many releases"]},
            data_source_type={"enum": ["Static", "Dynamic"]},
            access_type={"enum": ["Interactive", "Non-interactive"]},
        ),
        accounting=fields([], post_processing=TEXT, composition=TEXT),
        implementation=fields([], preprocessing_and_hyperparameter_tuning=TEXT, mechanisms=TEXT, justification=TEXT),
        administrative=fields(
            ["registry_authors"], sources=TEXT, registry_authors={"type": "array", "items": TEXT, "minItems": 1}
        ),
    ),
)
"""The fields of the registry's schema that an entry of ours has."""
ABOUT = Publication("New words: spring", "Keyboards Inc.", "Europe", "2026-05-01", "Ada")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ReleaseDocument:
    folder = tmp_path_factory.mktemp("release")
    people = Population.from_words({f"user {number}": {"yeet": 3, "rizz": 1} for number in range(2000)})
    english = Vocabulary.builtin("en")
    campaign = Campaign.from_profile(users=2000, known=english, alphabet=Alphabet.named("en"), epsilon=10.0)
    discover(people, campaign).save(folder)
    return read_release_file(folder / "release.json")


def test_the_page_has_the_figures_of_the_release(release: ReleaseDocument) -> None:
    page, statement = legal_page(release), release.privacy
    assert isinstance(statement, dict)
    for observer in statement["trust"]["observers"]:
        assert observer["who"] in page
    assert f"{release.digest[:16]}" in page
    assert "2 words were found among 2,000 users" in page
    assert all(each.source in page for each in DEPLOYMENTS)
    assert "no meaningful protection" in page
    assert "had the words of 2,000 people in a file" in page, "nothing is said of devices that nobody asked"
    assert "Consent text" not in page
    assert "default-src &#39;none&#39;" in page, "it loads nothing"


@pytest.mark.parametrize(
    ("epsilon", "told"), [(0.0, "52.5 %"), (1.0, "75.03 %"), (4.0, "98.37 %"), (30.0, "almost certain")]
)
def test_certainty_rounds_up(epsilon: float, told: str) -> None:
    assert shown_certainty(epsilon) == told
    if told.endswith("%"):
        assert float(told[:-2]) >= 100 * certainty(epsilon) - 1e-9


def test_a_page_states_promises_as_they_are_proved(release: ReleaseDocument) -> None:
    page = " ".join(legal_page(release).split())
    assert "fewer than 10 users report to the rounds that judge it" in page, "of all rounds together, not of one"
    assert "if no more than 1 of the devices of a round are hostile" in page
    assert "except with a chance of 1.1e-09" in page, "not δ, which is 1e-10"
    assert "the folder <code>unfinished</code>" in page, "where the seed is until then"


def test_a_consent_text_says_how_many_words_are_there_by_chance(release: ReleaseDocument) -> None:
    live = replace(release, provenance=replace(release.provenance, fidelity=LIVE))
    noise = 1 / (math.exp(live.parameters.epsilon or 0.0) + 1)
    expected = {round(noise * layer.candidates) for layer in live.layers}
    assert f"hidden among about {min(expected):,} others that were chosen by chance" in legal_page(live)
    few = replace(live, layers=(replace(live.layers[0], candidates=500), *live.layers[1:]))
    assert "hidden among hardly any others" in legal_page(few)
    assert "never sends passwords" not in legal_page(live), "that is up to the app"


@pytest.mark.parametrize(("fidelity", "cryptographic"), [("fast", False), ("exact", False), ("devices", True)])
def test_an_entry_says_what_drew_the_noise(release: ReleaseDocument, fidelity: str, cryptographic: bool) -> None:
    document = replace(release, provenance=replace(release.provenance, fidelity=fidelity))
    entry = registry_entry(document, ABOUT)["deployment"]
    assert ("secure random bits" in entry["implementation"]["mechanisms"]) is cryptographic
    assert "who is among the users" in entry["dp_variant"]["unprotected_quantities"]


def test_an_entry_fits_the_schema_of_the_registry(release: ReleaseDocument) -> None:
    entry = registry_entry(release, ABOUT)
    jsonschema_rs.validator_for(SCHEMA, validate_formats=True).validate(entry)
    assert entry["deployment"]["deployment_model"]["model_name"] == "Central", "the operator has the words"
    assert entry["url_slug"] == "new-words-spring-keyboards-inc-2026"
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"]["delta"] == 1e-10


def test_the_text_of_an_entry_is_the_same_entry(release: ReleaseDocument) -> None:
    entry = registry_entry(release, ABOUT)
    assert yaml.safe_load(to_yaml(entry)) == entry


def test_a_simulation_has_no_page_and_no_entry(tmp_path: Path) -> None:
    people = Population.from_words({f"user {number}": {"yeet": 3} for number in range(2000)})
    discover(people, seed=1).save(tmp_path)
    simulated = read_release_file(tmp_path / "release.json")
    with pytest.raises(ReleaseError, match="a simulation"):
        legal_page(simulated)
    with pytest.raises(ReleaseError, match="a simulation"):
        registry_entry(simulated, ABOUT)


def test_people_who_were_asked_on_their_devices_are_told_of_what_leaves_them(release: ReleaseDocument) -> None:
    live = replace(release, provenance=replace(release.provenance, fidelity=LIVE))
    page = legal_page(live)
    assert "Each device was asked once" in page
    assert "<strong>Help us learn new words?</strong>" in page
    entry = registry_entry(live, ABOUT)["deployment"]
    assert entry["deployment_model"]["model_name"] == "Federated"
    assert "(local model): ε = 10 for one word" in entry["privacy_loss"]["privacy_parameters_details"]
    rehearsal = replace(release, provenance=replace(release.provenance, fidelity=REHEARSAL))
    with pytest.raises(ReleaseError, match="is a rehearsal and makes no privacy claim"):
        legal_page(rehearsal)


def test_reports_that_were_made_up_are_not_taken_for_those_of_people(release: ReleaseDocument) -> None:
    planned = f"{sum(layer.reports for layer in release.layers):,}"
    assert release.parameters.allocation == "drawn"
    assert f"a planned number of reports, {planned}: the program made up the missing ones" in legal_page(release)
    live = replace(release, provenance=replace(release.provenance, fidelity=LIVE))
    assert f"{planned} reports were counted" in legal_page(live)
    assert "the service made up the reports that were missing" in legal_page(live)
    filled = replace(release, parameters=replace(release.parameters, allocation="filled"))
    assert "made up the missing ones" not in legal_page(filled)


def test_a_slug_is_a_part_of_an_address() -> None:
    assert slug("Wörter & mehr", "A/B", "2026") == "w-rter-mehr-a-b-2026"


@pytest.mark.parametrize("command", ["explain", "registry"])
def test_what_does_not_follow_from_its_facts_is_not_passed_on(command: str, tmp_path: Path) -> None:
    people = Population.from_words({f"user {number}": {"yeet": 3} for number in range(2000)})
    discover(people).save(tmp_path)
    file, out = tmp_path / "release.json", tmp_path / "out"
    about = ("--name", "a", "--curator", "b", "--region", "c", "--published", "2026-05-01", "--author", "d")
    arguments = [command, str(file), "--out", str(out), *(about if command == "registry" else ())]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    out.unlink()
    said = json.loads(file.read_text("utf-8"))
    said["privacy"]["user_central"]["best"] /= 2
    del said["digest"]
    file.write_text(release_text(sign_document(said, Ed25519PrivateKey.generate())), "utf-8")
    refused = CliRunner().invoke(main, arguments)
    assert (refused.exit_code, "does not follow from its facts" in refused.output) == (2, True)
    assert not out.exists()
