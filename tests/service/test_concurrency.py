"""Repeated steps and threads: what is tried again, what is logged, and what is waited for in the end."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

import pytest

from neologue.errors import StorageError
from neologue.service.ops.concurrency import RepeatedStep, Threads, describe

NEVER = 1e6


class Steps:
    """A step that counts how often it was taken, and fails as long as it is told to."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.taken: list[float] = []

    async def take(self) -> None:
        self.taken.append(time.monotonic())
        if self.error:
            raise self.error


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not condition():
            await asyncio.sleep(0.002)


def test_a_step_is_taken_at_once_and_then_after_each_pause() -> None:
    steps = Steps()

    async def scene() -> None:
        async with RepeatedStep("counting", steps.take, 0.02):
            await until(lambda: len(steps.taken) >= 3)

    asyncio.run(scene())
    assert all(late - early >= 0.015 for early, late in zip(steps.taken, steps.taken[1:], strict=False))


def test_who_is_in_a_hurry_does_not_wait_for_the_pause() -> None:
    steps = Steps()

    async def scene() -> None:
        async with RepeatedStep("counting", steps.take, NEVER) as repeated:
            await until(lambda: len(steps.taken) == 1)
            repeated.hurry()
            await until(lambda: len(steps.taken) == 2)

    asyncio.run(scene())
    assert len(steps.taken) == 2


def test_a_step_on_request_waits_for_one_and_is_taken_once_more_in_the_end() -> None:
    steps = Steps()

    async def scene() -> None:
        async with RepeatedStep("counting", steps.take, 0.01, on_request=True, last=True) as repeated:
            await asyncio.sleep(0.05)
            assert not steps.taken
            repeated.request()
            await until(lambda: len(steps.taken) == 1)
            await asyncio.sleep(0.05)
            assert len(steps.taken) == 1
        assert not repeated.running

    asyncio.run(scene())
    assert len(steps.taken) == 2


@pytest.mark.parametrize(
    ("error", "said", "faults"),
    [
        (StorageError("the database is away"), "counting failed, and will be tried again: the database is away", 0),
        (ValueError("a word of somebody"), "counting failed, and will be tried again: ValueError in take", 3),
        (ExceptionGroup("some", [StorageError("away")]), "counting failed, and will be tried again: away", 0),
    ],
)
def test_a_failing_step_is_tried_again_with_growing_pauses_and_nothing_is_quoted(
    error: Exception, said: str, faults: int, caplog: pytest.LogCaptureFixture
) -> None:
    steps, counted = Steps(error), list[None]()

    async def scene() -> None:
        async with RepeatedStep("counting", steps.take, 0.001, on_fault=lambda: counted.append(None)) as repeated:
            while len(steps.taken) < 3:
                repeated.hurry()  # a hurry does not cut the pause after a failure short
                await asyncio.sleep(0.002)
            steps.error = None
            await until(lambda: len(steps.taken) >= 5)

    with caplog.at_level(logging.ERROR):
        asyncio.run(scene())
    first, second, third = steps.taken[:3]
    assert (second - first >= 0.1, third - second >= 0.2) == (True, True)
    assert len(counted) == faults
    assert len(caplog.messages) == 3
    assert caplog.messages[0].startswith(said)
    assert "somebody" not in caplog.text


def test_a_pause_grows_with_the_step_before_it_but_not_beyond_its_limit() -> None:
    ends: list[float] = []
    begins: list[float] = []

    async def slow() -> None:
        begins.append(time.monotonic())
        await asyncio.sleep(0.1)
        ends.append(time.monotonic())

    async def scene() -> None:
        async with RepeatedStep("counting", slow, 0.0, slack=1000.0, longest_pause=0.2):
            await until(lambda: len(ends) == 2)

    asyncio.run(scene())
    assert 0.15 <= begins[1] - ends[0] < 60.0, "1000 times as long as the step took would be 100 seconds"


def test_a_step_under_way_is_waited_for() -> None:
    done: list[str] = []
    begun, allowed = threading.Event(), threading.Event()

    def work() -> None:
        begun.set()
        assert allowed.wait(300)
        done.append("step")

    async def scene() -> None:
        threads = Threads("test", 1)
        repeated = RepeatedStep("counting", lambda: threads.run(work), NEVER)
        async with repeated:
            await asyncio.to_thread(begun.wait, 300)
            stopping = asyncio.create_task(repeated.stop())
            await asyncio.sleep(0.01)
            assert not stopping.done()
            allowed.set()
        done.append("end")
        await threads.stop()

    asyncio.run(scene())
    assert done == ["step", "end"]


def test_several_errors_are_described_together_each_once() -> None:
    errors = [StorageError("away"), KeyError("of somebody"), KeyError("of somebody else"), StorageError("away")]
    assert describe(ExceptionGroup("some", errors)) == "KeyError; away"
