"""What `neologue fleet` and `neologue sandbox` refuse before anything is started."""

from collections.abc import Callable

import pytest
from click.testing import Result

from neologue.cli.devices.fleet import _prepare
from neologue.cli.service_client import ServiceClient
from neologue.errors import ParameterError

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
        (["fleet", "--devices", "5"], "the layers rely on 4 of the 5 devices"),
        (["fleet", "--layers", "0"], "layers must be"),
        (["sandbox", "--epsilon", "11"], "devices refuse a local ε above 10, so 11 is too large"),
        (["sandbox", "--devices", "10"], "10 is not in the range x>=300"),
    ],
)
def test_what_no_device_would_do_is_refused_at_once(neologue: Neologue, arguments: list[str], told: str) -> None:
    result = neologue(*arguments)
    assert result.exit_code == 2
    assert told in result.output
    assert "Traceback" not in result.output


def test_a_fleet_does_not_join_a_campaign_of_people(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []

    def answer(_: ServiceClient, *request: str) -> list[dict[str, object]]:
        asked.append(request)
        return [{"name": "spring", "state": "running", "rehearsal": False}]

    monkeypatch.setattr(ServiceClient, "request_json", answer)
    with pytest.raises(ParameterError, match="'spring' is for people's own devices"):
        _prepare(ServiceClient("http://127.0.0.1:9", "token"), {"campaign": "spring", "devices": 10})
    assert asked == [("GET", "campaigns")]
