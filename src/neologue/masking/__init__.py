"""Secure aggregation below the device and the server: terms, neighbours, shares, masks and messages.

docs/secure-aggregation.md describes the whole protocol.
"""
