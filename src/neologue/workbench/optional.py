"""Packages that only some people have."""

from importlib import import_module
from typing import Any


def import_optional(name: str) -> Any:  # noqa: ANN401 - a module of another project
    """Import a package, or say how to get it."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ImportError(f"this needs {name}, which is not installed: get it with pip install {name}") from error
