"""An append-only log of digests that witnesses co-sign, in the formats of C2SP; only `log_source` does any I/O."""
