"""What the service of a campaign takes, as a table and as facts on a terminal."""

from typing import Any

from neologue.cli.terminal import show_facts, show_table
from neologue.reporting.short_facts import Fact


def show_cost(cost: dict[str, Any]) -> None:
    """Print the parts of the service, what is sent, kept and paid, and what breaks first."""
    rows: list[tuple[str, ...]] = [
        (part["name"], f"{part['cores']:,.1f}", f"{part['rented']:,}") for part in cost["parts"]
    ]
    columns = ("part of the service", "cores at the busiest time", "cores rented")
    show_table("The service", columns, rows, range(1, len(columns)))
    run, money, word = cost["hosting"], cost["money"], cost["per_word"]
    facts = [
        Fact(
            "a device",
            f"checks in {cost['check_ins']:,.0f} times in {cost['hours']:,.0f} hours, once in "
            f"{run['check_in_hours']:g}, and is sent {cost['sent_bytes'] / 1e6:,.2f} MB",
        ),
        Fact("database", f"keeps {cost['kept_bytes'] / 1e9:,.2f} GB"),
        Fact(
            "price",
            f"{money['total']:,.0f}: {money['cores']:,.0f} for cores, {money['traffic']:,.0f} for traffic and "
            f"{money['storage']:,.0f} for storage",
        ),
        Fact("price of a million devices", f"{cost['per_million_devices']:,.0f}"),
        *([Fact("price of a word", f"{word:,.2g}")] if word is not None else []),
        Fact(
            "assumed prices",
            f"{run['core_price']:g} for a core and hour, {run['traffic_price']:g} for a gigabyte sent, "
            f"{run['storage_price']:g} for one kept for a month",
        ),
    ]
    broken = next((part for part in cost["parts"] if part["name"] == cost["breaks_first"]), None)
    if broken:
        facts.append(
            Fact(
                "breaks first",
                f"the {broken['name']} would take {broken['cores']:,.1f} cores and can use {broken['most_cores']:g}: "
                "let devices check in less often, or layers wait longer",
            )
        )
    show_facts("What it costs", facts)
