"""Reports come in, and are counted as sums of many."""
