-- Who is signed in to the pages. Revoking a token ends the sessions that were opened with it.
CREATE TABLE sessions (
    hash    BLOB PRIMARY KEY NOT NULL,  -- SHA-256 of what the browser's cookie holds
    token   BLOB NOT NULL REFERENCES tokens (hash) ON DELETE CASCADE,
    expires REAL NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_by_token ON sessions (token);
