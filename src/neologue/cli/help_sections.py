"""`--help` in sections, with examples.

An option has one name and one meaning in all commands, so it also has one section.
"""

from collections.abc import Sequence
from typing import Any

import click

SECTIONS: dict[str, tuple[str, ...]] = {
    "Who is asked": (
        *("users", "devices", "user_column", "word_column", "count_column", "day_column", "days", "seed"),
    ),
    "What counts as a word": ("language", "alphabet", "case", "punctuation", "known", "targets", "depth"),
    "Privacy": (
        *(
            "privacy",
            "epsilon",
            "local_epsilon",
            "promised_epsilon",
            "central_epsilon",
            "promised_unit",
            "unit",
            "delta",
        ),
        *("words_per_user", "k_anonymity", "alpha", "unique_chance", "hostile_devices", "colluders", "yes"),
    ),
    "Measuring": ("measure", "measure_users", "measure_devices", "measure_rate", "largest_closed_vote_ratio"),
    "Output": ("out", "as_json", "plot", "resume", "sign"),
    "Campaign, service and ledger": (
        *("campaign", "population", "ledger", "server", "token", "database", "workers", "processes"),
    ),
    "Method": (
        *("profile", "passes", "layers", "allocation", "sampler", "randomizer", "rule", "frontier", "candidates"),
        *("fidelity", "engine", "address"),
    ),
    "Layers of a live campaign": (
        *("smallest_layer", "batch", "hours", "seconds", "too_few", "check_in_seconds", "answer_seconds", "reserve"),
        "issuers",
    ),
    "Masked votes": (
        *("aggregation", "cohort_size", "smallest_cohort", "dropout", "corruption", "corruption_risk"),
        *("gather_seconds", "stage_seconds", "strikes", "upload_bytes", "leaving"),
    ),
    "Bad weather": ("silent", "lost", "twice", "restarts", "delay"),
    "Other": ("help",),
}
"""The parameters of each section, in the order in which they are shown."""


class SectionedCommand(click.Command):
    """A command whose help has sections of options, and examples."""

    def __init__(self, *arguments: Any, examples: Sequence[tuple[str, str]] = (), **options: Any) -> None:  # noqa: ANN401 - click's own signature
        super().__init__(*arguments, **options)
        self.examples = examples

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and each section that has options."""
        if self.examples:
            with formatter.section("Examples"):
                for command, meaning in self.examples:
                    formatter.write_text(f"# {meaning}")
                    formatter.write_text(command)
        by_name = {parameter.name: parameter for parameter in self.get_params(context)}
        for title, names in SECTIONS.items():
            shown = [by_name[name].get_help_record(context) for name in names if name in by_name]
            rows = [row for row in shown if row is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
