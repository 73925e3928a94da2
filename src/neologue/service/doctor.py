"""Checks of a deployment: errors, warnings and passed checks, before a campaign depends on it."""

import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from neologue.errors import LedgerError, StorageError
from neologue.ledger import ledger_rows
from neologue.service.campaigns import campaign_store
from neologue.service.campaigns.campaign_store import CampaignRow
from neologue.service.finding import Finding
from neologue.service.ops import access
from neologue.service.ops.confinement import read_confinement
from neologue.service.ops.wrapping_key import key_file_of
from neologue.service.service_checks import SECONDS_OFF, check_confinement, check_service, is_here
from neologue.service.storage.database import Connection, Database
from neologue.service.storage.sqlite_database import SqliteDatabase
from neologue.service.storage.states import OVER, CampaignState
from neologue.service.witness_checks import check_witnesses

FREE_BYTES = 1 << 30
SMALL_BATCH = 20
HOURS_OLD = 26
COPIES = (".db", ".dump")
"""How backups end: those of `neologue backup` and of pg_dump, as deploy/ names them."""


def examine(
    database: Database,
    server: str | None = None,
    token: str | None = None,
    backups: Path | None = None,
    witnesses: Path | None = None,
) -> list[Finding]:
    """Check a database, the ledger in it, its backups, the witnesses in a file and a running service at an address.

    An operator's token lets the service say how it is deployed.
    """
    findings = []
    try:
        with database.reading() as db:
            findings += [*_storage(database, db), *_keys(database, db), *_people(db), *_campaigns(db), *_ledger(db)]
            findings += check_witnesses(db, witnesses)
    except (StorageError, LedgerError) as error:
        findings.append(Finding("unsafe", str(error)))
    findings += _backups(backups, database)
    if server:
        findings += check_service(server, token)
    else:
        findings += check_confinement(read_confinement(), "this process")
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
        else:
            yield Finding("good", f"{free >> 30:,} GiB are free beside {file}")
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
    yield from _rights(db)
    ((now,),) = db.execute("SELECT EXTRACT(EPOCH FROM clock_timestamp())::double precision")
    if abs(float(now) - time.time()) > SECONDS_OFF:
        yield Finding("doubtful", "the clocks of PostgreSQL and of this machine differ by more than a minute")


def _rights(db: Connection) -> Iterator[Finding]:
    """Check who else may read what PostgreSQL holds, and who may listen on the way to it."""
    ((superuser,),) = db.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
    if superuser:
        yield Finding("doubtful", "the service is a superuser of PostgreSQL: give it a role of its own")
    readers = [
        role
        for (role,) in db.execute(
            "SELECT DISTINCT grantee::text FROM information_schema.role_table_grants "
            "WHERE table_schema = current_schema() AND grantee <> current_user ORDER BY 1"
        )
    ]
    if readers:
        yield Finding(
            "unsafe",
            f"{', '.join(readers)} may use tables that hold secrets and sums: "
            f"REVOKE ALL ON ALL TABLES IN SCHEMA public FROM {', '.join(readers)}",
        )
    else:
        yield Finding("good", "no other role of PostgreSQL was granted any of the tables")
    ((encrypted, address),) = db.execute(
        "SELECT COALESCE((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false), host(inet_server_addr())"
    )
    if not encrypted and address is not None and not is_here(address):
        yield Finding(
            "doubtful", "the way to PostgreSQL is not encrypted: sslmode=verify-full, unless its network is yours alone"
        )


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


def _backups(folder: Path | None, database: Database) -> Iterator[Finding]:
    if folder is None:
        yield Finding("doubtful", "nothing is known of backups: name their folder with --backups")
        return
    copies = [path for path in folder.iterdir() if path.suffix in COPIES] if folder.is_dir() else []
    if not copies:
        wanted = " or ".join(f"*{ending}" for ending in COPIES)
        yield Finding("unsafe", f"{folder} has no backup, {wanted}: deploy/ has units and jobs that make one every day")
        return
    newest = max(copies, key=lambda path: path.stat().st_mtime)
    hours = (time.time() - newest.stat().st_mtime) / 3600
    if hours > HOURS_OLD:
        yield Finding(
            "unsafe", f"{newest}, the newest backup, is {hours:,.0f} hours old: see why there is none of today"
        )
    else:
        yield Finding("good", f"{newest} is a backup of the last {HOURS_OLD} hours")
    if any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in copies):
        yield Finding("unsafe", f"others can read backups, which hold secrets and sums: chmod 600 {folder}/*")
    if isinstance(database, SqliteDatabase) and database.file.stat().st_dev == newest.stat().st_dev:
        yield Finding("doubtful", f"{folder} is on the disk of the database: copy backups to another machine")
