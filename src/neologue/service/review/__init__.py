"""The review of released words."""
