"""Users and the words they hold: recorded ones, or drawn from a language's real frequencies."""
