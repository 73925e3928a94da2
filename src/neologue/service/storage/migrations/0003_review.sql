-- What people think of released words. Rows are added and never changed: of a word's, the last one counts.
CREATE TABLE rulings (
    id       INTEGER PRIMARY KEY AUTOINCREMENT,
    campaign BLOB NOT NULL REFERENCES campaigns (id),
    verdict  TEXT NOT NULL CHECK (verdict IN ('open', 'accepted', 'rejected', 'hidden')),
    note     TEXT NOT NULL,            -- why, in the words of whoever ruled
    actor    TEXT NOT NULL,
    at       REAL NOT NULL
) STRICT;

CREATE TABLE ruled_words (
    campaign BLOB NOT NULL REFERENCES campaigns (id),
    word     TEXT NOT NULL,
    ruling   INTEGER NOT NULL REFERENCES rulings (id),
    PRIMARY KEY (campaign, word, ruling)
) STRICT, WITHOUT ROWID;
