"""What commands write to files."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path

from dtstat import checks
from dtstat.version import __version__


def check_writable(*files: Path | None) -> None:
    """Refuse, before any work is done, files that cannot be written."""
    for file in files:
        if file is not None:
            checks.writable(file)


def write_json(file: Path, call: Mapping[str, object], content: Mapping[str, object]) -> None:
    """Write results below the version of dtstat and what was asked for."""
    document = {"dtstat": __version__, "call": call, **content}
    file.write_text(json.dumps(document, indent=1, allow_nan=False))


def plain(value: object) -> object:
    """Value that JSON knows: numbers that do not exist are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
