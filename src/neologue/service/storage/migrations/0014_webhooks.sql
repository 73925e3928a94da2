-- How far each address was told of what happened to campaigns, by the places of entries in the operator's log.
CREATE TABLE webhooks (
    url      TEXT PRIMARY KEY NOT NULL,
    position INTEGER NOT NULL,            -- the next entry that it may be told of
    failures INTEGER NOT NULL,            -- how often in a row that did not work
    due      REAL NOT NULL                -- when it is tried again; while somebody tries, when another one may
) STRICT;
