-- Places of open layers that are kept for invited devices, in blocks. Of a device there is nothing here.
-- Deleted when the layer is decided.
CREATE TABLE place_blocks (
    campaign    BLOB NOT NULL,
    layer_index INTEGER NOT NULL,
    number      INTEGER NOT NULL,      -- from 1; tickets name it
    places      INTEGER NOT NULL CHECK (places >= 0),  -- those that no report has taken yet
    until       REAL NOT NULL,         -- when those that are left are free again
    PRIMARY KEY (campaign, layer_index, number),
    FOREIGN KEY (campaign, layer_index) REFERENCES layers (campaign, layer_index)
) STRICT, WITHOUT ROWID;
