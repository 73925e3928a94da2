-- Columns and a table get the names that the code has for them.
ALTER TABLE layers RENAME COLUMN place TO layer_index;

ALTER TABLE layers RENAME COLUMN cohort TO layer_size;

ALTER TABLE sums RENAME COLUMN place TO layer_index;

ALTER TABLE cohorts RENAME COLUMN place TO layer_index;

ALTER TABLE cohorts RENAME TO masking_groups;

UPDATE layers SET facts = replace(facts, '"passage":', '"pass_number":') WHERE facts IS NOT NULL;
