-- Groups are deleted with their layer's decision; how many there were stays, for a campaign has a most of them.
ALTER TABLE layers ADD COLUMN groups_formed INTEGER NOT NULL DEFAULT 0;

UPDATE layers SET groups_formed = (
    SELECT COUNT(*) FROM masking_groups
    WHERE masking_groups.campaign = layers.campaign AND masking_groups.layer_index = layers.layer_index
);
