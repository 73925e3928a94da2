"""The messages between operators, services and devices."""
