"""`python -m neologue`."""

from neologue.cli import main

main(prog_name="neologue")
