"""The command line."""

from neologue.cli.main import main

__all__ = ["main"]
