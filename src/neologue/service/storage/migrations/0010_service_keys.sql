-- The secret keys of the service, the present ones and those that they have replaced.
CREATE TABLE service_keys (
    number   INTEGER PRIMARY KEY AUTOINCREMENT,
    purpose  TEXT NOT NULL CHECK (purpose IN ('operator', 'issuer', 'ticket')),
    public   BLOB,       -- of a key pair; NULL until the service first reads a key of an earlier version
    secret   BLOB,       -- 32 bytes, or these wrapped; NULL once it is erased
    wrapping BLOB,       -- which wrapping key it is wrapped under, NULL if it is raw
    since    REAL,       -- when it came into force, NULL if it has not yet
    until    REAL        -- when another one took its place
) STRICT;

INSERT INTO service_keys (purpose, secret, since)
SELECT name, value, 0.0 FROM secrets WHERE name IN ('operator', 'issuer', 'ticket') ORDER BY name;

DROP TABLE secrets;

-- How operator keys have replaced each other, as devices are told; the oldest first.
CREATE TABLE key_links (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    link   BLOB NOT NULL
) STRICT;

-- The recovery key, which is nowhere near the service; at most one row, which is never changed.
CREATE TABLE recovery_key (
    digest BLOB PRIMARY KEY NOT NULL
) STRICT, WITHOUT ROWID;
