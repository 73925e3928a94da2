"""Everything that people see in a browser, and the device that lives in one."""
