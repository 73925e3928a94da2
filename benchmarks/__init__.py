"""What everything costs, measured side by side; `make bench` runs it, docs/benchmarks.md says how to read it."""
