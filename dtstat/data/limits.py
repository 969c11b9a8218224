"""How much a packed file may unpack to: enough for any survey, too little to fill the memory.

At most ``MOST_BYTES`` (4 GB), and at most ``MOST_RATIO`` (200) times the size of the file once
that is beyond ``FREE_BYTES`` (64 MB): honest tables and results stay far below. To read something
larger set ``dtstat.data.limits.MOST_BYTES``.
"""

from __future__ import annotations

MOST_BYTES = 4 * 1024**3
MOST_RATIO = 200
FREE_BYTES = 64 * 1024**2


class TooLargeError(ValueError):
    """A file would unpack to more than is allowed."""


def allowed_bytes(n_bytes: int) -> int:
    """Return how many bytes a file of this size may unpack to."""
    return min(MOST_BYTES, max(FREE_BYTES, MOST_RATIO * n_bytes))


def check_unpacked(n_bytes: int, unpacked: int) -> None:
    """Refuse a file that unpacks to more than is allowed."""
    allowed = allowed_bytes(n_bytes)
    if unpacked > allowed:
        raise TooLargeError(
            f"{n_bytes} bytes unpack to {unpacked} or more, and {allowed} are allowed; raise "
            "dtstat.data.limits.MOST_BYTES if that is right"
        )
