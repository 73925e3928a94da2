-- Cohorts of secure aggregation, from before anybody masks votes for them. Of a device there is nothing here.
-- Deleted when the layer is decided.
CREATE TABLE cohorts (
    id       BLOB PRIMARY KEY NOT NULL,
    campaign BLOB NOT NULL,
    place    INTEGER NOT NULL,
    terms    BLOB NOT NULL,            -- what its devices were told
    devices  INTEGER NOT NULL,         -- the most that can be in its sum
    until    REAL NOT NULL,            -- when it has yielded a sum, or never will
    state    TEXT NOT NULL CHECK (state IN ('masking', 'unmasking', 'summed', 'nothing', 'lost')),
    FOREIGN KEY (campaign, place) REFERENCES layers (campaign, place)
) STRICT;

CREATE INDEX cohorts_by_layer ON cohorts (campaign, place);
