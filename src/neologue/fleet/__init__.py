"""Many real clients that talk to a real service."""
