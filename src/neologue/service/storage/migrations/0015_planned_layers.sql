-- A layer whose slots are drawn counts a planned number of reports: those of the devices that came before its deadline,
-- and made-up ones of devices that hold nothing. How many those are is for the operator alone.
ALTER TABLE layers ADD COLUMN made_up INTEGER NOT NULL DEFAULT 0;

ALTER TABLE sums ADD COLUMN made_up INTEGER NOT NULL DEFAULT 0;

-- How many credentials were issued: not more than there are planned slots for.
ALTER TABLE campaigns ADD COLUMN credentials INTEGER NOT NULL DEFAULT 0;
