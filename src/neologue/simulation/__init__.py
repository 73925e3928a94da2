"""Millions of devices on one machine."""
