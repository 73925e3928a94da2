"""The commands that find words, and what they share."""
