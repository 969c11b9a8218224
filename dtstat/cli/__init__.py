"""The command line, one module a command or group of commands.

``app`` gathers the commands and ends bad input with one sentence; ``options`` has what commands
share on the way in, ``output`` what they share on the way out.
"""

from dtstat.cli.app import app, main

__all__ = ["app", "main"]
