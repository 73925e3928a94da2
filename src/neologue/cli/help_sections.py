"""`--help` in sections, with examples.

An option has one name and one meaning in all commands, so it also has one section.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import click

WHOLE = 200
"""More characters than the first sentence of any command has."""
SECTIONS: dict[str, tuple[str, ...]] = {
    "Who is asked": (
        *("users", "devices", "user_column", "word_column", "count_column", "day_column", "days", "seed"),
        "check_ins",
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
        "shape_epsilon",
    ),
    "Measuring": ("measure", "measure_users", "measure_devices", "measure_rate", "largest_closed_vote_ratio"),
    "What it costs": (
        *("cost", "check_in_hours", "layer_hours", "regions", "core_price", "traffic_price", "storage_price"),
    ),
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
    "Network": ("host", "port", "certificate", "private_key", "proxies"),
    "Keys and the log": ("wrapping_key", "witnesses", "evidence"),
    "Notifications": ("webhook", "webhook_secret"),
    "Limits": ("connections", "connections_per_address", "requests_per_second", "patience"),
    "Other": ("help",),
}
"""The parameters of each section, in the order in which they are shown."""


class CommandWithExamples(click.Command):
    """A command whose help shows examples before its options."""

    def __init__(self, *arguments: Any, examples: Sequence[tuple[str, str]] = (), **options: Any) -> None:  # noqa: ANN401 - click's own signature
        super().__init__(*arguments, **options)
        self.examples = examples

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples, and then the options."""
        with formatter.section("Examples"):
            for command, meaning in self.examples:
                formatter.write_text(f"# {meaning}")
                formatter.write_text(command)
        self.write_options(context, formatter)

    def write_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options, in the order of the code."""
        super().format_options(context, formatter)


class SectionedCommand(CommandWithExamples):
    """A command with many options, which its help shows in sections."""

    def write_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section that has options."""
        by_name = {parameter.name: parameter for parameter in self.get_params(context)}
        for title, names in SECTIONS.items():
            shown = [by_name[name].get_help_record(context) for name in names if name in by_name]
            rows = [row for row in shown if row is not None]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


class CommandGroup(click.Group):
    """Commands that are listed with their whole first sentences, which click would cut."""

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, in the order of their names."""
        with formatter.section("Commands"):
            self.write_commands(context, formatter, self.list_commands(context))

    def write_commands(self, context: click.Context, formatter: click.HelpFormatter, names: Iterable[str]) -> None:
        """Write some of the commands."""
        commands = ((name, self.get_command(context, name)) for name in names)
        formatter.write_dl([(name, found.get_short_help_str(WHOLE)) for name, found in commands if found])
