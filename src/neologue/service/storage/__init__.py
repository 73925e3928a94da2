"""The databases of the service, their tables, and what is kept of reports."""
