"""Users and the words they hold: recorded ones, or ones drawn from a language's real frequencies."""
