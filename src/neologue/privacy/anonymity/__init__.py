"""Promises about what few people report: k-anonymity and unique words, their chances and how they are stated."""
