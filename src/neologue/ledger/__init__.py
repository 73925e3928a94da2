"""What populations have spent over their campaigns, and whether the next one may be spent too."""
