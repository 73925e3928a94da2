"""The log of a service: what was done, for everybody to check."""
