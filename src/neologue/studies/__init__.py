"""Studies that compare this project's methods with others, on the same users and with the same privacy."""
