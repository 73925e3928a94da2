"""Live campaigns: their definition, their rows in the database, and what moves them on."""
