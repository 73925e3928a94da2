"""The commands of a live service, of its campaigns and of its keys."""
