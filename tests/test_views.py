"""Clusters in one embedding: trees, their cuts, and the mixture that improves them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from conftest import blobs
from scutc.core.views import Leaves, View, cut


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


def test_a_view_finds_unequal_stretched_groups_that_kmeans_splits():
    rng = np.random.default_rng(0)
    along, across = np.array([0.26, 0.97]), np.array([-0.97, 0.26])
    groups = [rng.normal(size=(size, 2)) * [2.0, 0.3] @ [along, across] for size in (300, 40)]
    points, truth = np.vstack([groups[0], groups[1] + [4.0, 0.0]]), np.repeat([0, 1], [300, 40])
    view = View(points, nested=False)
    assert adjusted_rand_score(truth, view.labels(2)) == 1.0
    assert adjusted_rand_score(truth, KMeans(2, n_init=5, random_state=0).fit_predict(points)) < 0.5


def test_labels_are_the_likeliest_of_those_that_trees_lead_to():
    points, truth = blobs()
    view = View(points)
    wrong = linkage(np.random.default_rng(0).normal(size=points.shape), "ward")
    view.trees = [wrong, *view.trees]
    np.testing.assert_array_equal(view.labels(3), View(points).labels(3))
    assert adjusted_rand_score(truth, view.labels(3)) == 1.0


@pytest.mark.parametrize("n_clusters", [1, 4, 9])
def test_one_cluster_or_one_for_each_cell(n_clusters):
    labels = View(np.random.default_rng(0).random((4, 2))).labels(n_clusters)
    assert len(np.unique(labels)) == min(n_clusters, 4)


@pytest.mark.parametrize(
    ("lengths", "n_clusters", "n_directions"),
    [
        ([1.0, 0.5, 0.5], 2, 1),
        ([1.0, 1.0, 0.5], 2, 2),
        ([1.0, 1.0, 0.5], 3, 3),
        ([1.0, 1.0, 0.2, 0.1], 3, 2),
        ([1.0, 0.9, 0.8], 1, 1),
        ([1.0, 0.9, 0.8], 7, 3),
    ],
)
def test_clusters_are_sought_before_the_larger_gap(lengths, n_clusters, n_directions):
    embedding = np.vstack([np.eye(len(lengths)), np.zeros((2, len(lengths)))]) * lengths
    assert View(embedding).n_directions(n_clusters) == n_directions
    assert View(embedding).points(n_clusters).shape == (len(lengths) + 2, n_directions)
    assert View(embedding, nested=False).n_directions(n_clusters) == len(lengths)


def test_groups_are_separate_and_parts_of_an_even_spread_are_not():
    # In k parts of a line an even spread has 1 / k² of its variance: with a shade less they are separate.
    line = np.linspace(-1, 1, 300)[:, None]
    for n_parts in (2, 3, 5):
        parts = np.repeat(np.arange(n_parts), 300 // n_parts)
        for step, expected in ((0.05, True), (-0.05, False)):
            view = View(line + step * (parts[:, None] - (n_parts - 1) / 2), nested=False)
            assert view.separates(parts, n_parts) == expected
    # So have k² squares of a square 1 / k² of its variance.
    square = np.dstack(np.meshgrid(line[::10, 0], line[::10, 0])).reshape(-1, 2)
    quarters = (square > 0) @ [1, 2]
    assert View(square + 0.05 * np.sign(square), nested=False).separates(quarters, 4)
    assert not View(square - 0.05 * np.sign(square), nested=False).separates(quarters, 4)


def test_leaves_are_near_cells_and_few():
    points, truth = blobs(sizes=(400, 300, 100))
    leaves = Leaves.of(points, 50)
    assert len(leaves) == 50
    np.testing.assert_array_equal(np.bincount(leaves.of_cells), leaves.sizes)
    assert len(set(zip(leaves.of_cells, truth, strict=True))) == 50
    expected = [points[leaves.of_cells == leaf].mean(axis=0) for leaf in range(50)]
    np.testing.assert_allclose(leaves.means(points), expected)
    assert adjusted_rand_score(truth, View(points, leaves).labels(3)) == 1.0


def test_few_cells_are_leaves_by_themselves():
    points, _ = blobs()
    leaves = Leaves.of(points)
    np.testing.assert_array_equal(leaves.of_cells, np.arange(len(points)))
    assert leaves.means(points) is points


def test_cells_that_coincide_share_a_leaf():
    leaves = Leaves.of(np.repeat(np.eye(3), 300, axis=0), 100)
    np.testing.assert_array_equal(leaves.sizes, [300, 300, 300])
