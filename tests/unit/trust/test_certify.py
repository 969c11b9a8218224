"""Certificates: contrasts by hand, claims by brute force, the counting theorem on all subsets."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import dtstat as dt
from dtstat.core.errors import InputError
from dtstat.dependence.influence import pair_influences
from dtstat.structure.barcode import barcode
from dtstat.trust.certificates import Claim, claim_errors, n_witnesses, separated_claims
from dtstat.trust.contrasts import PairErrors


def clusters(n, rng, d=3, k=3, loading=0.8, phi=0.2):
    Phi = np.full((d, d), phi)
    np.fill_diagonal(Phi, 1)
    Z = rng.multivariate_normal(np.zeros(d), Phi, n, method="cholesky")
    noise = rng.standard_normal((n, d * k))
    return loading * np.repeat(Z, k, axis=1) + np.sqrt(1 - loading**2) * noise


def errors_of(X):
    R = np.corrcoef(X.T)
    influence = pair_influences(X, ["continuous"] * X.shape[1], "pearson", R)
    return R, PairErrors.of(R, influence, len(X))


def tail_by_hand(X, a, b):
    """One contrast, both signs of the smaller one, from the definition."""

    def one(i, j):
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        r = float((Z[:, i] * Z[:, j]).mean())
        influence = Z[:, i] * Z[:, j] - r * (Z[:, i] ** 2 + Z[:, j] ** 2) / 2
        return np.arctanh(r), influence / (1 - r**2)

    (za, Ja), (zb, Jb) = one(*a), one(*b)
    n, tails = len(X), []
    for g in (1, -1):
        D = np.sign(za) * Ja - g * Jb
        t = (abs(za) - g * zb) / np.sqrt((D**2).mean() / (n - 1))
        tails.append(stats.t.sf(t, 2 * (n - 1) / (stats.kurtosis(D, fisher=False) - 1)))
    return max(tails)


def test_contrasts_are_those_of_the_definition():
    X = clusters(150, np.random.default_rng(1), phi=0.5)
    X[:, 4] *= -1
    _, errors = errors_of(X)
    larger, smaller = [(0, 1), (3, 4), (0, 8)], [(0, 5), (4, 7), (1, 2)]
    found = errors.tails(*(np.array([errors.place[a] for a in part]) for part in (larger, smaller)))
    by_hand = [[tail_by_hand(X, a, b) for b in smaller] for a in larger]
    np.testing.assert_allclose(found, by_hand, rtol=1e-8)


def test_a_correlation_of_much_larger_error_is_not_compared():
    rng = np.random.default_rng(2)
    X = clusters(3000, rng, d=1, k=3, loading=0.9)
    X[rng.uniform(size=3000) < 0.97, 0] = np.nan  # the pairs of item 0 have 90 rows
    frame = pd.DataFrame(X, columns=list("abc"))
    R = frame.corr().to_numpy()
    influence = pair_influences(X, ["continuous"] * 3, "pearson", R)
    errors = PairErrors.of(R, influence, len(X))
    assert errors.tails(np.array([0]), np.array([2]))[0, 0] == 1.0  # ab against bc
    assert errors.tails(np.array([2]), np.array([0]))[0, 0] < 1.0


def all_claims(p, smallest):
    for size in range(smallest, p):
        for C in itertools.combinations(range(p), size):
            yield from ((C, u) for u in C)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("smallest", [2, 3])
def test_every_false_claim_has_a_witness_among_the_counted(ties, smallest):
    """The theorem behind the error: brute force over all sets of up to six items."""
    rng = np.random.default_rng(3)
    for p in (4, 5, 6):
        for _ in range(30):
            S = rng.integers(0, 6, (p, p)) / 6 if ties else rng.uniform(size=(p, p))
            S = np.triu(S, 1) + np.triu(S, 1).T
            witnesses = set()
            for u in range(p):
                order = sorted((v for v in range(p) if v != u), key=lambda v: S[u, v])
                for low, high in itertools.pairwise(order):
                    witnesses.add(((u, low), (u, high)))
                for cut in range(1, p - smallest + 1):
                    C, b = [u, *order[cut:]], order[cut - 1]
                    i, j = min(itertools.combinations(C, 2), key=lambda ij: S[ij])
                    if S[i, j] <= S[u, b]:
                        witnesses.add(((i, j), (u, b)))
            assert len(witnesses) <= n_witnesses(p, smallest) - 2
            assert all(S[a] <= S[b] for a, b in witnesses)
            known = {(frozenset(a), frozenset(b)) for a, b in witnesses}
            for C, u in all_claims(p, smallest):
                contrasts = [
                    (frozenset(pair), frozenset((u, v)))
                    for pair in itertools.combinations(C, 2)
                    for v in set(range(p)) - set(C)
                ]
                holds = all(S[tuple(a)] > S[tuple(b)] for a, b in contrasts)
                assert holds or known & set(contrasts)


def test_claims_are_found_by_brute_force():
    X = clusters(120, np.random.default_rng(4), d=2, k=3, phi=0.3)
    R, errors = errors_of(X)
    bars = barcode(R, tuple("abcdef"), 3)
    found = claim_errors(bars, errors, 3)
    expected = {}
    for C, u in all_claims(6, 3):
        pairs = list(itertools.combinations(C, 2))
        outside = [(u, v) for v in range(6) if v not in C]
        tail = max(tail_by_hand(X, a, b) for a in pairs for b in outside)
        if n_witnesses(6, 3) * tail < 1:
            expected[C, u] = n_witnesses(6, 3) * tail
    seen = {
        (tuple(np.flatnonzero(members).tolist()), int(u)): float(found[k, u])
        for k, members in enumerate(bars.members)
        for u in np.flatnonzero(found[k] < 1)
        if not members.all()
    }
    assert seen == pytest.approx(expected)
    assert len(seen) >= 4


def test_items_of_one_factor_are_never_separated():
    """Whatever the loadings: true claims of a one-factor population never separate."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        loadings = rng.uniform(0.1, 1, 6)
        S = np.outer(loadings, loadings)
        np.fill_diagonal(S, 1)
        bars = barcode(S, tuple("abcdef"), 2)
        claims = [Claim(k, int(u)) for k in range(len(bars)) for u in bars.unique_sets[k]]
        assert len(separated_claims(bars.members, claims)) <= 1


