"""``python -m dtstat`` is the command line."""

from dtstat.cli import main

main()
