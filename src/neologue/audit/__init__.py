"""Attacks on the real device code, and the ε that they prove."""
