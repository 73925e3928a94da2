"""What a device keeps on its own disk: typed words, what it was told, what it has spent, and the log it has seen."""
