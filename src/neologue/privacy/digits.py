"""The digits in which people read an ε or a chance."""

from decimal import ROUND_CEILING, Context
from typing import Final

_THREE: Final = Context(prec=3, rounding=ROUND_CEILING)


def shown(bound: float) -> str:
    """An ε or a chance in three significant digits, never smaller than it is."""
    return f"{float(_THREE.create_decimal(repr(bound))):.3g}"
