"""A campaign of devices in Java that have no network finds what devices over HTTP find."""

from pathlib import Path

from service.campaigns import WORDS

from .handover_campaign import find_words
from .machine import JavaMachine

DEVICES = 320
"""Four layers of eight whole batches."""


def test_devices_without_a_network_find_the_words(java: JavaMachine, tmp_path: Path) -> None:
    found, ends, reports = find_words(java, tmp_path, DEVICES)
    assert found == set(WORDS)
    assert not ends["closed"]
    assert reports >= 3 * DEVICES // 4
    # Devices of later layers need not have heard of it when the campaign is over.
    assert ends["final"] >= DEVICES // 4
