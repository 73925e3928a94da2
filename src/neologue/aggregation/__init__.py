"""Reports become sums: decoded, kept apart only in memory, added up and stored as the votes of many."""
