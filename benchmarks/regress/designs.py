"""Three factors of four items, two covariates and an outcome, with known coefficients.

    F2 = .3 a + .4 g + e₂,   F1 = .2 a + .5 g + .4 F2 + e₁,   y = .5 F1 + .3 F2 + .2 a + e₃

with a normal, g the mark of 30 % of the people, e₁ and e₂ normal, e₃ exponential, and factors of
variance 1; F3 correlates with both by way of F2.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

SHARE = 0.3
LOADINGS = (0.8, 0.7, 0.6, 0.5)
KEYS = {f"F{k + 1}": [f"{name}{j + 1}" for j in range(4)] for k, name in enumerate("abc")}
CUTS = {
    "five-point": [[-1.2, -0.4, 0.4, 1.2]],
    "skewed five-point": [[0.2, 0.8, 1.3, 1.8]],
    "yes/no": [[-0.5], [0.0], [0.5], [1.0]],
}
ANSWERS = ("normal", *CUTS)
TRUTH = {
    "F1 ~ age + C(group) + F2": {"age": 0.2, "C(group)[T.1]": 0.5, "F2": 0.4},
    "wage ~ F1 + F2 + age": {"F1": 0.5, "F2": 0.3, "age": 0.2},
}


def draw(n: int, answers: str, rng: np.random.Generator) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw a survey of n people, and their factors."""
    v = SHARE * (1 - SHARE)
    a, g = rng.standard_normal(n), (rng.random(n) < SHARE).astype(float)
    e1, e2, e3 = rng.standard_normal((3, n))
    F2 = 0.3 * a + 0.4 * (g - SHARE) + np.sqrt(1 - 0.3**2 - 0.4**2 * v) * e2
    # Var(.2 a + .5 g + .4 F2), with Cov(a, F2) = .3 and Cov(g, F2) = .4 v
    known = 0.2**2 + 0.5**2 * v + 0.4**2 + 2 * 0.4 * (0.2 * 0.3 + 0.5 * 0.4 * v)
    F1 = 0.2 * a + 0.5 * (g - SHARE) + 0.4 * F2 + np.sqrt(1 - known) * e1
    F3 = 0.5 * F2 + np.sqrt(1 - 0.25) * e3
    y = 0.5 * F1 + 0.3 * F2 + 0.2 * a + 0.7 * (rng.exponential(size=n) - 1)
    F = np.column_stack([F1, F2, F3])
    columns = {}
    for k, names in enumerate(KEYS.values()):
        for j, (name, loading) in enumerate(zip(names, LOADINGS, strict=True)):
            x = loading * F[:, k] + np.sqrt(1 - loading**2) * rng.standard_normal(n)
            if answers != "normal":
                x = np.digitize(x, CUTS[answers][j % len(CUTS[answers])]).astype(float)
            columns[name] = x
    return pd.DataFrame(columns | {"age": a, "group": g.astype(int), "wage": y}), F
