"""How sure labels are, how stable clusters are, and when they are no better than chance."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score

import scutc
from conftest import make_groups
from scutc import UTC
from scutc.core.confidence import agree_beyond_chance, cross_table, silhouettes, stability


def test_silhouettes_follow_the_formula():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(30, 4)), rng.integers(3, size=30)
    centers = [points[labels == label].mean(axis=0) for label in range(3)]
    expected = []
    for point, label in zip(points, labels, strict=True):
        own = np.linalg.norm(point - centers[label])
        other = min(np.linalg.norm(point - centers[each]) for each in range(3) if each != label)
        expected.append((other - own) / max(own, other))
    np.testing.assert_allclose(silhouettes(points, labels, 3), expected)
    np.testing.assert_allclose(silhouettes(points, labels, 5), expected)  # two of which have no cells


def test_a_cell_that_is_a_cluster_by_itself_has_no_silhouette():
    points = np.array([[0.0], [1.0], [5.0]])
    np.testing.assert_allclose(silhouettes(points, np.array([0, 0, 1]), 2), [(5 - 0.5) / 5, (4 - 0.5) / 4, 0.0])


def test_silhouettes_of_one_cluster_and_of_points_that_coincide_are_zero():
    np.testing.assert_array_equal(silhouettes(np.random.default_rng(0).random((5, 2)), np.zeros(5, int), 1), 0.0)
    np.testing.assert_array_equal(silhouettes(np.zeros((4, 2)), np.array([0, 0, 1, 1]), 2), 0.0)


def test_a_cross_table_counts_cells():
    first, second = np.array([0, 0, 1, 2, 2, 2]), np.array([1, 1, 0, 0, 1, 1])
    np.testing.assert_array_equal(cross_table(first, second), [[0, 2], [1, 0], [1, 2]])


def test_stability_is_the_mean_of_the_best_overlaps():
    labels = np.array([0, 0, 0, 0, 1, 1])
    same, split = labels, np.array([0, 0, 2, 2, 1, 1])
    mixed = np.array([0, 0, 0, 1, 1, 1])
    np.testing.assert_allclose(stability(labels, [same], 2), [1.0, 1.0])
    np.testing.assert_allclose(stability(labels, [same, split], 2), [0.75, 1.0])
    np.testing.assert_allclose(stability(labels, [mixed], 2), [3 / 4, 2 / 3])


def test_stability_of_a_cluster_that_was_not_looked_at_is_missing():
    np.testing.assert_array_equal(stability(np.array([0, 0, 2]), [np.array([1, 1, 0])], 3), [1.0, np.nan, 1.0])


def test_halves_agree_beyond_chance_or_not():
    rng = np.random.default_rng(0)
    labels = rng.integers(4, size=60)
    assert agree_beyond_chance([labels, (labels + 1) % 4], 4, seed=0)
    verdicts = [agree_beyond_chance([labels, rng.integers(4, size=60)], 4, seed) for seed in range(100)]
    assert sum(verdicts) <= 12  # five are expected
    assert not agree_beyond_chance([np.zeros(9, int), np.zeros(9, int)], 2, seed=0)


@pytest.mark.parametrize(("halves", "n_clusters"), [([], 3), ([np.zeros(9, int)] * 2, 1), ([np.arange(9)] * 2, 9)])
def test_where_halves_have_nothing_to_agree_on_nothing_is_held_against_the_labels(halves, n_clusters):
    assert agree_beyond_chance(halves, n_clusters, seed=0)


@pytest.fixture(scope="module")
def overlapping():
    """Two groups that overlap, and which cells got a wrong label."""
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 300))
    X[:, :40] += 0.9 * (2 * truth - 1)[:, None] * rng.uniform(-0.1, 1.0, size=120)[:, None]
    model = UTC(2, metric="euclidean").fit(X)
    wrong = model.labels_ != truth
    return model, wrong if wrong.mean() <= 0.5 else ~wrong


def test_wrong_labels_are_less_sure(overlapping):
    model, wrong = overlapping
    assert 5 <= wrong.sum() <= 40
    assert roc_auc_score(~wrong, model.confidence_) > 0.75


def test_confidence_is_between_nothing_and_certainty(overlapping):
    model, _ = overlapping
    assert model.confidence_.shape == (120,)
    assert 0 <= model.confidence_.min() < model.confidence_.max() <= 1


def test_clear_groups_are_surer_and_more_stable_than_halves_of_one():
    X = make_groups((40, 30, 20), n_genes=400).X
    clear, cut = UTC(3).fit(X), UTC(3).fit(X).cut(6)
    np.testing.assert_array_equal(clear.stability_, 1.0)
    assert clear.confidence_.mean() > 0.9
    assert cut.confidence.mean() < clear.confidence_.mean() - 0.1
    assert cut.stability.min() < 0.7


@pytest.mark.parametrize("n_genes", [60, 400])
def test_votes_are_those_of_all_orders_of_each_alone_and_of_halves(n_genes):
    model = UTC(3).fit(make_groups(n_genes=n_genes).X)
    n_halves = 2 if n_genes >= 200 else 0
    assert model.votes_.shape == (45, 4 + n_halves)
    assert model.votes_.min() == 0
    assert UTC(3, orders=(2, 3), n_splits=0).fit(make_groups().X).votes_.shape == (45, 3)


def test_one_cluster_is_certain():
    model = UTC(1).fit(make_groups().X)
    np.testing.assert_array_equal(model.confidence_, 1.0)
    np.testing.assert_array_equal(model.stability_, 1.0)


@pytest.mark.parametrize("solver", ["ascent", "admm"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_other_solvers_say_how_sure_they_are(solver):
    model = UTC(3, solver=solver).fit(make_groups(n_genes=400).X)
    assert model.confidence_.min() > 0.5
    assert model.votes_.shape == (45, 1 + 2)
    assert model.stability_.min() > 0.9
    # A single view says nothing of how stable it is.
    np.testing.assert_array_equal(UTC(3, solver=solver, n_splits=0).fit(make_groups().X).stability_, [np.nan] * 3)


def test_cells_beside_the_landmarks_are_as_sure_as_these():
    X = make_groups((120, 80, 40), n_genes=400).X
    model = UTC(3, n_landmarks=60).fit(X)
    assert model.confidence_.shape == (240,)
    assert model.confidence_.max() <= 1
    seen = model.votes_[:, 0] >= 0
    np.testing.assert_array_equal(np.flatnonzero(seen), model.landmarks_)
    np.testing.assert_array_equal((model.votes_ >= 0).all(axis=1), seen)
    assert abs(model.confidence_[seen].mean() - model.confidence_[~seen].mean()) < 0.1


@pytest.mark.parametrize("n_landmarks", [None, 50])
def test_cells_between_groups_are_less_sure(n_landmarks):
    X = make_groups((60, 60), n_genes=400).X
    between = (X[:5] + X[-5:]) / 2
    model = UTC(2, n_landmarks=n_landmarks).fit(np.vstack([X, between]))
    assert model.confidence_[120:].max() < model.confidence_[:120].mean()
    assert model.confidence_[120:].mean() < model.confidence_[:120].mean() - 0.1


def test_a_number_of_clusters_that_halves_do_not_agree_on_is_warned_of():
    X = np.random.default_rng(0).permuted(make_groups((40, 30, 20), n_genes=400).X, axis=0)
    with pytest.warns(UserWarning, match="3 clusters are no more reproducible than in data whose genes are permuted"):
        model = UTC(3).fit(X)
    with pytest.warns(UserWarning, match="5 clusters are no more reproducible"):
        model.cut(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        UTC(3, n_splits=0).fit(X)
        UTC(1).fit(X)
        UTC(3).fit(make_groups((40, 30, 20), n_genes=400).X)


def test_two_cells_that_both_halves_set_apart_are_no_chance():
    labels = np.repeat([0, 1], [28, 2])
    assert all(agree_beyond_chance([labels, 1 - labels], 2, seed) for seed in range(20))


def test_another_cut_of_cells_without_clusters_is_warned_of():
    X = np.random.default_rng(0).normal(size=(60, 300))
    with pytest.warns(UserWarning, match="one cluster"):
        model = UTC().fit(X)
    with pytest.warns(UserWarning, match="5 clusters are no more reproducible"):
        model.cut(5)


@pytest.mark.filterwarnings("ignore:.*no more reproducible:UserWarning")
def test_twenty_sets_without_structure_are_warned_of():
    rng = np.random.default_rng(0)
    warned = 0
    for seed in range(20):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            UTC(3, orders=(2,), screen_genes=False, random_state=seed).fit(rng.normal(size=(40, 200)))
        warned += any("no more reproducible" in str(each.message) for each in caught)
    assert warned >= 18


def test_several_numbers_of_clusters_have_each_their_own():
    adata = make_groups((40, 30, 20), n_genes=400)
    scutc.tl.utc(adata, [3, 5])
    result = adata.uns["utc"]
    assert set(result["stability"]) == {"3", "5"}
    for number in (3, 5):
        assert len(result["stability"][str(number)]) == number
        assert adata.obsm[f"utc_{number}_votes"].shape == (90, 6)
        assert adata.obsm[f"utc_{number}_votes"].max() == number - 1
    assert adata.obs["utc_3_confidence"].mean() > adata.obs["utc_5_confidence"].mean()
    assert "utc_confidence" not in adata.obs


def test_a_representation_is_not_halved():
    adata = make_groups((40, 30, 20), n_genes=400)
    adata.obsm["all"] = adata.X.copy()
    scutc.tl.utc(adata, 3, use_rep="all")
    assert adata.obsm["utc_votes"].shape == (90, 4)
    assert adata.uns["utc"]["params"]["n_splits"] == 0


@pytest.mark.parametrize("metric", ["correlation", "spearman", "euclidean"])
def test_dense_and_sparse_are_equally_sure(metric):
    X = make_groups((40, 30, 20), n_genes=400).X
    dense, csr = (UTC(3, metric=metric).fit(each) for each in (X, sparse.csr_matrix(X)))
    np.testing.assert_allclose(dense.confidence_, csr.confidence_, atol=1e-6)
    np.testing.assert_array_equal(dense.votes_, csr.votes_)
