"""Groups of devices that mask their votes for each other."""
