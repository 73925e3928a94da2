-- The ledger: what populations may spend, and what campaigns were charged to them.
CREATE TABLE ledger_populations (
    name    TEXT PRIMARY KEY NOT NULL CHECK (name <> ''),  -- nobody is in two of them
    version INTEGER NOT NULL                               -- grows with every change of its budget or charges
) STRICT;

CREATE TABLE ledger_budgets (
    number        INTEGER PRIMARY KEY AUTOINCREMENT,                    -- of a population's, the last one counts
    population    TEXT NOT NULL REFERENCES ledger_populations (name),
    unit          TEXT NOT NULL CHECK (unit IN ('item', 'user')),
    epsilon       REAL NOT NULL CHECK (epsilon > 0),                    -- central, over all campaigns
    delta         REAL NOT NULL CHECK (delta > 0 AND delta < 1),        -- over all campaigns
    local_epsilon REAL CHECK (local_epsilon > 0),                       -- of a word, added up, NULL for any
    day           INTEGER NOT NULL                                      -- since 1970-01-01, when it was set
) STRICT;

-- Written in the transaction of what it pays for: a campaign that starts, a layer that is opened, a release.
CREATE TABLE ledger_charges (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,                      -- in the order of planning
    campaign    TEXT NOT NULL UNIQUE CHECK (campaign <> ''),            -- its name, never used twice
    population  TEXT NOT NULL REFERENCES ledger_populations (name),
    state       TEXT NOT NULL CHECK (state IN ('planned', 'collecting', 'settled', 'abandoned')),
    planned     TEXT NOT NULL,                                          -- the collection that was planned, as JSON
    charged     TEXT NOT NULL,                                          -- the one that is charged for, as JSON
    planned_day INTEGER NOT NULL,                                       -- since 1970-01-01
    ended_day   INTEGER,                                                -- when it was settled or abandoned
    reference   TEXT,                                                   -- the campaign's id in hexadecimal, if it is here
    told        INTEGER NOT NULL CHECK (told IN (0, 1)),                -- whether anything decided may have been told
    -- The chances of what it shows of few people, NULL if nobody knows what it promised.
    k               INTEGER CHECK (k >= 0),                             -- of its k-anonymity, 0 for none
    chance          REAL CHECK (chance > 0 AND chance <= 1),            -- that k does not hold for a word
    unique_chance   REAL CHECK (unique_chance > 0 AND unique_chance <= 1),  -- that a word of one user is shown
    hostile_devices INTEGER CHECK (hostile_devices >= 0),               -- of a layer that unique_chance allows for
    CHECK ((k IS NULL) = (chance IS NULL)),
    CHECK ((k IS NULL) = (unique_chance IS NULL)),
    CHECK ((k IS NULL) = (hostile_devices IS NULL)),
    CHECK ((state IN ('settled', 'abandoned')) = (ended_day IS NOT NULL))
) STRICT;
