"""Work that may take seconds says how far it is: in stages, each counted from 1 to its total."""

from itertools import pairwise

import numpy as np
import pytest

import dtstat as dt
from dtstat.dependence import spearman

NINE = dt.load_dataset("holzinger_swineford_9")


def stages(call):
    """Totals of the stages that a call went through, once each is seen to be counted in full."""
    seen = []
    call(lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 1
    for (done, total), (following, following_total) in pairwise(seen):
        goes_on = (following, following_total) == (done + 1, total)
        assert goes_on or (done == total and following == 1), (done, total, following)
    assert seen[-1][0] == seen[-1][1]
    return [total for done, total in seen if done == total]


def stop(done, total):
    raise KeyboardInterrupt


def test_certify_counts_cliques_draws_and_splits(monkeypatch):
    monkeypatch.setattr("dtstat.trust.contrasts._CHUNK", 20 * 301)
    found = stages(lambda progress: dt.certify(NINE, n_draws=50, seed=1, progress=progress))
    claims = len(dt.certify(NINE, n_draws=20, seed=1).members)
    assert found[-3:] == [claims, 3, 3]  # claims, blocks of 20 draws, splits


def test_a_diagnosis_counts_its_certificate_too():
    fit = dt.fit(NINE)
    found = stages(lambda progress: dt.diagnose(fit, NINE, 2, seed=1, progress=progress))
    assert found[0] == 2
    assert found[-1] == 3


def test_a_fit_counts_from_its_first_ranks_to_the_search_for_other_dependence(monkeypatch):
    monkeypatch.setattr(spearman, "_BLOCK", 2 * len(NINE))
    found = stages(lambda progress: dt.fit(NINE, progress=progress))
    assert (found[0], found[-1]) == (5, 9)  # blocks of two items, and items


def test_a_report_counts_its_parts_and_levels(tmp_path):
    fit = dt.fit(NINE)
    found = stages(lambda progress: fit.report(tmp_path / "a.html", progress=progress))
    assert found == [6, len(fit.levels[fit.levels["n_factors"] <= fit.supported + 1])]
    nothing = dt.fit(np.random.default_rng(3).normal(size=(150, 8)))
    assert stages(lambda progress: nothing.report(tmp_path / "b.html", progress=progress)) == [4]


def test_a_document_counts_its_parts(tmp_path):
    pytest.importorskip("docx")
    fit = dt.fit(NINE)
    (parts,) = stages(lambda progress: fit.report(tmp_path / "a.docx", progress=progress))
    assert parts > 20  # headings, paragraphs, tables


def test_interrupting_ends_the_call(tmp_path):
    fit, page = dt.fit(NINE), tmp_path / "a.html"
    calls = (
        lambda: dt.certify(NINE, progress=stop),
        lambda: dt.fit(NINE, progress=stop),
        lambda: fit.report(page, progress=stop),
    )
    for call in calls:
        with pytest.raises(KeyboardInterrupt):
            call()
    assert not page.exists()
