"""`neologue audit`: a lower bound on what the reports of the shipped device code give away."""

import json
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from neologue.cli.help_sections import CommandWithExamples

if TYPE_CHECKING:
    from neologue.audit.audit import Audit
    from neologue.cli.terminal import LineProgress

RANDOMIZERS = ("unary", "subset-selection")
FAILED = 1
SECONDS_TO_ESTIMATE = 4.0
"""Seconds after which the remaining time of an audit can be estimated."""


@click.command(
    cls=CommandWithExamples,
    examples=(("neologue audit --epsilon 8", "both randomizers, at the ε of your campaign"),),
)
@click.option("--randomizer", type=click.Choice(RANDOMIZERS), help="The randomizer to audit  [default: both]")
@click.option("--epsilon", type=float, default=7.0, show_default=True, help="Local ε of one word.")
@click.option("--words-per-user", type=int, default=60, show_default=True, help="Words in one report (B).")
@click.option("--reports", type=int, help="Number of reports  [default: enough to detect an ε that is 5 % too large]")
@click.option("--confidence", type=float, default=0.9999, show_default=True, help="Confidence of each audit's verdict.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON instead of a table.")
@click.pass_context
def audit(
    context: click.Context,
    randomizer: str | None,
    epsilon: float,
    words_per_user: int,
    reports: int | None,
    confidence: float,
    as_json: bool,
) -> None:
    """Attack the device code and report the ε that the attack proves.

    Makes reports with the device code and its secure randomness, attacks them with full knowledge of what every device
    holds, and compares the ε that this proves with the stated one. Also looks for randomness that was used twice. Exits
    with 1 if an audit fails.
    """
    from neologue.randomizers.thresholds import check_epsilon

    # Mistakes are found before anything that takes long to import.
    check_epsilon(epsilon)
    from neologue.audit.audit import audit as run
    from neologue.audit.audit import audit_layer, usual_reports
    from neologue.cli.terminal import show_progress

    # A Subset Selection report of one word needs the fewest assumptions; see docs/audit.md.
    wanted = [("unary", words_per_user), ("subset-selection", 1), ("subset-selection", words_per_user)]
    selected = dict.fromkeys((name, bound) for name, bound in wanted if randomizer in (None, name))
    audits = []
    with show_progress(sys.stderr) as progress:
        for name, bound in selected:
            layer = audit_layer(name, epsilon, bound)
            total = usual_reports(layer.randomizer, confidence) if reports is None else reports
            shown = AuditProgress(progress, f"{name}, {_count_words(bound)} in a report: {total:,} reports", total)
            audits.append(run(layer, reports=total, confidence=confidence, advance=shown.advance))
    if as_json:
        click.echo(json.dumps([_as_json(done) for done in audits], indent=2, ensure_ascii=False).encode())
    else:
        _show(audits)
    if not all(done.passed for done in audits):
        context.exit(FAILED)


class AuditProgress:
    """Shows how far an audit has come and, if it takes minutes, the estimated time."""

    def __init__(self, progress: "LineProgress", what: str, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0
        self._begun = time.monotonic()
        self._estimated = False
        progress.start(what, total)

    def advance(self, reports: int) -> None:
        """Count reports that have just been attacked."""
        self._done += reports
        self._progress.on_users(reports)
        passed = time.monotonic() - self._begun
        if passed > SECONDS_TO_ESTIMATE and not self._estimated:
            self._estimated = True
            minutes = math.ceil(passed * self._total / self._done / 60)
            if minutes > 1:
                self._progress.print_line(
                    f"this takes about {minutes:,} minutes; a larger ε or fewer --reports take less"
                )


def _count_words(bound: int) -> str:
    return "1 word" if bound == 1 else f"{bound:,} words"


def _as_json(done: "Audit") -> dict[str, Any]:
    return {
        **asdict(done),
        "lower_bound": done.lower_bound,
        "reuse_seen": bool(done.coincidences),
        "sharp": done.sharp,
        "passed": done.passed,
    }


def _show(audits: "Sequence[Audit]") -> None:
    """Print a table with one line for each audit, and remarks below it."""
    from neologue.cli.terminal import show_table

    rows = [
        (
            done.mechanism,
            f"{done.bound:,}",
            f"{done.reports:,}",
            f"{done.epsilon:g}",
            f"{done.lower_bound:.3f}",
            "seen" if done.coincidences else "none seen",
            "passed" if done.passed else "FAILED",
        )
        for done in audits
    ]
    columns = ("randomizer", "words", "reports", "ε stated", "ε at least", "reused randomness", "verdict")
    show_table(f"Audit, with confidence {audits[0].confidence:g} each", columns, rows, numbers=(1, 2, 3, 4))
    for done in audits:
        for line in _remarks(done):
            click.echo(f"{done.mechanism}, {_count_words(done.bound)}: {line}")


def _remarks(done: "Audit") -> Iterator[str]:
    if done.lower_bound > done.epsilon:
        holding, not_holding = done.evidence.holding, done.evidence.not_holding
        yield (
            f"the reports give away more than stated. {done.evidence.event.capitalize()} has a probability of at least "
            f"{holding.limit:.4g} if the device holds the one, and at most {not_holding.limit:.4g} if the other."
        )
    for found in done.coincidences:
        yield (
            f"randomness is used twice. {found.what.capitalize()}: {found.seen:,} of {found.of:,}, where chance would "
            f"give {found.expected:.3g}."
        )
    if not done.sharp:
        yield (
            f"{done.reports:,} reports may miss an ε that is 5 % too large; {done.reports_needed:,} would detect it in "
            "95 of 100 audits."
        )
