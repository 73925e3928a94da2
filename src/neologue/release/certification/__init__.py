"""Certification: whether a release is covered by its facts, and its facts by what was asked."""
