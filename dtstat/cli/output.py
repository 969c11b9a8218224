"""What commands write to files."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from dtstat.errors import InputError
from dtstat.version import __version__


def check_writable(*files: Path | None) -> None:
    """Refuse, before any work is done, files that cannot be written."""
    for file in files:
        if file is None:
            continue
        if not file.parent.is_dir():
            raise InputError(f"Cannot write '{file}': there is no folder '{file.parent}'.")
        if file.is_dir():
            raise InputError(f"Cannot write '{file}': it is a folder. Name a file in it.")
        if not os.access(file if file.exists() else file.parent, os.W_OK):
            raise InputError(f"Cannot write '{file}': permission denied. Choose another folder.")


def write_json(file: Path, call: Mapping[str, object], content: Mapping[str, object]) -> None:
    """Write results below the version of dtstat and what was asked for."""
    document = {"dtstat": __version__, "call": call, **content}
    file.write_text(json.dumps(document, indent=1, allow_nan=False))


def plain(value: object) -> object:
    """Value that JSON knows: numbers that do not exist are null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
