"""All checks, and the rules that they are about."""

from typing import Final

from neologue.conformance import check_in_checks, key_checks, layer_checks, log_checks, report_checks, sending_checks
from neologue.conformance.check import CHECKS, Check

__all__ = [
    "CHECKS",
    "RULES",
    "Check",
    "check_in_checks",
    "key_checks",
    "layer_checks",
    "log_checks",
    "report_checks",
    "sending_checks",
]

RULES: Final = frozenset(rule for each in CHECKS for rule in each.rules)
"""The rules that a device can be judged by from outside."""
