CREATE TABLE neologue_migrations (
    number INTEGER NOT NULL UNIQUE
) STRICT;

CREATE TABLE secrets (
    name  TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    hash    BLOB PRIMARY KEY NOT NULL,
    name    TEXT NOT NULL UNIQUE,
    role    TEXT NOT NULL,
    created REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    at      REAL NOT NULL,
    actor   TEXT NOT NULL,
    action  TEXT NOT NULL,
    subject TEXT NOT NULL
) STRICT;

CREATE TABLE known (
    digest BLOB PRIMARY KEY NOT NULL,  -- SHA-256 of the words as they are served
    words  BLOB NOT NULL               -- these, by zlib
) STRICT, WITHOUT ROWID;

CREATE TABLE campaigns (
    id           BLOB PRIMARY KEY NOT NULL,
    name         TEXT NOT NULL UNIQUE,
    definition   TEXT NOT NULL,
    state        TEXT NOT NULL,
    slot_secret  BLOB NOT NULL,
    created      REAL NOT NULL,
    changed      REAL NOT NULL,
    leader       TEXT,                 -- the worker that moves the campaign on
    leader_until REAL,
    release      TEXT,
    note         TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE layers (
    campaign   BLOB NOT NULL REFERENCES campaigns (id),
    place      INTEGER NOT NULL,
    digest     BLOB NOT NULL,
    cohort     INTEGER NOT NULL,       -- the most reports that are counted
    candidates INTEGER NOT NULL,
    low        INTEGER NOT NULL,       -- slots from here
    high       INTEGER NOT NULL,       -- to below here are invited
    opened     REAL NOT NULL,
    deadline   REAL NOT NULL,
    looks      INTEGER NOT NULL DEFAULT 0,
    extensions INTEGER NOT NULL DEFAULT 0,
    state      TEXT NOT NULL CHECK (state IN ('open', 'closed', 'decided')),
    reports    INTEGER NOT NULL DEFAULT 0 CHECK (reports BETWEEN 0 AND cohort),
    decision   BLOB,
    facts      TEXT,
    document   BLOB NOT NULL,          -- what devices are told, by zlib
    PRIMARY KEY (campaign, place)
) STRICT;

CREATE INDEX layers_by_digest ON layers (digest);

-- What is left of reports: votes of a batch, or of several merged. Deleted when the layer is decided.
CREATE TABLE sums (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign BLOB NOT NULL,
    place    INTEGER NOT NULL,
    reports  INTEGER NOT NULL,         -- how many are added up
    votes    BLOB NOT NULL,
    FOREIGN KEY (campaign, place) REFERENCES layers (campaign, place)
) STRICT;

CREATE INDEX sums_by_layer ON sums (campaign, place);

-- only postgresql
-- Sums have little to gain from compression, which takes longer than all the rest of a commit.
ALTER TABLE sums ALTER COLUMN votes SET STORAGE EXTERNAL;

-- Who was counted. Nothing else is beside it, and the order of its rows says nothing of when that was.
CREATE TABLE spent (
    campaign BLOB NOT NULL,
    serial   BLOB NOT NULL,
    PRIMARY KEY (campaign, serial)
) STRICT, WITHOUT ROWID;
