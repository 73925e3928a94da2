"""Devices of a fleet that fall silent in the middle of a group."""

import pytest

from neologue.device.network.transport import JSON, SMALL_ANSWER, Response
from neologue.errors import LaterError, ParameterError
from neologue.fleet.fleet import LeavingTransport, Weather


class Line:
    """A line on which everything is answered."""

    def request(
        self, method: str, path: str, body: bytes = b"", kind: str = JSON, most: int = SMALL_ANSWER
    ) -> Response:
        return Response(200, body)


def message(number: int) -> bytes:
    return bytes(80) + bytes([1, number]) + bytes(16)


def test_a_device_falls_silent_before_its_message_and_stays_so() -> None:
    leaving = LeavingTransport(Line(), 5)
    for number in (1, 3):
        assert leaving.request("POST", "/v1/cohorts/ab", message(number)).status == 200
    assert leaving.request("POST", "/v1/cohorts", message(7)[:80]).status == 200
    assert not leaving.has_left
    for body in (message(5), message(1), b""):
        with pytest.raises(LaterError):
            leaving.request("POST", "/v1/cohorts/ab", body)
    assert leaving.has_left


def test_the_share_of_devices_that_leave_is_a_share() -> None:
    with pytest.raises(ParameterError, match="leaving must be a share"):
        Weather(leaving=1.5)
