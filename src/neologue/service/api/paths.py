"""The paths under which there is anything, told from all others without looking through the routes one by one."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from starlette.routing import BaseRoute, Route


@dataclass(frozen=True)
class Paths:
    """The paths of some routes; a few more may be among them, which no route serves."""

    whole: frozenset[str]
    beginnings: tuple[str, ...]
    """Of those that have a name in them, up to that."""

    @classmethod
    def of(cls, routes: Iterable[BaseRoute]) -> Self:
        """The paths of these routes."""
        templates = [route.path for route in routes if isinstance(route, Route)]
        beginnings = sorted({template.partition("{")[0] for template in templates if "{" in template})
        shortest = [
            each for each in beginnings if not any(each.startswith(other) for other in beginnings if other < each)
        ]
        return cls(frozenset(template for template in templates if "{" not in template), tuple(shortest))

    def __contains__(self, path: str) -> bool:
        return path in self.whole or path.startswith(self.beginnings)
