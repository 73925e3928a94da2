"""HTTP: routes, messages, limits and the description of the API."""
