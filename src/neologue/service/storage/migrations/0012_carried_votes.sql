-- The votes so far of the words that the next layer asks about again: sums of whole layers, of a campaign at most once.
-- Deleted when the next layer is decided, and with the campaign's end.
CREATE TABLE carried_votes (
    campaign    BLOB PRIMARY KEY NOT NULL REFERENCES campaigns (id),
    layer_index INTEGER NOT NULL,         -- the last layer that is counted
    words       INTEGER NOT NULL,
    votes       BLOB NOT NULL             -- in the order of the next layer's candidates
) STRICT;

-- only postgresql
ALTER TABLE carried_votes ALTER COLUMN votes SET STORAGE EXTERNAL;
