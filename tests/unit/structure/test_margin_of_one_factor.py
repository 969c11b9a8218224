"""The margin of one set of items with its pairs, by loops."""

import numpy as np
import pytest

from dtstat.structure.margin import local_margin, local_margin_of


def by_loops(S, C, names):
    """w and o with the first pairs that attain them."""
    p = len(S)
    w, weakest = 1.0, None
    for a, i in enumerate(C):
        for j in C[a + 1 :]:
            if weakest is None or S[i, j] < w:
                w, weakest = S[i, j], (names[i], names[j])
    o, outside = 0.0, None
    for u in C:
        strongest = None
        for v in range(p):
            if v not in C and (strongest is None or S[u, v] > S[u, strongest]):
                strongest = v
        if strongest is not None and (outside is None or S[u, strongest] < o):
            o, outside = S[u, strongest], (names[u], names[strongest])
    return w, weakest, o, outside


@pytest.mark.parametrize("seed", range(60))
def test_margin_of_a_factor_by_loops(seed):
    """Rounded, so that there are ties."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 9))
    S = np.round(np.triu(rng.uniform(size=(p, p)), 1), int(rng.integers(1, 4)))
    S = S + S.T + np.eye(p)
    names = tuple(f"i{k}" for k in range(p))
    members = rng.uniform(size=p) < rng.choice([0.0, 0.3, 0.6, 1.0])
    C = np.flatnonzero(members).tolist()
    found = local_margin_of(S, members, names, "F")
    w, weakest, o, outside = by_loops(S, C, names)
    assert found.factor == "F"
    assert found.items == tuple(names[i] for i in C)
    assert (found.weakest and (found.weakest.first, found.weakest.second)) == weakest
    assert (found.outside and (found.outside.first, found.outside.second)) == outside
    assert weakest is None or found.weakest.value == w
    assert outside is None or found.outside.value == o
    assert found.value == pytest.approx((w - o) / 2, abs=1e-15)
    if C:
        assert found.value == pytest.approx(local_margin(S, members), abs=1e-15)
