"""Cuts of one tree, and the mixture that improves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from scutc.core.assignment import SHRINKAGE
from scutc.core.tree import cut, mixture, partitions


def blobs(sizes=(40, 30, 20), n_directions=5, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(len(sizes)), sizes)
    return rng.normal(size=(len(truth), n_directions)) + 6 * rng.normal(size=(len(sizes), n_directions))[truth], truth


@given(n_cells=st.integers(2, 30), data=st.data())
def test_a_cut_is_that_of_scipy(n_cells, data):
    n_clusters = data.draw(st.integers(1, n_cells))
    points = np.random.default_rng(data.draw(st.integers(0, 9))).normal(size=(n_cells, 3))
    merges = linkage(points, "ward")
    labels = cut(merges, n_clusters)
    assert len(np.unique(labels)) == n_clusters
    assert adjusted_rand_score(labels, cut_tree(merges, n_clusters).ravel()) == 1.0


def test_a_cut_into_more_clusters_than_cells_is_one_for_each():
    assert len(np.unique(cut(linkage(np.arange(4.0)[:, None], "ward"), 9))) == 4


def test_cuts_of_points_that_coincide_have_as_many_clusters_as_asked_for():
    assert len(np.unique(cut(linkage(np.zeros((10, 2)), "ward"), 4))) == 4


def test_cuts_are_nested():
    merges = linkage(blobs()[0], "ward")
    coarse, fine = cut(merges, 3), cut(merges, 8)
    assert len(set(zip(coarse, fine, strict=True))) == 8


def test_the_mixture_is_the_one_of_scikit_learn_from_the_same_start():
    points, _ = blobs(seed=3)
    points /= np.sqrt(points.var(axis=0).mean())
    start = np.random.default_rng(0).integers(3, size=len(points))
    centers = np.array([points[start == label].mean(axis=0) for label in range(3)])
    scatter = sum(np.cov(points[start == label].T, bias=True) * np.sum(start == label) for label in range(3))
    theirs = GaussianMixture(
        3,
        covariance_type="tied",
        reg_covar=SHRINKAGE,
        weights_init=np.bincount(start) / len(points),
        means_init=centers,
        precisions_init=np.linalg.inv(scatter / len(points) + SHRINKAGE * np.eye(points.shape[1])),
        max_iter=1,
        tol=0.0,
    )
    with pytest.warns(UserWarning, match="did not converge"):
        theirs.fit(points)
    # One step of theirs is an expectation and a maximisation; then the next expectation is asked for.
    np.testing.assert_allclose(mixture(points, start, 3, n_steps=2), theirs.predict_proba(points), atol=1e-10)


def test_the_mixture_mends_a_cut_and_does_not_depend_on_the_unit():
    points, truth = blobs()
    start = truth.copy()
    start[:5] = 2
    probabilities = mixture(points, start, 3)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), truth)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(mixture(1e6 * points, start, 3), probabilities, atol=1e-9)


def test_a_cluster_without_cells_stays_without():
    points, truth = blobs()
    assert mixture(points, truth, 4)[:, 3].max() < 1e-6


def test_points_that_all_coincide_belong_to_clusters_by_size():
    np.testing.assert_allclose(mixture(np.zeros((4, 2)), np.array([0, 0, 0, 1]), 2), np.tile([0.75, 0.25], (4, 1)))


def test_partitions_of_one_number_do_not_depend_on_the_others():
    points, truth = blobs()
    some = partitions(points, [3, 7])
    np.testing.assert_array_equal(some[3], partitions(points, range(2, 10))[3])
    assert adjusted_rand_score(truth, some[3]) == 1.0
