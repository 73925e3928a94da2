"""What an operator runs: settings, keys, access, logs, metrics, threads and checks."""
