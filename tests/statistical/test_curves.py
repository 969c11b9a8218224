"""Nonlinear item responses: against an independent estimator, and against the truth."""

import numpy as np
import pytest
import quadrature_em

import dtstat as dt
from dtstat.curves.likelihood import log_likelihood
from dtstat.curves.result import answer_reader
from dtstat.curves.spline import fit_spline
from dtstat.curves.stochastic_em import FAST, fit_network
from dtstat.factors.copula import fit_factors, latent_correlations
from dtstat.factors.scores import learn_marginals, plausible_values
from dtstat.simulation.maps import MAPS

CLOSE = 2.0  # nats, of all held-out rows together
NETWORK_CLOSE = 10.0


class Split:
    """Standardised rows to fit and to validate on, at the true structure."""

    def __init__(self, simulation, n):
        X = np.ascontiguousarray(simulation.data.to_numpy())
        Y = (X - X[:n].mean(0)) / X[:n].std(0)
        self.support = simulation.structure.support
        self.fitted, self.held = Y[:n], Y[n:]
        R = latent_correlations(dt.dependence(simulation.data.iloc[:n])).R
        start = fit_factors(R, n, self.support)
        self.rng = np.random.default_rng(0)
        self.Z = plausible_values(start, learn_marginals(X[:n]).normal_scores(X[:n]), self.rng)
        self.Phi = start.factor_correlations

    def spline(self):
        kinds = np.zeros(len(self.support), dtype=int)
        return fit_spline(self.fitted, self.support, self.Z, self.Phi, kinds, self.rng).model

    def score(self, model):
        return log_likelihood(model, self.held, self.rng, "quadrature").total


def data(d, n, seed):
    if d == 3:
        return dt.simulate("v_structure", n, seed=seed)
    return dt.simulate("clusters", n, n_factors=d, factor_correlation=0.4, seed=seed)


@pytest.mark.parametrize(("d", "seed"), [(1, 1), (2, 2), (3, 1)])
def test_splines_are_as_likely_as_exact_em(d, seed):
    split = Split(data(d, 5000 if d == 3 else 2000, seed), 4000 if d == 3 else 1200)
    exact = quadrature_em.fit(split.fitted, split.support.argmax(1), split.Phi, split.Z, 60)
    expected = quadrature_em.log_likelihood(exact, split.held, nodes=65).sum()
    found = split.score(split.spline())
    assert found > expected - CLOSE
    assert found < expected + 2 * CLOSE  # smoothing differs a little; more would be another model


def test_a_pretrained_network_is_nearly_as_likely_as_splines():
    split = Split(dt.simulate("v_structure", 5000, seed=1), 4000)
    spline = split.score(split.spline())
    found = fit_network(split.fitted, split.support, split.Z, split.Phi, split.rng, FAST)
    assert split.score(found.model) > spline - NETWORK_CLOSE


def map_r2(simulation, fit):
    """1 − E(ĝ − g)² / Var g of each item, at the factors that were drawn."""
    curves = fit.nonlinear
    read, eta = (
        answer_reader(curves.model, curves.scale),
        curves.model.predictors(simulation.latents),
    )
    fitted = np.column_stack([read(i, own) for i, own in enumerate(eta.T)])
    z = simulation.latents[:, simulation.structure.support.argmax(axis=1)]
    truth = np.column_stack([MAPS[m](z[:, i]) for i, m in enumerate(simulation.maps["map"])])
    return 1 - ((fitted - truth) ** 2).mean(axis=0) / truth.var(axis=0)


@pytest.mark.parametrize(
    ("design", "maps", "seed"),
    [
        ("v_structure", "paper", 2),  # folded at the end of a factor with too little smoothing
        ("double_mediation", "one_in_five", 3),
        ("chain", "paper", 3),
    ],
)
def test_curves_factors_and_correlations_are_recovered(design, maps, seed):
    simulation = dt.simulate(design, 5000, maps=maps, seed=seed)
    fit = dt.fit(simulation.data, structure=simulation.structure, estimator="spline", seed=1)
    r2 = map_r2(simulation, fit)
    assert r2.mean() >= 0.995
    assert r2.min() >= 0.98
    scores = fit.factor_scores(simulation.data).to_numpy()
    for score, z in zip(scores.T, simulation.latents.T, strict=True):
        assert np.corrcoef(score, z)[0, 1] >= 0.965
    gap = fit.factor_correlations.to_numpy() - simulation.factor_correlations
    assert np.abs(gap).max() <= 0.05


def test_three_hundred_rows_show_the_curves():
    r2 = []
    for seed in (1, 2):
        simulation = dt.simulate("v_structure", 300, seed=seed)
        fit = dt.fit(simulation.data, structure=simulation.structure, estimator="spline", seed=1)
        r2.append(map_r2(simulation, fit).mean())
    assert np.mean(r2) >= 0.97


@pytest.mark.parametrize(
    ("measure", "options"),
    [("spearman", {}), ("maximal", {"maps": "one_in_five"}), ("spearman", {"levels": 5})],
)
@pytest.mark.parametrize("design", ["v_structure", "chain", "double_mediation"])
def test_the_structure_is_chosen_with_curves(design, measure, options):
    simulation = dt.simulate(design, 1500, seed=3, **options)
    fit = dt.fit(simulation.data, measure=measure, estimator="spline", seed=1)
    assert dt.compare(fit.structure, simulation.structure).f1 == 1


def test_bands_hold_the_true_curves():
    """95 % bands, level and smoothing bias included: 90 % is the least that may come out."""
    inside = []
    for seed in range(1, 7):
        simulation = dt.simulate("clusters", 600, n_factors=2, factor_correlation=0.3, seed=seed)
        fit = dt.fit(simulation.data, structure=simulation.structure, estimator="spline", seed=1)
        curves = fit.response_curves().query("abs(z) < 2")
        for (item, _), own in curves.groupby(["item", "factor"]):
            row = simulation.maps.set_index("item").loc[item]
            truth = MAPS[row["map"]](own["z"].to_numpy())
            inside.append(np.mean((own["lower"] <= truth) & (truth <= own["upper"])))
    assert 0.88 < np.mean(inside) < 0.995
