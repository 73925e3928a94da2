"""How the next campaign of a series is called, and who is asked in it."""

import pytest

from neologue.cli.live.repeat import _next_name, _next_part


@pytest.mark.parametrize(
    ("name", "taken", "following"),
    [("spring", [], "spring 2"), ("spring 2", [], "spring 3"), ("spring", ["spring 2", "spring 3"], "spring 4")],
)
def test_campaigns_are_numbered(name: str, taken: list[str], following: str) -> None:
    assert _next_name(name, taken) == following


@pytest.mark.parametrize(
    ("population", "following"),
    [
        ("keyboards 1 of 12", "keyboards 2 of 12"),
        ("keyboards 12 of 12", "keyboards 1 of 12"),
        ("all 3 of them", "all 3 of them"),
        (None, None),
    ],
)
def test_each_part_of_the_people_is_asked_in_turn(population: str | None, following: str | None) -> None:
    assert _next_part(population) == following
