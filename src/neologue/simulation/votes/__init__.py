"""The votes of many users at once: what they sample, and what their reports add up to, in their exact joint law."""
