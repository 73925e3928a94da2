"""The intake of reports: what devices are invited to, and how their reports are counted."""
