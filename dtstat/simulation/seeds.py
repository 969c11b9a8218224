"""Seeds: every simulation can be repeated from one whole number."""

from __future__ import annotations

import numpy as np

from dtstat import checks

Seed = int | np.random.SeedSequence | np.random.Generator | None

# The seeds chosen here are exact in a double, so that R can hold them.
_SEED_BITS = 53


def seed_number(seed: Seed) -> int:
    """Return the whole number that stands for ``seed``.

    A number stands for itself and None for a fresh one. A Generator gives its next number (and
    so advances); a SeedSequence always gives the same.
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**_SEED_BITS))
    if seed is None:
        seed = np.random.SeedSequence()
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0]) >> (64 - _SEED_BITS)
    advice = "Use a whole number, a numpy Generator or SeedSequence, or None."
    return checks.integer("seed", seed, 0, advice, at_most=None)


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent generators, the same for the same seed."""
    return [np.random.default_rng(s) for s in np.random.SeedSequence(seed).spawn(count)]
