"""The command line: ``app`` gathers the commands, ``options`` has what they share.

Bad input ends with one sentence.
"""

from dtstat.cli.app import app, main

__all__ = ["app", "main"]