def test_disjoint_cliques_separate_and_nested_ones_do_not():
    members = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0]], dtype=bool)
    apart = separated_claims(members, [Claim(0, 0), Claim(1, 3), Claim(2, 0)])
    assert apart == [Claim(0, 0), Claim(1, 3)]
    pairs = np.array([[1, 1, 0], [0, 1, 1]], dtype=bool)  # each has one own item, the unique member
    assert len(separated_claims(pairs, [Claim(0, 0), Claim(1, 2)])) == 1


def test_clear_factors_are_certified_and_nothing_else():
    rng = np.random.default_rng(6)
    for kind in ("plain", "gaps", "ratings"):
        X = clusters(1500, rng)
        if kind == "gaps":
            X[rng.uniform(size=X.shape) < 0.1] = np.nan
        if kind == "ratings":
            X = np.digitize(X, [-1.5, -0.5, 0.5, 1.5]).astype(float)
        found = dt.certify(X, seed=1)
        sure = {frozenset(np.flatnonzero(one).tolist()) for one in found.members[found.certified]}
        assert {frozenset(range(3 * k, 3 * k + 3)) for k in range(3)} <= sure
        # Ranks of ratings say nothing about separation.
        assert found.n_separated == (0 if kind == "ratings" else 3)


def test_no_factor_no_certificate():
    X = np.random.default_rng(7).standard_normal((200, 12))
    found = dt.certify(X, seed=1)
    assert not found.certified.any()
    assert found.n_separated == 0
    assert "0 of" in repr(found)


@pytest.mark.parametrize("measure", ["pearson", "spearman", "kendall", "mixed"])
def test_signs_and_order_do_not_matter(measure):
    X = clusters(300, np.random.default_rng(8), d=2, k=3)
    turned = X[:, ::-1] * np.array([1, -1, 1, 1, -1, -1])
    straight, other = (dt.certify(data, measure=measure, seed=1) for data in (X, turned))
    one = {tuple(m): e for m, e in zip(straight.members.tolist(), straight.errors, strict=True)}
    for members, errors in zip(other.members, other.errors, strict=True):
        np.testing.assert_allclose(errors[::-1], one[tuple(members[::-1].tolist())], rtol=1e-6)


def test_the_band_covers_all_correlations_at_once():
    """90 % nominal, 100 sets of 9 items: at most three standard errors below."""
    rng = np.random.default_rng(9)
    Sigma = 0.64 * np.kron(np.full((3, 3), 0.2) + 0.8 * np.eye(3), np.ones((3, 3)))
    np.fill_diagonal(Sigma, 1)
    covered = 0
    for k in range(100):
        found = dt.certify(
            clusters(150, rng), error=0.1, measure="pearson", n_draws=300, n_splits=0, seed=k
        )
        covered += bool(((found.lower <= Sigma) & (Sigma <= found.upper)).all())
    assert covered >= 100 * 0.9 - 3 * np.sqrt(100 * 0.09)


