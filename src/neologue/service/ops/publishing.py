"""Publishes the log as time passes: one step signs what is new, and one for each witness asks it to co-sign."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import structlog

from neologue.errors import InputError, LaterError, LogError
from neologue.service.log.log_publisher import LogPublisher
from neologue.service.log.witness_client import WitnessClient
from neologue.service.ops.concurrency import RepeatedStep, Threads
from neologue.transparency.trust import Server, Trust

log = structlog.get_logger("neologue.service")


def read_trust(path: str | None) -> Trust:
    """The witnesses that a file names; none without a file."""
    if path is None:
        return Trust()
    try:
        trust = Trust.parse(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise InputError(f"{path} can't be read ({reason}): name a file with the witnesses of the log") from None
    for server in trust.witnesses:
        if server.url is None:
            raise InputError(f"{path} does not say where the witness {server.key.name} is: add its URL to its line")
    return trust


class Publishing:
    """Publishes the log of a worker."""

    def __init__(self, publisher: LogPublisher, trust: Trust, threads: Threads) -> None:
        self._publisher, self._trust, self._threads = publisher, trust, threads
        self._silent: dict[str, str] = {}
        """What is wrong with a witness, as it was logged last."""

    def steps(self, pause: float, on_fault: Callable[[], None]) -> list[RepeatedStep]:
        """The steps to take again and again."""
        signing = RepeatedStep("signing the log", self._publish, pause, on_fault=on_fault)
        return [
            signing,
            *(
                RepeatedStep(f"asking {server.key.name}", self._asks(server), pause, on_fault=on_fault)
                for server in self._trust.witnesses
            ),
        ]

    async def _publish(self) -> None:
        await self._threads.run(self._publisher.publish)

    def _asks(self, server: Server) -> Callable[[], Awaitable[None]]:
        assert server.url is not None
        client = WitnessClient(server.url)
        return partial(self._ask, server, client)

    async def _ask(self, server: Server, client: WitnessClient) -> None:
        """Ask a witness; what is wrong with it is logged once, and is no fault of this service."""
        wrong = ""
        try:
            await self._threads.run(self._publisher.ask, server, client)
        except (LaterError, LogError) as error:
            wrong = str(error)
        name = server.key.name
        if wrong != self._silent.get(name, ""):
            self._silent[name] = wrong
            if wrong:
                log.warning("a witness does not co-sign the log", witness=name, reason=wrong)
            else:
                log.info("a witness co-signs the log again", witness=name)
