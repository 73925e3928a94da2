"""When the devices of tests send."""

from neologue.device import SendingTime

AT_ONCE = SendingTime(now=lambda: 0.0, wait=lambda seconds: None)
"""Nobody waits for the moment that is drawn."""
