"""One version everywhere. It stands in dtstat/core/about.py; other files repeat it.

python tools/version.py          check that all agree
python tools/version.py 0.2.0    write a new one; what is unreleased becomes that release
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
NUMBER = r"\d+\.\d+\.\d+"
# The first match in each file is the version of the project.
PLACES = {
    "dtstat/core/about.py": rf'(?m)^__version__ = "({NUMBER})"$',
    "CITATION.cff": rf"(?m)^version: ({NUMBER})$",
    "r-wrapper/DESCRIPTION": rf"(?m)^Version: ({NUMBER})$",
    "CHANGELOG.md": rf"(?m)^## ({NUMBER})$",
    "r-wrapper/NEWS.md": rf"(?m)^# dtstat ({NUMBER})$",
}
UNRELEASED = {
    "CHANGELOG.md": ("## Unreleased", "## {}"),
    "r-wrapper/NEWS.md": ("# dtstat (development version)", "# dtstat {}"),
}


def versions(root: Path = ROOT) -> dict[str, str]:
    """Return the version that each file gives; empty where there is none."""
    found = {}
    for file, pattern in PLACES.items():
        match = re.search(pattern, (root / file).read_text(encoding="utf-8"))
        found[file] = match[1] if match else ""
    return found


def write(new: str, root: Path = ROOT) -> None:
    """Write a new version to all files."""
    if not re.fullmatch(NUMBER, new):
        sys.exit(f"A version has three numbers, such as 0.2.0; got {new}")
    for file, pattern in PLACES.items():
        path = root / file
        text = path.read_text(encoding="utf-8")
        if file in UNRELEASED:
            old, released = UNRELEASED[file]
            if old not in text:
                sys.exit(f"{file} has no section '{old}': what is new in {new}?")
            text = text.replace(old, released.format(new), 1)
        else:
            text = re.sub(pattern, lambda m: m[0].replace(m[1], new), text, count=1)
        path.write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> None:
    """Check, or write."""
    if arguments:
        write(arguments[0])
    found = versions()
    if len(set(found.values())) != 1:
        sys.exit(f"Versions differ: {found}")
    print(f"dtstat {found['dtstat/core/about.py']} in {len(found)} files")


if __name__ == "__main__":
    main(sys.argv[1:])
