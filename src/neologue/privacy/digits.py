"""The digits in which people read an ε."""

from decimal import ROUND_CEILING, Context
from typing import Final

_THREE: Final = Context(prec=3, rounding=ROUND_CEILING)


def shown(epsilon: float) -> str:
    """An ε in three significant digits, never smaller than it is."""
    return f"{float(_THREE.create_decimal(repr(epsilon))):.3g}"
