"""`discover` for people: it knows the language, and its result shows, converts and saves itself."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from neologue.campaign.campaign import Campaign
from neologue.campaign.privacy_level import DEFAULT_LEVEL, LEVELS
from neologue.errors import ParameterError
from neologue.language import builtin
from neologue.populations.population import Population
from neologue.privacy.statement import Exposure
from neologue.release.levelled_campaign import at_level
from neologue.release.signature import private_key, sign_document
from neologue.reporting.files import check_folder, write_files
from neologue.reporting.short_facts import as_sentences, result_facts, run_facts
from neologue.reporting.simulated_release import discovery_document, truth_document
from neologue.simulation import discovery_run
from neologue.simulation.discovery_run import RunOptions
from neologue.workbench.html_table import html_lines, html_table
from neologue.workbench.optional import import_optional

if TYPE_CHECKING:
    import pandas
    import pyarrow

DEFAULT_LANGUAGE = "en"
SHOWN_WORDS = 20


@dataclass(frozen=True, repr=False)
class Discovery(discovery_run.DiscoveryRun):
    """The words of a discovery with their estimates, its score against the truth, and its release.

    >>> from neologue import Population, discover
    >>> people = Population.from_words({f"user {n}": {"yeet": 3, "rizz": 1, "the": 9} for n in range(2000)})
    >>> found = discover(people, seed=1)
    >>> found
    <Discovery of 2 words: coverage 100.0%, precision 100.0%>
    >>> sorted(found.table()["word"])
    ['rizz', 'yeet']
    """

    def table(self) -> dict[str, list[Any]]:
        """The words as columns: the word, the users who would report it, an interval, votes and where it was found."""
        rows = self.release.words
        columns: dict[str, list[Any]] = {
            name: [getattr(word, name) for word in rows]
            for name in ("word", "estimate", "low", "high", "votes", "pass_number", "layer")
        }
        if self.release.measurement:
            measured = {each.word: each for each in self.release.measurement.words}
            for name in ("estimate", "low", "high"):
                columns[f"measured_{name}"] = [
                    getattr(measured[word.word], name) if word.word in measured else None for word in rows
                ]
        return columns

    def prefix_table(self) -> dict[str, list[Any]]:
        """The prefixes whose words were not all asked about as columns: how many users go on from each, and votes."""
        return {
            name: [getattr(kept, name) for kept in self.release.prefixes]
            for name in ("prefix", "estimate", "low", "high", "votes", "pass_number", "layer")
        }

    def to_pandas(self) -> "pandas.DataFrame":
        """The words as a pandas DataFrame."""
        return import_optional("pandas").DataFrame(self.table())

    def to_arrow(self) -> "pyarrow.Table":
        """The words as an Arrow table."""
        return import_optional("pyarrow").table(self.table())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The words as an Arrow stream, so that `polars.DataFrame(discovery)` works."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @property
    def document(self) -> Mapping[str, object]:
        """What `release.json` holds: the words, the facts, the privacy statement."""
        return discovery_document(self)

    def save(self, folder: Path | str, *, sign: Path | str | None = None) -> list[Path]:
        """Write the files that `neologue discover --out` writes, but for its report; `sign` is a private key.

        `truth.json` is as confidential as the data.
        """
        check_folder(Path(folder))
        document = discovery_document(self)
        if sign is not None:
            document = sign_document(document, private_key(Path(sign)))
        truth = truth_document(self, document)
        words, prefixes = self.release.words, self.release.prefixes
        return write_files(words, prefixes, document, self.documents, Path(folder), truth=truth)

    def _repr_html_(self) -> str:
        rows = [
            (word.word, f"{word.estimate:,.0f}", f"{word.low:,.0f} – {word.high:,.0f}", str(word.layer))
            for word in self.release.words[:SHOWN_WORDS]
        ]
        shown = f"New words, the first {len(rows)} of {len(self.release.words):,}"
        table = html_table(shown, ("word", "users reporting it", "95 % interval", "found in layer"), rows)
        return table + html_lines(as_sentences([*result_facts(self), *run_facts(self)]))


def discover(
    population: Population,
    campaign: Campaign | None = None,
    *,
    language: str | None = None,
    **options: Unpack[RunOptions],
) -> Discovery:
    """Find the new words of a population, and compare them with what its users hold.

    Without a campaign, the profile `neologue` is used at the level of privacy `standard`, with the known words and the
    alphabet of the language: the population's own if it is simulated, else English. Every user is asked at most once.
    The same arguments with a seed give the same result. Without a seed, simulated users have seed 0, and all others are
    randomized by the system's entropy: only then does the release make a privacy claim.

    >>> from neologue import Population, discover
    >>> people = Population.from_words({f"user {n}": {"yeet": 3, "the": 9} for n in range(2000)})
    >>> discover(people, seed=1).table()["word"]  # "the" is an English word
    ['yeet']
    """
    if not isinstance(population, Population):
        raise ParameterError(
            f"a {type(population).__name__} is no population: make one with Population.from_frame, from_file, "
            "from_words or embedded"
        )
    if campaign is not None and language is not None:
        raise ParameterError(f"a campaign has its language already: leave out language={language!r}")
    found = discovery_run.discover(population, campaign or _usual_campaign(population, language, options), **options)
    return Discovery(**{field.name: getattr(found, field.name) for field in fields(found)})


def _usual_campaign(population: Population, language: str | None, options: RunOptions) -> Campaign:
    measure = options.get("measure")
    users = max(1, population.users - (measure.users if measure else 0))
    if language is None and population.alphabet is not None:
        known, alphabet = population.known, population.alphabet
    else:
        chosen = builtin.check_language(DEFAULT_LANGUAGE if language is None else language)
        known, alphabet = builtin.vocabulary(chosen), builtin.alphabet(chosen)
    level = LEVELS[DEFAULT_LEVEL]
    asked = Campaign.from_profile(users=users, known=known, alphabet=alphabet, epsilon=level.local_epsilon)
    return at_level(asked, level, measure, Exposure())
