-- What was done, as the log tells it. An entry is written in the transaction of the deed; its place in the tree it gets
-- a moment later.
CREATE TABLE log_entries (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    tree     BLOB NOT NULL,     -- the identity of a campaign, or nothing for the operator's own tree
    position INTEGER,           -- its place in the tree, NULL until it has one
    entry    BLOB NOT NULL,
    UNIQUE (tree, position)
) STRICT;

CREATE INDEX log_entries_by_entry ON log_entries (tree, entry);

-- The hashes of the complete subtrees.
CREATE TABLE log_hashes (
    tree     BLOB NOT NULL,
    level    INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hash     BLOB NOT NULL,
    PRIMARY KEY (tree, level, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_checkpoints (
    tree BLOB NOT NULL,
    size INTEGER NOT NULL,
    note BLOB NOT NULL,         -- signed by the log
    PRIMARY KEY (tree, size)
) STRICT, WITHOUT ROWID;

CREATE TABLE log_cosignatures (
    tree    BLOB NOT NULL,
    size    INTEGER NOT NULL,
    witness BLOB NOT NULL,      -- its public key
    line    TEXT NOT NULL,      -- as it stands below the checkpoint
    PRIMARY KEY (tree, size, witness)
) STRICT, WITHOUT ROWID;

-- Documents that entries name by their digest and that no other table has.
CREATE TABLE log_documents (
    digest   BLOB PRIMARY KEY NOT NULL,
    document BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- A service has a key for its log, too.
CREATE TABLE keys_with_log (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    purpose  TEXT NOT NULL CHECK (purpose IN ('operator', 'issuer', 'ticket', 'log')),
    public   BLOB,
    secret   BLOB,
    wrapping BLOB,
    since    REAL,
    until    REAL
) STRICT;

INSERT INTO keys_with_log SELECT number, purpose, public, secret, wrapping, since, until FROM service_keys;

DROP TABLE service_keys;

ALTER TABLE keys_with_log RENAME TO service_keys;

-- only postgresql
-- Rows that bring their own numbers do not advance the next one.
SELECT setval(pg_get_serial_sequence('service_keys', 'number'), MAX(number)) FROM service_keys HAVING COUNT(*) > 0;
