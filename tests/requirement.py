"""What a test needs besides Python."""

from __future__ import annotations

import os

import pytest


def require(available: bool, what: str) -> None:
    """Skip without ``what``; fail instead when DTSTAT_REQUIRE_ALL is set, as `make test` does."""
    if available:
        return
    if os.environ.get("DTSTAT_REQUIRE_ALL"):
        pytest.fail(f"{what} is missing and DTSTAT_REQUIRE_ALL is set; run `make setup`")
    pytest.skip(f"needs {what}")
