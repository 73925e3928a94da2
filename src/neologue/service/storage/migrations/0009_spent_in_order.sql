-- Who was counted in a layer that is still open. PostgreSQL notes beside each row which transaction wrote it, and rows
-- lie in the order in which they came, so that these tell which serials were counted together. When the layer is over
-- they move to `spent`, all at once and in the order of their keys, and this table is emptied as a whole.
CREATE TABLE newly_spent (
    campaign    BLOB NOT NULL,
    serial      BLOB NOT NULL,
    layer_index INTEGER NOT NULL,
    PRIMARY KEY (campaign, serial)
) STRICT, WITHOUT ROWID;

-- Earlier versions left them as they came: they are written anew, in the order of their keys.
CREATE TABLE spent_in_order (
    campaign BLOB NOT NULL,
    serial   BLOB NOT NULL,
    PRIMARY KEY (campaign, serial)
) STRICT, WITHOUT ROWID;

INSERT INTO spent_in_order (campaign, serial) SELECT campaign, serial FROM spent ORDER BY campaign, serial;

DROP TABLE spent;

ALTER TABLE spent_in_order RENAME TO spent;

-- only postgresql
ALTER INDEX spent_in_order_pkey RENAME TO spent_pkey;
