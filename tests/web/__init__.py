"""Tests of what runs in a browser, in a real one."""
