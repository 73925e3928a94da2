"""A campaign of devices in Java that have no network finds what devices over HTTP find."""

from pathlib import Path

from service.campaigns import WORDS

from .handover_campaign import find_words
from .machine import JavaMachine


def test_devices_without_a_network_find_the_words(java: JavaMachine, tmp_path: Path) -> None:
    found, ends = find_words(java, tmp_path, 300)
    assert found == set(WORDS)
    assert ends["final"] >= 200
