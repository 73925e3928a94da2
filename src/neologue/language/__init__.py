"""Alphabets, words and the words already known."""
