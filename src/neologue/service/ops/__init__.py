"""What an operator runs: settings, keys, access, logs, metrics, concurrency."""
