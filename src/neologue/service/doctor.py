"""Checks of a deployment: errors, warnings and passed checks, before a campaign depends on it."""

import os
import shutil
import stat
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from neologue.errors import LedgerError, StorageError
from neologue.ledger import ledger_rows
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.ops import access
from neologue.service.ops.wrapping_key import key_file_of
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.states import OVER, CampaignState

Verdict = Literal["good", "doubtful", "unsafe"]

FREE_BYTES = 1 << 30
SMALL_BATCH = 20
SECONDS_OFF = 60
PATIENCE = 10


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    verdict: Verdict
    what: str
    """A sentence, with the remedy where one is needed."""


def examine(database: Database, server: str | None) -> list[Finding]:
    """Check a database, the ledger in it and a running service at an address."""
    findings = list(_memory())
    try:
        with database.reading() as db:
            findings += [*_storage(database, db), *_keys(database, db), *_people(db), *_campaigns(db), *_ledger(db)]
    except (StorageError, LedgerError) as error:
        findings.append(Finding("unsafe", str(error)))
    if server:
        findings += _service(server)
    return findings


def _storage(database: Database, db: Connection) -> Iterator[Finding]:
    if db.dialect == "sqlite":
        file = Path(database.name)
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            yield Finding("unsafe", f"others can read {file}, which holds secrets and sums: chmod 600 {file}")
        else:
            yield Finding("good", f"{file} is its owner's alone")
        free = shutil.disk_usage(file.resolve().parent).free
        if free < FREE_BYTES:
            yield Finding("doubtful", f"{free >> 20:,} MiB are free beside {file}: large layers may need 1 GiB")
        yield Finding("doubtful", "one file serves one machine: for more, use --database postgresql://…")
        return
    for setting, wanted in (("fsync", "on"), ("full_page_writes", "on")):
        ((value,),) = db.execute(f"SHOW {setting}")
        if value != wanted:
            yield Finding(
                "unsafe", f"PostgreSQL has {setting} = {value}: what was confirmed can be lost; turn it {wanted}"
            )
    ((commit,),) = db.execute("SHOW synchronous_commit")
    if commit == "off":
        yield Finding("unsafe", "PostgreSQL confirms before it writes (synchronous_commit = off): turn it on")
    else:
        yield Finding("good", f"PostgreSQL is durable (synchronous_commit = {commit})")
    ((logged,),) = db.execute("SHOW log_statement")
    ((parameters,),) = db.execute("SHOW log_parameter_max_length")
    ((slow,),) = db.execute("SELECT setting FROM pg_settings WHERE name = 'log_min_duration_statement'")
    if (logged in ("mod", "all") or int(slow) >= 0) and parameters != "0":
        yield Finding("unsafe", "PostgreSQL logs the values in statements: set log_parameter_max_length = 0")
    ((now,),) = db.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())::double precision")
    if abs(float(now) - time.time()) > SECONDS_OFF:
        yield Finding("doubtful", "the clocks of PostgreSQL and of this machine differ by more than a minute")


def _keys(database: Database, db: Connection) -> Iterator[Finding]:
    beside = key_file_of(database)
    if beside is not None and beside.exists() and stat.S_IMODE(beside.stat().st_mode) & 0o077:
        yield Finding("unsafe", f"others can read {beside}, which unwraps all keys: chmod 600 {beside}")
    if db.execute("SELECT 1 FROM service_keys WHERE secret IS NOT NULL AND wrapping IS NULL LIMIT 1"):
        yield Finding(
            "doubtful", "keys are raw in the database and in each copy of it: start the service with --wrapping-key"
        )
    else:
        yield Finding("good", "the keys in the database are wrapped; keep a copy of the wrapping key somewhere else")
    if not db.execute("SELECT 1 FROM recovery_key"):
        yield Finding(
            "doubtful",
            "no recovery key is registered, so that a stolen operator key can't be revoked: neologue keygen --recovery",
        )


def _people(db: Connection) -> Iterator[Finding]:
    people = access.people(db)
    operators = sum(person.role == access.OPERATOR for person in people)
    if not operators:
        yield Finding("unsafe", "nobody has an operator's token: start the service once, and keep what it prints")
    elif any(person.name == "first" for person in people):
        yield Finding(
            "doubtful", "the first token is still in use: make one for each operator, and revoke the one called first"
        )
    else:
        yield Finding("good", f"{len(people)} people have tokens, {operators} of them as operators")


