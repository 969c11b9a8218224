"""``python -m dtstat`` is the command line."""

from dtstat.cli.app import main

main()