def test_factors_asked_about_are_certified_open_or_refuted():
    X = pd.DataFrame(clusters(1500, np.random.default_rng(10)), columns=list("abcdefghi"))
    keys = {"right": ["a", "b", "c"], "wrong": ["d", "e", "g"], "part": ["f", "h", "i"]}
    found = dt.certify(X, structure=keys, seed=1)
    verdicts = dict(zip(found.factors["factor"], found.factors["verdict"], strict=True))
    assert verdicts == {"right": "certified", "wrong": "refuted", "part": "refuted"}
    fit = dt.fit(X)
    about = dt.certify(X, structure=fit, seed=1).factors
    assert (about["verdict"] == "certified").all()
    assert about["unique_children"].map(len).min() > 0


def test_a_matrix_is_taken_for_normal_rows():
    X = clusters(2000, np.random.default_rng(11))
    rows = dt.certify(X, measure="pearson", seed=1)
    matrix = dt.certify(dt.dependence(X, "pearson"), seed=1)
    assert not matrix.from_rows
    assert (matrix.certified == rows.certified).all()
    np.testing.assert_allclose(matrix.lower, rows.lower, atol=0.02)
    assert "as if the rows were normal" in repr(matrix)


def test_saved_and_loaded(tmp_path):
    keys = {"textual": ["x4", "x5", "x6"], "speed": ["x7", "x8", "x9"]}
    found = dt.certify(dt.load_dataset("holzinger_swineford_9"), structure=keys, seed=1)
    found.save(tmp_path / "c.dtstat")
    again = dt.load(tmp_path / "c.dtstat")
    assert repr(again) == repr(found)
    pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
    pd.testing.assert_frame_equal(again.factors, found.factors)


def test_words_tables_and_picture():
    found = dt.certify(dt.load_dataset("holzinger_swineford_9"), seed=1)
    assert "at most 5 %" in repr(found)
    assert "x4 x5 x6" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.glance().loc[0, "n_certified"] == found.to_frame()["certified"].sum()
    assert len(found.tidy()) == found.members.size
    assert found.list_items(found.item_names) == "all items"
    ax = found.plot(max_bars=5)
    assert len(ax.get_yticklabels()) == 5


def test_refusals():
    X = clusters(100, np.random.default_rng(12))
    with pytest.raises(InputError, match="errors are known"):
        dt.certify(X, measure="distance")
    with pytest.raises(InputError, match=r"at least 20 rows; got 15"):
        dt.certify(X[:15])
    with pytest.raises(InputError, match="at least 3 items"):
        dt.certify(X[:, :2])
    with pytest.raises(InputError, match=r"at most 0\.2"):
        dt.certify(X, error=0.3)
    with pytest.raises(InputError, match="structure=fit"):
        dt.certify(dt.fit(X))
    with pytest.raises(InputError, match="Give the answers"):
        dt.certify(dt.DependenceMatrix.from_matrix(np.eye(4), measure="polychoric", n_obs=99))


def test_a_diagnosis_says_which_factors_are_certified():
    nine = dt.load_dataset("holzinger_swineford_9")
    fit = dt.fit(nine)
    diagnosis = dt.diagnose(fit, nine, n_boot=2, seed=1)
    alone = dt.certify(nine, structure=fit, min_children=2, seed=1)
    pd.testing.assert_frame_equal(diagnosis.certificate.to_frame(), alone.to_frame())
    line = next(one for one in str(diagnosis.summary()).splitlines() if "Certified" in one)
    textual = next(k for k in fit.factor_names if fit.structure.children(k) == ("x4", "x5", "x6"))
    assert f"{textual} (error at most 5 % for all)" in line
    assert f"at least {alone.at_least} factors" in line
    assert dt.diagnose(fit).certificate is None
    distance = dt.fit(nine, measure="distance")
    assert dt.diagnose(distance, nine, n_boot=2, seed=1).certificate is None


