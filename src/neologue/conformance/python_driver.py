"""The driver of the Python client: python -m neologue.conformance.python_driver."""

import json
import sys
from contextlib import ExitStack
from typing import Any

from neologue.device import Client, HttpTransport, Policy, SendingTime, SendingWindow


class ClientDriver:
    """One client at a time."""

    def __init__(self) -> None:
        self._client: Client | None = None
        self._open = ExitStack()

    def run(self, do: str, given: dict[str, Any]) -> object:
        """Do what the kit asks for."""
        match do:
            case "open":
                policy = _policy(given["operator"], given.get("trust"))
                window = SendingTime(SendingWindow(*given["window"]))
                http = HttpTransport(given["server"], seconds=given.get("patience", 60.0))
                client = Client(given["folder"], self._open.enter_context(http), policy, sending_time=window)
                self._client = self._open.enter_context(client)
                self._client.join(given["credential"])
                if given["words"]:
                    self._client.typed_all(given["words"])
            case "tick":
                tick = self._opened.tick()
                return {"state": tick.state, "again": tick.again, "message": tick.message}
            case "owner":
                {
                    "opt out": self._opened.opt_out,
                    "opt in": self._opened.opt_in,
                    "forget me": self._opened.forget_me,
                    "leave": self._opened.leave,
                }[given["says"]]()
            case "close":
                self._open.close()
        return None

    @property
    def _opened(self) -> Client:
        assert self._client, "no device is open"
        return self._client


def _policy(operator: str, trust: dict[str, Any] | None) -> Policy:
    """The usual policy, for an operator and perhaps with witnesses."""
    operators = frozenset({bytes.fromhex(operator)})
    if trust is None:
        return Policy(operators=operators)
    logs, witnesses = (frozenset(map(bytes.fromhex, trust[name])) for name in ("logs", "witnesses"))
    return Policy(operators=operators, logs=logs, witnesses=witnesses, quorum=trust["quorum"])


def main() -> None:
    """Read a line, do it, write a line."""
    driver = ClientDriver()
    for line in sys.stdin:
        given = json.loads(line)
        try:
            told: dict[str, object] = {"result": driver.run(given.pop("do"), given)}
        except Exception as error:
            told = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
