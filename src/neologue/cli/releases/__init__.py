"""The commands on what was released."""
