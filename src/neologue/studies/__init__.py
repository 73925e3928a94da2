"""Studies: this project's methods and those of others, on the same users and the same privacy."""
