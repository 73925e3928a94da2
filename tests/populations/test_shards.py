"""Shards: whoever reads a part, and however users are spread over files, the same users come in the same order."""

from pathlib import Path

import numpy as np
import pytest

from duck import run_sql
from neologue.populations.holdings import Holdings
from neologue.populations.population import RecordedPopulation, recorded_digest
from neologue.populations.record_checks import summarise
from neologue.populations.record_table import DEFAULT_COLUMNS
from neologue.populations.records import read_records
from neologue.populations.shards import Window, common_words, gather, shard_of, split_by_shard
from neologue.populations.user_keys import keys_of, ranks

SEED = 7


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Rows of 500 users in five files; some users are in several, some hold nothing recent."""
    folder = tmp_path / "table"
    folder.mkdir()
    run_sql("SELECT setseed(0.5)")
    run_sql(
        "CREATE OR REPLACE TEMP TABLE t AS SELECT 'u' || (random() * 500)::INT AS user, "
        "'w' || (random() * random() * 300)::INT AS word, (1 + random() * 9)::INT AS count, "
        "(random() * 80)::INT AS day, (random() * 4)::INT AS file FROM range(6000)"
    )
    for file in range(5):
        name = folder / f"{file}.parquet"
        run_sql(f"COPY (SELECT user, word, count, day FROM t WHERE file = {file}) TO '{name}' (FORMAT parquet)")
    return folder


def arrays(held: Holdings) -> list[list[int]]:
    return [held.starts.tolist(), held.words.tolist(), held.counts.tolist()]


@pytest.mark.parametrize("shards", [1, 2, 7, 600])
def test_they_are_what_one_machine_would_have_drawn(table: Path, shards: int) -> None:
    whole = RecordedPopulation(read_records(table), "table", None, SEED)
    files = sorted(table.iterdir())
    newest = max(day for file in files for day in summarise(file, DEFAULT_COLUMNS, part=True).days)
    records = [read_records(file, newest=newest, part=True) for file in files]
    words = common_words(one.words for one in records)
    parts = [split_by_shard(one, words, SEED, shards) for one in records]
    gathered = [gather([row[shard] for row in parts], len(words), SEED) for shard in range(shards)]
    assert words == whole.words
    assert sum(one.rows for one in records) == read_records(table).rows
    assert sum(one.dropped for one in records) == read_records(table).dropped > 0
    held = Window(0, Holdings.concatenate([shard.holdings for shard in gathered]))
    assert arrays(held.draw(0, whole.users)) == arrays(whole.draw(0, whole.users))
    assert arrays(held.draw(100, 250)) == arrays(whole.draw(100, 250))
    fingerprint = sum(shard.fingerprint for shard in gathered) % 2**64
    assert recorded_digest(words, whole.users, fingerprint) == whole.digest


def test_a_digest_tells_any_change_of_what_is_held_and_of_the_order(table: Path) -> None:
    records = read_records(table)
    digests = {RecordedPopulation(records, "table", None, seed).digest for seed in (1, 2)}
    counts = records.holdings.counts
    for place in (0, len(counts) - 1):
        counts[place] += 1
        digests.add(RecordedPopulation(records, "table", None, 1).digest)
        counts[place] -= 1
    digests.add(RecordedPopulation(records, "table", records.holdings.users - 1, 1).digest)
    assert len(digests) == 5


def test_the_order_is_random_and_the_seeds() -> None:
    """Power: of 100,000 ranks, a shard's share is known to 1 %."""
    keys = keys_of(map(str, range(100_000)))
    first, second = ranks(keys, 1), ranks(keys, 2)
    assert len(np.unique(first)) == len(keys)
    assert abs(np.corrcoef(first, second)[0, 1]) < 0.02
    assert abs(np.corrcoef(first, np.arange(len(keys)))[0, 1]) < 0.02
    sizes = np.bincount(shard_of(first, 10))
    assert len(sizes) == 10
    assert (np.abs(sizes - 10_000) < 500).all()
    assert (np.diff(shard_of(np.sort(first), 10)) >= 0).all()


def test_users_of_one_name_in_two_files_are_one() -> None:
    from neologue.populations.shards import FilePart

    keys = keys_of(["anna", "berta"])
    one = FilePart(keys[:1], Holdings(np.array([0, 2]), np.array([0, 3], np.int32), np.array([1, 2**31 - 2], np.int32)))
    two = FilePart(keys, Holdings(np.array([0, 1, 2]), np.array([3, 1], np.int32), np.array([5, 1], np.int32)))
    shard = gather([one, two], 4, SEED)
    rows = [shard.holdings.rows(user, user + 1) for user in range(shard.holdings.users)]
    held = sorted((row.words.tolist(), row.counts.tolist()) for row in rows)
    assert held == [([0, 3], [1, 2**31 - 1]), ([1], [1])]
