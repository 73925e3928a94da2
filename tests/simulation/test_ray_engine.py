"""A cluster counts what one machine counts, to the last bit, and loses nothing when a worker dies.

Every cluster here is a real one: Ray started by its own command, on loopback, with two workers.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from duck import run_sql
from neologue.campaign.campaign import Campaign
from neologue.errors import DataError, EngineError
from neologue.populations.counting import Counters, Users
from neologue.populations.population import Population
from neologue.populations.record_table import Columns
from neologue.simulation.discovery_run import DiscoveryRun, discover
from neologue.simulation.engines.engine import Engine, LocalEngine
from neologue.simulation.engines.ray_engine import RayEngine
from neologue.simulation.layer_work import Held

USERS = 30_000
TRIES = 3


@contextmanager
def cluster(**environment: str) -> Iterator[str]:
    """A cluster of this machine, which is gone afterwards."""
    with ExitStack() as stack:
        for _ in range(TRIES):
            address = stack.enter_context(try_cluster(environment))
            if address:
                break
        assert address, "no cluster could be started"
        yield address


@contextmanager
def try_cluster(environment: dict[str, str]) -> Iterator[str]:
    """A cluster, or an empty address: somebody else may have taken the port in the meantime."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(Path(sys.executable).with_name("ray")), "start", "--head", "--block", f"--port={port}"]
    limits = ["--num-cpus=2", "--object-store-memory=150000000", "--include-dashboard=false"]
    # Ray puts sockets there, whose paths may not be long.
    with tempfile.TemporaryDirectory(prefix="ray") as folder:
        process = subprocess.Popen(
            [*command, *limits, "--node-ip-address=127.0.0.1", "--disable-usage-stats", f"--temp-dir={folder}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | environment,
            start_new_session=True,
        )
        assert process.stdout
        try:
            started = any(b"Ray runtime started" in line for line in process.stdout)
            yield f"127.0.0.1:{port}" if started else ""
        finally:
            # All of its processes are in the session that was started here.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.stdout.close()
            process.wait()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    # Workers find the works of this file, what it imports, and neologue where this process does.
    here = Path(__file__).parent
    with cluster(PYTHONPATH=os.pathsep.join([str(here), str(here.parent), os.environ.get("PYTHONPATH", "")])) as there:
        yield there


@pytest.fixture(scope="module")
def engine(address: str) -> Iterator[RayEngine]:
    with RayEngine(address) as joined:
        yield joined


@pytest.fixture(scope="module")
def population() -> Population:
    return Population.embedded("id", users=USERS)


def found(population: Population, fidelity: str, engine: Engine) -> DiscoveryRun:
    campaign = Campaign.from_profile(users=population.users, known=population.known, depth=5, epsilon=8.0)
    return discover(population, campaign, fidelity=fidelity, seed=5, engine=engine)


def outcome(discovery: DiscoveryRun) -> tuple[object, ...]:
    """All that the files of a discovery are made from."""
    release = discovery.release
    return release.words, release.layers, discovery.score, discovery.truth, discovery.population, discovery.users


@pytest.mark.parametrize("fidelity", ["fast", "exact"])
def test_the_release_is_the_same(engine: RayEngine, population: Population, fidelity: str) -> None:
    assert outcome(found(population, fidelity, engine)) == outcome(found(population, fidelity, LocalEngine()))


def test_real_devices_report_from_a_cluster_too(engine: RayEngine) -> None:
    few = Population.embedded("id", users=600)
    campaign = Campaign.from_profile(users=600, known=few.known, depth=3, epsilon=8.0, k_anonymity=0, unique_chance=0.0)
    there, here = (discover(few, campaign, fidelity="devices", engine=one) for one in (engine, LocalEngine()))
    assert outcome(there) == outcome(here)


@dataclass(frozen=True)
class Deadly:
    """Counts holders, but in the middle of some pieces its worker is killed, as the kernel would."""

    words: int
    marks: Path
    victims: tuple[int, ...]

    @property
    def size(self) -> int:
        return self.words

    def add(self, users: Users, start: int, stop: int, counters: Counters) -> Iterator[None]:
        yield from Held(self.words).add(users, start, stop, counters)
        mark = self.marks / str(start)
        if start in self.victims and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_that_is_killed_costs_time_and_nothing_else(
    engine: RayEngine, population: Population, tmp_path: Path
) -> None:
    pieces = list(population.spans(0, USERS))
    work = Deadly(len(population.words), tmp_path, (pieces[0][0], pieces[-1][0]))
    told: list[int] = []
    counts = engine.count(work, population, 0, USERS, told.append)
    assert len(list(tmp_path.iterdir())) == 2, "both workers died"
    assert counts.tolist() == population.holders().tolist()
    assert sum(told) == USERS


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of 2,000 users in four Parquet files, whose folders tell the day."""
    folder = tmp_path_factory.mktemp("data") / "table"
    folder.mkdir()
    run_sql("SELECT setseed(0.25)")
    run_sql(
        "CREATE OR REPLACE TEMP TABLE t AS SELECT (random() * 2000)::INT AS person, "
        "['lol', 'tbh', 'haha', 'config', 'refactor', 'yeet'][1 + (6 * random() * random())::INT % 6] AS word, "
        "(1 + random() * 9)::INT AS n, 1 + (random() * 3)::INT * 21 AS day FROM range(20000)"
    )
    run_sql(f"COPY t TO '{folder}' (FORMAT parquet, PARTITION_BY (day), OVERWRITE_OR_IGNORE)")
    return folder


COLUMNS = Columns(user="person", count="n")


def test_workers_read_the_parts_of_a_table(engine: RayEngine, table: Path) -> None:
    there, here = (one.read([table], COLUMNS, users=1_900, seed=3) for one in (engine, LocalEngine()))
    assert there.description == here.description
    assert "rows too old" in here.description
    assert (there.users, there.words, there.digest) == (here.users, here.words, here.digest)
    drawn = [one.draw(100, 900) for one in (there, here)]
    assert drawn[0].words.tolist() == drawn[1].words.tolist()
    assert drawn[0].counts.tolist() == drawn[1].counts.tolist()
    assert drawn[0].starts.tolist() == drawn[1].starts.tolist()
    assert there.draw(5, 5).users == 0
    assert outcome(found(there, "exact", engine)) == outcome(found(here, "exact", LocalEngine()))


def damage(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-20])


def lack(file: Path) -> None:
    run_sql(f"COPY (SELECT person, word FROM read_parquet('{file}')) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").replace(file)


def lose_words(file: Path) -> None:
    run_sql(f"COPY (SELECT person, n FROM read_parquet('{file}')) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").replace(file)


def change_type(file: Path) -> None:
    run_sql(f"COPY (SELECT * REPLACE (person + 0.0 AS person) FROM '{file}') TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").replace(file)


@pytest.mark.parametrize("anywhere", ["local", "cluster"])
@pytest.mark.parametrize(
    ("spoil", "columns", "message"),
    [
        (damage, COLUMNS, "cut short or damaged"),
        (lack, COLUMNS, "has no column 'n'"),
        (lack, Columns(user="person", count=None, day="n"), "has no column 'n'"),
        (lose_words, COLUMNS, "has no column 'word'"),
        (change_type, COLUMNS, r"has 'person' as (text|DEC.*|DOUBLE), other parts of .* write them alike"),
    ],
)
def test_a_bad_part_is_named(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    anywhere: str,
    spoil: Callable[[Path], None],
    columns: Columns,
    message: str,
) -> None:
    reader: Engine = LocalEngine() if anywhere == "local" else request.getfixturevalue("engine")
    folder = tmp_path / "table"
    folder.mkdir()
    for part in range(3):
        file = folder / f"part-{part}.parquet"
        run_sql(f"COPY (SELECT 1 AS person, 'lol' AS word, 2 AS n) TO '{file}' (FORMAT parquet)")
    spoil(folder / "part-1.parquet")
    with pytest.raises(DataError, match=message) as refused:
        reader.read([folder], columns)
    assert re.search(r"part-\d\.parquet", str(refused.value))


@pytest.mark.parametrize("anywhere", ["local", "cluster"])
@pytest.mark.parametrize("files", [1, 3])
def test_a_wrong_day_in_one_of_several_files_is_named(
    request: pytest.FixtureRequest, tmp_path: Path, anywhere: str, files: int
) -> None:
    reader: Engine = LocalEngine() if anywhere == "local" else request.getfixturevalue("engine")
    paths = [tmp_path / f"part-{part}.parquet" for part in range(files)]
    for file in paths:
        rows = "SELECT 'u' || i AS user, 'lol' AS word, 20000 + i AS day FROM range(150) AS t(i)"
        run_sql(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
    assert reader.read(paths, days=200).users == 150
    wrong = "SELECT user, word, CASE WHEN user = 'u7' THEN 99999 ELSE day END AS day"
    run_sql(f"COPY ({wrong} FROM '{paths[-1]}') TO '{paths[-1]}.new' (FORMAT parquet)")
    Path(f"{paths[-1]}.new").replace(paths[-1])
    told = f"{paths[-1].name} has 1 row\\(s\\), the first is row 8, of 79,850 days after all others"
    with pytest.raises(DataError, match=told):
        reader.read(paths)


def test_parts_without_rows_are_nothing(engine: RayEngine, tmp_path: Path) -> None:
    for part, condition in (("a", "true"), ("b", "false")):
        file = tmp_path / f"{part}.parquet"
        rows = f"SELECT 'u' || i AS user, 'lol' AS word, -i AS day FROM range(20) AS t(i) WHERE {condition}"
        run_sql(f"COPY ({rows}) TO '{file}' (FORMAT parquet)")
    there, here = (one.read([tmp_path], days=10) for one in (engine, LocalEngine()))
    assert there.description == here.description == f"20 users of {tmp_path.name}, 20 rows, 10 rows too old, 1 words"
    assert there.digest == here.digest
    (tmp_path / "a.parquet").unlink()
    for one in (engine, LocalEngine()):
        with pytest.raises(DataError, match="has no rows"):
            one.read([tmp_path])


def test_more_users_than_there_are_is_refused_as_on_one_machine(engine: RayEngine, table: Path) -> None:
    from neologue.errors import ParameterError

    with pytest.raises(ParameterError, match="nobody is asked twice"):
        engine.read([table], COLUMNS, users=10**6)


@pytest.mark.parametrize("host", ["a..b", "x" * 64])
def test_a_host_that_has_no_name_is_named(host: str) -> None:
    with pytest.raises(EngineError, match=f"nothing answers at {host}:80"):
        RayEngine(f"{host}:80")


def test_an_address_where_nothing_is_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nowhere = f"127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(EngineError, match=f"nothing answers at {nowhere}"):
            RayEngine(nowhere)


@pytest.mark.parametrize("address", ["", "here", "127.0.0.1", "127.0.0.1:x", ":6379", "127.0.0.1:99999"])
def test_what_is_no_address_is_named(address: str) -> None:
    with pytest.raises(EngineError, match=f"'{address}' is not the address of a cluster"):
        RayEngine(address)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_what_answers_but_is_no_cluster_is_told_apart(answer: bytes) -> None:
    def answers() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(100)
            connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        pool.submit(answers)
        with pytest.raises(EngineError, match="is not a Ray cluster"):
            RayEngine(f"127.0.0.1:{listening.getsockname()[1]}")


def test_a_worker_without_the_package_is_named(tmp_path: Path) -> None:
    stub = tmp_path / "neologue"
    stub.mkdir()
    (stub / "__init__.py").write_text("__version__ = '0'\n")
    with cluster(PYTHONPATH=str(tmp_path)) as there:
        # In a process of its own: this one has joined a cluster already.
        script = f"from neologue.simulation.engines.ray_engine import RayEngine; RayEngine('{there}')"
        run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert re.search(r"a worker on [\d.]+ can't import neologue; install \"neologue\[cluster\]==", run.stderr)


def test_a_cluster_of_ones_own_minds_no_other() -> None:
    script = (
        "from neologue.simulation.engines.ray_engine import RayEngine\n"
        "with RayEngine(cores=1) as engine: print(engine.threads)"
    )
    nowhere = os.environ | {"RAY_ADDRESS": "127.0.0.1:9"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=nowhere)
    assert (run.returncode, run.stdout) == (0, "1\n"), run.stderr


def test_auto_is_checked_too() -> None:
    script = "from neologue.simulation.engines.ray_engine import RayEngine; RayEngine('auto')"
    nowhere = os.environ | {"RAY_ADDRESS": "127.0.0.1:9"}
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=nowhere)
    assert re.search(r"nothing answers at [\d.]+:9 ", run.stderr)


def test_a_second_cluster_is_refused(engine: RayEngine, address: str) -> None:
    with pytest.raises(EngineError, match="joined a cluster already"):
        RayEngine(address)


def test_ray_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(EngineError, match=r'pip install "neologue\[cluster\]"'):
        RayEngine()


def test_nobody_is_nothing(engine: RayEngine, population: Population) -> None:
    assert not engine.count(Held(len(population.words)), population, 8, 8).any()
    assert isinstance(engine.count(Held(len(population.words)), population, 0, 8), np.ndarray)
