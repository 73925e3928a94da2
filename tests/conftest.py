"""What all tests share. That this file is here also puts tests/ on the path, for modules such as `laws`."""

from hypothesis import settings

# The same examples in every run, and no verdict that depends on how busy the machine is.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
