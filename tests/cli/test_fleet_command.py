"""What `neologue fleet` and `neologue sandbox` refuse before anything is started."""

from collections.abc import Callable

import pytest
from click.testing import Result

Neologue = Callable[..., Result]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["fleet", "--cohort-size", "10"], "--cohort-size needs --aggregation secure"),
        (["fleet", "--dropout", "0"], "--dropout needs --aggregation secure"),
        (["plan", "--corruption", "0"], "--corruption needs --aggregation secure"),
        (["fleet", "--leaving", "0.1"], "--leaving needs --aggregation secure"),
        (["fleet", "--stage-seconds", "8"], "--stage-seconds needs --aggregation secure"),
        (["fleet", "--epsilon", "11"], "devices refuse a local ε above 10, so 11 is too large"),
        (["fleet", "--server", "http://127.0.0.1:9"], "--server needs --token"),
        (["sandbox", "--epsilon", "11"], "devices refuse a local ε above 10, so 11 is too large"),
        (["sandbox", "--devices", "10"], "10 is not in the range x>=300"),
    ],
)
def test_what_no_device_would_do_is_refused_at_once(neologue: Neologue, arguments: list[str], told: str) -> None:
    result = neologue(*arguments)
    assert result.exit_code == 2
    assert told in result.output
    assert "Traceback" not in result.output
