"""What reports are made with, which not every installation has."""

from importlib.util import find_spec

EXTRA = 'pip install "neologue[report]"'
"""How to get it."""


def can_report() -> bool:
    """Whether the libraries that reports are made with are installed."""
    return all(find_spec(name) for name in ("jinja2", "matplotlib"))