def _campaigns(db: Connection) -> Iterator[Finding]:
    for entry in campaign_store.all_campaigns(db):
        if entry.state in OVER:
            continue
        definition = entry.definition
        smallest = definition.aggregator.smallest_sum
        if smallest < SMALL_BATCH:
            yield Finding(
                "doubtful",
                f"the campaign {entry.name!r} writes sums of {smallest} reports: a copy of the disk tells "
                f"more of each than from sums of {SMALL_BATCH} or more",
            )
        if definition.campaign.parameters.k_anonymity < 2:
            yield Finding("doubtful", f"the campaign {entry.name!r} has no k-anonymity: what few hold may be shown")
        if not definition.campaign.parameters.unique_chance:
            yield Finding("doubtful", f"the campaign {entry.name!r} promises nothing of words that one device has")
        if definition.population is None:
            yield Finding("doubtful", f"the campaign {entry.name!r} is charged to nobody: no budget limits it")
        if definition.population is not None and entry.state != CampaignState.DRAFT:
            charge = ledger_rows.charge_of(db, entry.name)
            if charge is None or charge.population != definition.population:
                yield Finding(
                    "unsafe",
                    f"the campaign {entry.name!r} was charged to a ledger that is not in this service: import it with "
                    "`neologue ledger import`",
                )


def _ledger(db: Connection) -> Iterator[Finding]:
    names = ledger_rows.population_names(db)
    if not names:
        yield Finding("doubtful", "no population has a budget: nothing limits what campaigns spend together")
        return
    for name in names:
        ledger_rows.read_population(db, name)  # all of it can be read
    yield Finding(
        "good", f"the ledger keeps count of {len(names)} {'population' if len(names) == 1 else 'populations'}"
    )
    unpaid = [entry.name for entry in campaign_store.all_campaigns(db) if _was_free(entry)]
    if unpaid:
        yield Finding(
            "doubtful",
            f"the campaign {unpaid[0]!r} was charged to nobody: what it cost is not in what populations have spent",
        )


def _was_free(entry: CampaignRow) -> bool:
    return entry.definition.population is None and entry.state != CampaignState.DRAFT


def _memory() -> Iterator[Finding]:
    """Reports are in memory: whatever writes memory to a disk writes reports."""
    try:
        import resource
    except ImportError:
        return
    if resource.getrlimit(resource.RLIMIT_CORE)[0] != 0:
        yield Finding("doubtful", "a crash may write memory to a core file: ulimit -c 0 (LimitCORE=0 in systemd)")
    swaps = Path("/proc/swaps")
    if swaps.exists() and len(swaps.read_text().splitlines()) > 1:
        yield Finding("doubtful", "this machine swaps memory to a disk: swapoff -a, or encrypt the swap")
    if os.name == "posix" and os.geteuid() == 0:
        yield Finding("doubtful", "this runs as root: give the service a user of its own")


def _service(server: str) -> Iterator[Finding]:
    url = urlsplit(server)
    if url.scheme == "https":
        yield Finding("good", "devices talk to the service over TLS")
    elif _is_here(url.hostname or ""):
        yield Finding("doubtful", f"{server} is without TLS: fine behind a proxy on this machine, and nowhere else")
    else:
        yield Finding("unsafe", f"{server} is without TLS: anybody on the way can change what devices are told")
    try:
        with urllib.request.urlopen(f"{server.rstrip('/')}/readyz", timeout=PATIENCE) as answer:
            date = answer.headers.get("Date")
    except (OSError, ValueError) as error:
        reason = error.code if isinstance(error, urllib.error.HTTPError) else getattr(error, "reason", error)
        yield Finding("unsafe", f"{server} is not ready ({reason}): start it, or look into its log")
        return
    yield Finding("good", f"{server} is ready")
    if date and abs(parsedate_to_datetime(date).timestamp() - time.time()) > SECONDS_OFF:
        yield Finding("doubtful", "the clocks of the service and of this machine differ by more than a minute")


def _is_here(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
