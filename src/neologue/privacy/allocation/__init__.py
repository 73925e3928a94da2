"""Amplification by random allocation: what a release shows if nobody knows in which layer a user was."""