def test_guarantees_are_the_lipschitz_argument():
    X = clusters(6000, np.random.default_rng(13), d=2, k=3)
    found = dt.certify(X, measure="kendall", guarantee=True, n_splits=0, seed=1)
    sure = {tuple(np.flatnonzero(one).tolist()) for one in found.members[found.certified]}
    assert {(0, 1, 2), (3, 4, 5)} <= sure
    tau = np.abs(dt.dependence(X, "kendall").values)
    bound = dt.Bound.of("kendall")
    row = next(k for k, one in enumerate(found.members) if one[:3].all() and one.sum() == 3)
    weakest = min(tau[0, 1], tau[0, 2], tau[1, 2])
    for u in range(3):
        by_hand = 15 * bound(6000, (weakest - tau[u, 3:].max()) / 2)
        assert found.errors[row, u] == pytest.approx(by_hand, rel=1e-9)
    half = (found.upper - found.lower)[0, 1] / 2
    assert 15 * bound(6000, half) <= 0.05 < 15 * bound(6000, half - 2e-6)
    assert "any number of rows" in repr(found)
    with pytest.raises(InputError, match="with ties"):
        dt.certify(np.round(X), measure="kendall", guarantee=True)
    with pytest.raises(InputError, match="'mixed', and there is none"):
        dt.certify(X, measure="mixed", guarantee=True)


def test_levels_of_a_fit_count_its_factors_by_verdict():
    X = pd.DataFrame(clusters(1500, np.random.default_rng(5))).add_prefix("x")
    fit = dt.fit(X)
    found = dt.certify(X, structure=fit, seed=1, n_draws=200)
    levels = found.levels
    assert levels["n_factors"].tolist() == list(range(1, len(fit.tree) + 1))
    for k in range(1, len(fit.tree) + 1):
        asked = dt.certify(X, structure=fit.level(k).structure, seed=1, n_draws=200)
        verdicts = asked.factors["verdict"].value_counts()
        row = levels.iloc[k - 1]
        for verdict in ("certified", "open", "refuted"):
            assert row[verdict] == verdicts.get(verdict, 0), (k, verdict)
        assert row["possible"] == (k >= found.at_least and not row["refuted"])
    three = levels.iloc[2]
    assert three["certified"] == 3
    assert three["possible"]
    assert not levels.iloc[:2]["possible"].any()


def test_a_level_is_excluded_where_a_factor_mixes_two_strong_pairs():
    """Items 0, 1 and 2, 3 are close pairs; 0 with 2 and 1 with 3 are refuted as factors."""
    rng = np.random.default_rng(2)
    Z = rng.standard_normal((2000, 2))
    X = pd.DataFrame(Z[:, [0, 0, 1, 1]] + 0.4 * rng.standard_normal((2000, 4)))
    X.columns = list("abcd")
    mixed = {"F": ["a", "c"], "G": ["b", "d"]}
    found = dt.certify(X, structure=mixed, seed=1, min_children=2, n_draws=200)
    assert found.factors["verdict"].tolist() == ["refuted", "refuted"]
    assert list(found.levels) == ["n_factors", "rejected", "error"]


def test_levels_are_drawn_and_kept_in_a_file(tmp_path):
    X = pd.DataFrame(clusters(600, np.random.default_rng(5))).add_prefix("x")
    found = dt.certify(X, structure=dt.fit(X), seed=1, n_draws=100)
    ax = found.plot("levels")
    heights = sum(bar.get_height() for bars in ax.containers for bar in bars)
    assert heights == found.levels["n_factors"].sum()
    found.save(tmp_path / "found.dtstat")
    pd.testing.assert_frame_equal(dt.load(tmp_path / "found.dtstat").levels, found.levels)
    without = dt.certify(X, seed=1, n_draws=100)
    with pytest.raises(InputError, match="no levels to draw"):
        without.plot("levels")


def test_ranks_of_ratings_with_unlike_distributions_do_not_separate_one_factor():
    """Half of the items are skewed to the left, half to the right: within halves they tie more."""
    rng = np.random.default_rng(9)
    n, cuts = 5000, np.quantile(rng.standard_normal(100_000), [0.6, 0.8, 0.9, 0.96])
    Z = 0.8 * rng.standard_normal((n, 1)) + 0.6 * rng.standard_normal((n, 8))
    X = np.digitize(Z * np.repeat([1, -1], 4), cuts).astype(float)
    found = dt.certify(X, seed=1, n_draws=50, n_splits=0)
    assert found.certified.sum() > 1
    assert found.n_separated == 0
    assert dt.certify(X, measure="polychoric", seed=1, n_draws=50, n_splits=0).n_separated <= 1


@pytest.mark.parametrize(("measure", "model"), [("pearson", "the items follow"), (None, "normal")])
def test_the_bound_on_the_number_names_its_model(measure, model):
    X = clusters(400, np.random.default_rng(3))
    assert model in repr(dt.certify(X, measure=measure, seed=1, n_draws=20))
