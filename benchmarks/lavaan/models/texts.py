"""Model texts that several parts of the catalog share."""

from __future__ import annotations

import numpy as np

HS = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6\nspeed =~ x7 + x8 + x9"
TWO = "visual =~ x1 + x2 + x3\ntextual =~ x4 + x5 + x6"
ONE = "visual =~ x1 + x2 + x3 + x4"
DEMOCRACY = """ind60 =~ x1 + x2 + x3
dem60 =~ y1 + y2 + y3 + y4
dem65 =~ y5 + y6 + y7 + y8
dem60 ~ ind60
dem65 ~ ind60 + dem60"""
ERRORS = "y1 ~~ y5\ny2 ~~ y4 + y6\ny3 ~~ y7\ny4 ~~ y8\ny6 ~~ y8"
GROWTH = "i =~ 1*t1 + 1*t2 + 1*t3 + 1*t4\ns =~ 0*t1 + 1*t2 + 2*t3 + 3*t4"


def scales(prefix: str, factors: int, items: int = 4) -> str:
    """Write factors of so many items each, in order: F1 =~ y1 + y2 + ..."""
    names = [f"{prefix}{k + 1}" for k in range(factors * items)]
    rows = (names[k * items : (k + 1) * items] for k in range(factors))
    return "\n".join(f"F{k + 1} =~ {' + '.join(row)}" for k, row in enumerate(rows))


def random_model(seed: int, prefix: str, n_items: int = 16, extras: bool = True) -> str:
    """Draw a model: factors of three or four items, and what ``extras`` stands for.

    That is some of: cross-loadings, residual covariances, equal loadings, regressions, predictors.
    """
    rng = np.random.default_rng(seed)
    items = [f"{prefix}{k + 1}" for k in range(n_items)]
    factors = int(rng.integers(2, 5))
    blocks = [list(items[4 * k : 4 * k + int(rng.integers(3, 5))]) for k in range(factors)]
    loadings = [[str(item) for item in block] for block in blocks]
    if extras and rng.random() < 0.4:  # equal loadings of one factor
        k = int(rng.integers(factors))
        loadings[k][1:3] = [f"a*{item}" for item in loadings[k][1:3]]
    if extras and rng.random() < 0.4:
        loadings[1].append(blocks[0][-1])
    lines = [f"F{k + 1} =~ {' + '.join(row)}" for k, row in enumerate(loadings)]
    if extras and rng.random() < 0.5:
        first, second = blocks[0][int(rng.integers(1, 3))], blocks[-1][int(rng.integers(1, 3))]
        lines.append(f"{first} ~~ {second}")
    kind = rng.integers(4) if extras else 0
    if kind == 1:
        lines.append(f"F{factors} ~ F1")
    elif kind == 2:
        lines.append("F1 ~ z + w\nF2 ~ F1 + z")
    elif kind == 3:
        lines.append(f"F2 ~ F1\nF{factors} ~ z" if factors > 2 else "F2 ~ F1 + z")
    return "\n".join(lines)
