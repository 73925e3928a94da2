"""A connection to a Ray cluster: its tasks, their results, and its errors as neologue's.

A task whose worker dies is run again.
"""

import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from neologue import __version__
from neologue.errors import EngineError, NeologueError

if TYPE_CHECKING:
    from ray import ObjectRef

    Ref = ObjectRef[Any]

FAN_IN = 8
"""How many results are combined in one task."""
MOST_RETRIES = 10
"""How often a task is restarted if its worker dies."""
TASK = {"num_cpus": 1, "max_retries": MOST_RETRIES}
SECONDS_TO_ANSWER = 10.0
"""The time in which an address must answer."""
SECONDS_TO_BEGIN = 300.0
"""The time in which each machine must have begun a task."""
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""The beginning of an HTTP/2 connection, which a cluster answers with settings, a frame of type 4.

This is checked because Ray ends the whole process if something else answers.
"""


class Cluster:
    """A Ray cluster: a running one at an address, or a temporary one on this machine."""

    def __init__(self, address: str | None = None, cores: int | None = None) -> None:
        self._ray = _import_ray(guarded=address is None)
        self._address = address
        if address is not None:
            _check_address(_find_cluster() if address == "auto" else address)
        if self._ray.is_initialized():
            raise EngineError("this process has joined a cluster already; leave it first")
        if address is None:
            self._start(cores)
        else:
            self._join(address)
        try:
            with self.translate_errors():
                self._check_workers()
                self.cores = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        except BaseException:
            self._ray.shutdown()
            raise

    @property
    def is_temporary(self) -> bool:
        """Whether the cluster was started here, and ends with this process."""
        return self._address is None

    def close(self) -> None:
        """Leave the cluster; one that was started here is stopped."""
        self._ray.shutdown()

    def put(self, value: object) -> "Ref":
        """Store a value in the cluster."""
        reference: Ref = self._ray.put(value)
        return reference

    def get(self, results: "Ref | Sequence[Ref]") -> Any:  # noqa: ANN401 - whatever the tasks return
        """Wait for results and fetch them."""
        return self._ray.get(results)

    def wait(self, tasks: "list[Ref]") -> "tuple[list[Ref], list[Ref]]":
        """Wait for one or more tasks: those that are done, and the others."""
        done, waiting = self._ray.wait(tasks, fetch_local=False)
        return done, waiting

    def cancel(self, tasks: "Sequence[Ref]") -> None:
        """Cancel tasks that nobody waits for; a temporary cluster ends with the run anyway."""
        if not self.is_temporary:
            for task in tasks:
                self._ray.cancel(task)

    def run(self, function: Callable[..., Any], *arguments: object, **named: object) -> "Ref":
        """Start a task, which is restarted if its worker dies."""
        found: Ref = self._ray.remote(**TASK)(function).remote(*arguments, **named)
        return found

    def run_for_many(self, function: Callable[..., Any], results: int, *arguments: object) -> "Sequence[Ref]":
        """Start a task with several results, which can be fetched one by one."""
        found: Sequence[Ref] = self._ray.remote(num_returns=results, **TASK)(function).remote(*arguments)
        return found

    def combine(self, combine: Callable[..., Any], results: "list[Ref]") -> "Ref":
        """Combine many results into one, some at a time."""
        while len(results) > 1:
            results = [self.run(combine, *results[i : i + FAN_IN]) for i in range(0, len(results), FAN_IN)]
        return results[0]

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Translate Ray's exceptions into neologue's."""
        errors = self._ray.exceptions
        try:
            yield
        except errors.RayTaskError as error:
            if isinstance(error.cause, NeologueError):
                raise error.cause from None
            if isinstance(error.cause, MemoryError):
                raise EngineError("a worker of the cluster has too little memory; give it fewer candidates") from None
            raise
        except (errors.OutOfMemoryError, errors.ObjectStoreFullError):
            raise EngineError("the cluster has too little memory for its tasks; add some, or use fewer cores") from None
        except errors.RayError as error:
            raise EngineError(
                f"the cluster lost a task {MOST_RETRIES} times or failed ({type(error).__name__}); "
                "look at its logs, then continue with --resume"
            ) from None

    def _start(self, cores: int | None) -> None:
        """Start a temporary cluster on this machine."""
        # Without an address Ray would join any cluster that it finds.
        self._ray.init(
            address="local",
            num_cpus=cores,
            include_dashboard=False,
            log_to_driver=False,
            configure_logging=False,
            # Otherwise objects that do not fit into memory would be written to disk, with what somebody typed.
            _system_config={"automatic_object_spilling_enabled": False},
        )

    def _join(self, address: str) -> None:
        try:
            self._ray.init(address=address, log_to_driver=False, configure_logging=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise EngineError(
                f"the cluster at {address} can't be joined ({reason}); check that `ray status` works there, "
                "or leave out --address to use this machine"
            ) from None

    def _check_workers(self) -> None:
        """Check that every machine has this version of neologue: another one could count differently."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        nodes = [node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU")]
        if not nodes:
            raise EngineError(f"the cluster at {self._address} has no machine with a core; add one")
        for node in nodes:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            task = self._ray.remote(num_cpus=1, max_retries=0, scheduling_strategy=there)(_version).remote()
            try:
                found = self._ray.get(task, timeout=SECONDS_TO_BEGIN)
            except self._ray.exceptions.GetTimeoutError:
                raise EngineError(
                    f"no core of {node['NodeManagerAddress']} became free in {SECONDS_TO_BEGIN:.0f} seconds; "
                    "try again when the cluster is less busy"
                ) from None
            except self._ray.exceptions.RayError:
                found = None
            if found != __version__:
                has = "can't import neologue" if found is None else f"has neologue {found}"
                raise EngineError(
                    f"a worker on {node['NodeManagerAddress']} {has}; "
                    f'install "neologue[cluster]=={__version__}" on every machine of the cluster'
                )


def _import_ray(*, guarded: bool) -> Any:  # noqa: ANN401 - Ray has no types
    """Import Ray without usage statistics; if `guarded`, a cluster that it starts requires a token.

    Ray listens on all interfaces and reads these settings when it is imported.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if guarded and "ray" not in sys.modules and "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    try:
        import ray
    except ImportError:
        raise EngineError('the engine ray is not installed; get it with pip install "neologue[cluster]"') from None
    return ray


def _find_cluster() -> str:
    """The address of the cluster that runs on this machine."""
    from ray._private.services import canonicalize_bootstrap_address

    try:
        found = canonicalize_bootstrap_address("auto")
    except (ConnectionError, ValueError):
        found = None
    if not found:
        raise EngineError("no cluster runs on this machine; give its address, or leave out --address to start one")
    return str(found)


def _check_address(address: str) -> None:
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 1 <= int(port) <= 65535:
        raise EngineError(f"{address!r} is not the address of a cluster; write it like 10.0.0.7:6379, or auto")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_ANSWER) as connection:
            connection.sendall(HELLO)
            answer = connection.recv(9)
    except TimeoutError:
        answer = b""
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise EngineError(
            f"nothing answers at {address} ({reason}); start the cluster with `ray start --head`, "
            "or leave out --address to use this machine"
        ) from None
    if answer[3:4] != HELLO[-6:-5]:
        raise EngineError(f"{address} is not a Ray cluster; give the address that `ray start` printed")


def _version() -> str:
    from neologue import __version__ as version

    return version
