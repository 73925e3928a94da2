"""Alphabets, prefixes, and the words that are already known."""
