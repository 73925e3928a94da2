"""Engines that read users and count over them: on the cores of one machine, or on a Ray cluster."""
