from itertools import permutations

import numpy as np
import pytest

from dtstat.trust.resampling import agreement


def partners(reference, support):
    """All ways to pair factors, left-over ones with nothing: support's column, or None."""
    d, k = reference.shape[1], support.shape[1]
    slots = list(range(k)) + [None] * d
    return set(permutations(slots, d))


def hits(reference, support, pairing):
    return sum(
        int((reference[:, j] & support[:, k]).sum()) for j, k in enumerate(pairing) if k is not None
    )


def random_support(rng, p, d):
    """Factors with at least one item each."""
    support = rng.random((p, d)) < 0.4
    for k in range(d):
        support[rng.integers(p), k] = True
    return support


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_matching_is_the_best_of_all(d, k):
    rng = np.random.default_rng(10 * d + k)
    for _ in range(15):
        reference, support = random_support(rng, 7, d), random_support(rng, 7, k)
        best = max(hits(reference, support, one) for one in partners(reference, support))
        found = agreement(reference, [support])
        assert found.f1[0] == pytest.approx(2 * best / (reference.sum() + support.sum()))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 4])
def test_shares_are_those_of_a_best_matching(k):
    """Ties may be broken either way, but all numbers must be of the same way."""
    rng = np.random.default_rng(k)
    for _ in range(15):
        reference, support = random_support(rng, 7, 2), random_support(rng, 7, k)
        every = partners(reference, support)
        most = max(hits(reference, support, one) for one in every)
        best = [one for one in every if hits(reference, support, one) == most]
        found = agreement(reference, [support])
        assert any(_same(found, _by_hand(reference, support, one)) for one in best)


def _by_hand(reference, support, pairing):
    """Memberships, items, exact, jaccard for one matching; no partner without a common item."""
    p, d = reference.shape
    pairing = [
        k if k is not None and (reference[:, j] & support[:, k]).any() else None
        for j, k in enumerate(pairing)
    ]
    members, exact, jaccard = np.zeros((p, d)), np.zeros(d), np.zeros(d)
    for j, k in enumerate(pairing):
        if k is not None:
            a, b = set(np.flatnonzero(reference[:, j])), set(np.flatnonzero(support[:, k]))
            members[sorted(b), j] = 1
            exact[j] = a == b
            jaccard[j] = len(a & b) / len(a | b)
    rest = [k for k in range(support.shape[1]) if k not in pairing]
    items = [
        all(bool(members[i, j]) == reference[i, j] for j in range(d))
        and not any(support[i, k] for k in rest)
        for i in range(p)
    ]
    return members, np.array(items, dtype=float), exact, jaccard


def _same(found, hand):
    parts = (found.memberships, found.items, found.exact, found.jaccard)
    return all(np.allclose(a, b) for a, b in zip(parts, hand, strict=True))


def test_edges_need_no_matching():
    rng = np.random.default_rng(1)
    reference = random_support(rng, 6, 2)
    supports = [random_support(rng, 6, k) for k in (1, 2, 3, 2)]
    found = agreement(reference, supports)
    for i in range(6):
        for j in range(6):
            shared = np.mean([bool((s[i] & s[j]).any()) for s in supports])
            assert found.edges[i, j] == (1 if i == j else shared)


def test_shares_are_means_over_resamples():
    rng = np.random.default_rng(2)
    reference = random_support(rng, 6, 2)
    supports = [random_support(rng, 6, k) for k in (0, 1, 2, 3, 3)]
    together = agreement(reference, supports)
    single = [agreement(reference, [support]) for support in supports]
    for name in ("edges", "memberships", "items", "exact", "jaccard"):
        expected = np.mean([getattr(one, name) for one in single], axis=0)
        np.testing.assert_allclose(getattr(together, name), expected)
    assert together.f1.tolist() == [one.f1[0] for one in single]
    assert together.n_factors == {0: 1, 1: 1, 2: 1, 3: 2}


def test_the_reference_itself_with_its_factors_shuffled():
    reference = np.repeat(np.eye(3, dtype=bool), 3, axis=0)
    found = agreement(reference, [reference[:, [2, 0, 1]]] * 4)
    np.testing.assert_array_equal(found.memberships, reference)
    assert found.items.tolist() == [1] * 9
    assert found.exact.tolist() == found.jaccard.tolist() == [1] * 3
    assert found.f1.tolist() == [1] * 4


def test_a_factor_that_is_split_counts_for_its_larger_half():
    reference = np.ones((5, 1), dtype=bool)
    split = np.array([[1, 1, 1, 0, 0], [0, 0, 0, 1, 1]], dtype=bool).T
    found = agreement(reference, [split])
    assert found.memberships[:, 0].tolist() == [1, 1, 1, 0, 0]
    assert found.items.tolist() == [1, 1, 1, 0, 0]
    assert found.jaccard.tolist() == [0.6]
    assert found.f1.tolist() == [0.6]  # 2·3 / (5 + 5)


def test_a_reference_without_factors():
    none = np.zeros((4, 0), dtype=bool)
    some = np.array([[1, 1, 0, 0]], dtype=bool).T
    found = agreement(none, [none, some])
    assert found.f1.tolist() == [1, 0]
    assert found.items.tolist() == [0.5, 0.5, 1, 1]
    assert found.n_factors == {0: 1, 1: 1}
    assert found.edges[0, 1] == 0.5


def test_a_factor_that_comes_out_is_exact_next_to_a_larger_one():
    """Both share two items with the reference; the one that is the same is its partner."""
    reference = np.array([[1, 1, 0, 0]], dtype=bool).T
    larger, same = [1, 1, 1, 1], [1, 1, 0, 0]
    for columns in ([larger, same], [same, larger]):
        found = agreement(reference, [np.array(columns, dtype=bool).T])
        assert found.exact.tolist() == [1]
