"""A discovery and its privacy as tables and lines on a terminal."""

from collections.abc import Mapping
from typing import Any

from neologue.cli.terminal import print_line, show_facts, show_table
from neologue.discovery.open_prefixes import open_prefixes
from neologue.discovery.result import Release
from neologue.privacy.colluders import cost_by_colluders
from neologue.privacy.digits import shown
from neologue.privacy.scale import grade
from neologue.privacy.statement import PrivacyFacts
from neologue.reporting.sentences import PREFIX_NOTE
from neologue.reporting.short_facts import planting_facts, privacy_facts, result_facts, run_facts, warnings_of
from neologue.simulation.discovery_run import DiscoveryRun

SHOWN_WORDS = 20
SHOWN_PREFIXES = 10
INTERVAL_NOTE = "Estimates and intervals are of the users who would report a word. How many hold it was not measured."
MEASURED_NOTE = "Estimates and intervals are of the users who would report a word; measured counts are of all holders."


def show_discovery(discovery: DiscoveryRun, document: Mapping[str, Any]) -> None:
    """Print the top words, and facts about the result, its privacy and the run; `docs/report.md` explains them."""
    words = discovery.release.words
    measured = measured_cells(discovery.release)
    rows = [
        (
            word.word,
            f"{word.estimate:,.0f}",
            f"{word.low:,.0f} – {word.high:,.0f}",
            *measured.get(word.word, ()),
            str(len(word.word)),
            str(word.layer),
        )
        for word in words[:SHOWN_WORDS]
    ]
    rest = f", the first {len(rows)} of {len(words):,}" if len(words) > len(rows) else ""
    more = ("measured", "95 % interval") if measured else ()
    columns = ("word", "users reporting it", "95 % interval", *more, "length", "found in layer")
    show_table(f"New words{rest}", columns, rows, numbers=range(1, len(columns)))
    if words:
        print_line(MEASURED_NOTE if measured else INTERVAL_NOTE)
    _show_prefixes(discovery.release)
    statement = document["privacy"]
    show_facts("Result", result_facts(discovery))
    protection = [*privacy_facts(statement), *planting_facts(document["planting"], len(words))]
    show_facts(f"Privacy, at δ = {statement['delta']:g}", protection)
    show_facts("Run", run_facts(discovery))
    print_line("")
    for warning in warnings_of(discovery, statement):
        print_line(f"Warning: {warning}")


def _show_prefixes(release: Release) -> None:
    """Print the prefixes behind which most users have words that were not found, if there are any."""
    listed = [each for each in open_prefixes(release.prefixes, release.words) if each.left]
    if not listed:
        return
    rows = [
        (f"{each.prefix}…", f"{each.left:,.0f}", f"{100 * each.left / release.campaign.users:.2f} %", f"{each.words:,}")
        for each in listed[:SHOWN_PREFIXES]
    ]
    rest = f", the first {len(rows)} of {len(listed):,}" if len(listed) > len(rows) else ""
    columns = ("prefix", "users left, about", "share of users", "words found below it")
    show_table(f"Prefixes whose words were not all asked about{rest}", columns, rows, numbers=range(1, 4))
    print_line(PREFIX_NOTE)


def show_colluders(facts: PrivacyFacts) -> None:
    """Print the central ε for several shares of colluders."""
    rows = [
        (f"{100 * cost.share:g} %", shown(cost.item), shown(cost.user), grade(cost.user).words)
        for cost in cost_by_colluders(facts)
    ]
    columns = ("devices that work with the reader", "central ε, word", "central ε, user", "of a whole user")
    show_table("If devices collude", columns, rows, numbers=range(3))


def measured_cells(release: Release) -> dict[str, tuple[str, str]]:
    """The measured count and interval of each word, as table cells."""
    words = release.measurement.words if release.measurement else ()
    return {word.word: (f"{word.estimate:,.0f}", f"{word.low:,.0f} – {word.high:,.0f}") for word in words}
