-- Serials whose masked votes may have been seen in a sum that is not counted: no group takes votes of them again. From
-- the moment that shares of their group are asked for; counted, they move to the spent ones. Deleted with the campaign's
-- end.
CREATE TABLE void_serials (
    campaign BLOB NOT NULL,
    serial   BLOB NOT NULL,
    PRIMARY KEY (campaign, serial)
) STRICT, WITHOUT ROWID;

-- How many groups have missed a device. Deleted with the campaign's end.
CREATE TABLE group_strikes (
    campaign BLOB NOT NULL,
    serial   BLOB NOT NULL,
    strikes  INTEGER NOT NULL CHECK (strikes > 0),
    PRIMARY KEY (campaign, serial)
) STRICT, WITHOUT ROWID;

ALTER TABLE layers ADD COLUMN groups_refused INTEGER NOT NULL DEFAULT 0;

-- A group may be refused because of its sum.
CREATE TABLE groups_with_refused (
    id          BLOB PRIMARY KEY NOT NULL,
    campaign    BLOB NOT NULL,
    layer_index INTEGER NOT NULL,
    terms       BLOB NOT NULL,            -- what its devices were told
    devices     INTEGER NOT NULL,         -- the most that can be in its sum
    until       REAL NOT NULL,            -- when it has yielded a sum, or never will
    state       TEXT NOT NULL CHECK (state IN ('masking', 'unmasking', 'summed', 'refused', 'nothing', 'lost')),
    FOREIGN KEY (campaign, layer_index) REFERENCES layers (campaign, layer_index)
) STRICT;

INSERT INTO groups_with_refused SELECT id, campaign, layer_index, terms, devices, until, state FROM masking_groups;

DROP TABLE masking_groups;

ALTER TABLE groups_with_refused RENAME TO masking_groups;

CREATE INDEX masking_groups_by_layer ON masking_groups (campaign, layer_index);
