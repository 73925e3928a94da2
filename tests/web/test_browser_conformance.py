"""The browser device is judged by the conformance kit, as any other."""

from contextlib import ExitStack
from pathlib import Path

from neologue.conformance.driver import DeviceSetup, Step
from neologue.conformance.kit import judge
from neologue.errors import ConformanceError

from .chromium import Browser, PageError
from .pages import pages


class BrowserDriver:
    """A device in a page; a page of the same origin has the same storage."""

    def __init__(self, browser: Browser, stack: ExitStack) -> None:
        self._browser, self._stack = browser, stack
        self._pages: dict[str, str] = {}
        """By the address of a service, that of the pages of the same origin."""

    def open(self, setup: DeviceSetup) -> None:
        server = setup.server
        if server not in self._pages:
            self._pages[server] = self._stack.enter_context(pages(server))
        address = self._pages[server]
        self._browser.visit(address)
        options = {
            "server": address,
            "operators": [setup.operator],
            "sendingWindow": setup.window,
            "name": setup.folder,
            "policy": setup.told().get("trust", {}),
        }
        self._run(
            """
            const { Device } = await import("/static/neologue-device.js");
            const [options, credential, words, patience] = given;
            const really = globalThis.setTimeout;
            // Its minute is over sooner.
            if (patience) globalThis.setTimeout = (end, ms) => really(end, ms === 60_000 ? 1000 * patience : ms);
            globalThis.device = await Device.open(options);
            await device.optIn();
            await device.join(credential);
            for (const [word, times] of Object.entries(words)) await device.typed(word, { times });
            """,
            options,
            setup.credential,
            setup.words,
            setup.patience,
        )

    def tick(self) -> Step:
        told = self._run("const { state, again } = await device.tick(); return [state, again]")
        return Step(told[0], told[1])  # type: ignore[index]

    def owner(self, says: str) -> None:
        methods = {"opt out": "optOut", "opt in": "optIn", "forget me": "forgetMe", "leave": "leave"}
        self._run(f"await device.{methods[says]}()")

    def close(self) -> None:
        self._run("device.close()")

    def crash(self) -> bool:
        return False

    def _run(self, script: str, *given: object) -> object:
        try:
            told: object = self._browser.run(script, *given)
        except PageError as error:
            raise ConformanceError(str(error)) from error
        return told


def test_it_keeps_to_every_rule(browser: Browser, tmp_path: Path) -> None:
    with ExitStack() as stack:
        driver = BrowserDriver(browser, stack)
        verdicts = list(judge(lambda: driver, tmp_path))
    assert [str(verdict) for verdict in verdicts if verdict.complaint] == []
    browser.complaints()
