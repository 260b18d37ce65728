"""The mixture with one covariance, next to scikit-learn's and to its definition."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

from conftest import blobs
from scutc.core.mixture import SHRINKAGE, Cells, fit_mixture


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
    ours = fit_mixture(Cells(points), start, 3, n_steps=2)
    np.testing.assert_allclose(ours.probabilities, theirs.predict_proba(points), atol=1e-10)
    constant = points.shape[1] / 2 * np.log(2 * np.pi)
    assert ours.likelihood == pytest.approx(theirs.score(points) + constant)


def test_the_mixture_mends_labels_and_does_not_depend_on_the_unit():
    points, truth = blobs()
    start = truth.copy()
    start[:5] = 2
    mixture = fit_mixture(Cells(points), start, 3)
    np.testing.assert_array_equal(mixture.labels, truth)
    np.testing.assert_allclose(mixture.probabilities.sum(axis=1), 1.0)
    larger = fit_mixture(Cells(1e6 * points), start, 3)
    np.testing.assert_allclose(larger.probabilities, mixture.probabilities, atol=1e-9)


def test_a_point_that_stands_for_several_cells_counts_as_these():
    points, truth = blobs()
    sizes = np.random.default_rng(0).integers(1, 4, size=len(points))
    start = np.roll(truth, 4)
    cells = np.repeat(np.arange(len(points)), sizes)
    alone = fit_mixture(Cells(points[cells]), start[cells], 3, n_steps=3)
    together = fit_mixture(Cells(points, sizes.astype(float)), start, 3, n_steps=3)
    np.testing.assert_allclose(together.probabilities[cells], alone.probabilities, atol=1e-12)
    assert together.likelihood == pytest.approx(alone.likelihood)


def test_cells_that_scatter_about_their_point_widen_the_clusters():
    points, truth = blobs()
    sizes = np.full(len(points), 2.0)
    # Two cells at each point, at equal distances on both sides of it.
    offsets = np.random.default_rng(0).normal(size=points.shape)
    cells = np.concatenate([points + offsets, points - offsets])
    mixture = fit_mixture(Cells(points, sizes, cells.T @ cells), truth, 3, n_steps=1)
    unit = np.sqrt(cells.var(axis=0).mean())
    twice = np.concatenate([truth, truth])
    centers = np.array([cells[twice == label].mean(axis=0) for label in range(3)]) / unit
    within = cells / unit - centers[twice]
    covariance = within.T @ within / len(cells) + SHRINKAGE * np.eye(points.shape[1])
    differences = points[:, None] / unit - centers
    logarithms = np.log(np.bincount(truth) / len(truth)) - 0.5 * np.einsum(
        "ijk,kl,ijl->ij", differences, np.linalg.inv(covariance), differences
    )
    expected = np.exp(logarithms - logarithms.max(axis=1, keepdims=True))
    np.testing.assert_allclose(mixture.probabilities, expected / expected.sum(axis=1, keepdims=True), atol=1e-9)


def test_a_cluster_without_cells_stays_without():
    points, truth = blobs()
    assert fit_mixture(Cells(points), truth, 4).probabilities[:, 3].max() < 1e-6


@pytest.mark.parametrize("place", [0.0, 0.1, 1e6])
def test_points_that_all_coincide_belong_to_clusters_by_size(place):
    mixture = fit_mixture(Cells(np.full((4, 2), place)), np.array([0, 0, 0, 1]), 2)
    np.testing.assert_allclose(mixture.probabilities, np.tile([0.75, 0.25], (4, 1)))


def test_whitened_clusters_have_a_round_covariance():
    points, truth = blobs(sizes=(400, 300, 200), n_directions=3)
    points = points @ np.diag([5.0, 1.0, 0.5])
    white = Cells(points).whitened(truth)
    within = white - np.array([white[truth == label].mean(axis=0) for label in range(3)])[truth]
    # Up to what it was shrunk by.
    unit = points.var(axis=0).mean()
    plain = points - np.array([points[truth == label].mean(axis=0) for label in range(3)])[truth]
    shrunk = plain.T @ plain / len(points) / unit + SHRINKAGE * np.eye(3)
    inverse = np.linalg.inv(np.linalg.cholesky(shrunk))
    expected = inverse @ (shrunk - SHRINKAGE * np.eye(3)) @ inverse.T
    np.testing.assert_allclose(within.T @ within / len(points), expected, atol=1e-10)
