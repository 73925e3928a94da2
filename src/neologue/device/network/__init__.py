"""How a device talks to a service: over HTTP or by files that someone carries, and how it reads the answers."""
