"""Benchmarks of everything, side by side with peers; `make bench` runs them, docs/benchmarks.md explains them."""
