from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from scutc.core.assignment import consensus, number_by_size, partition
from scutc.core.fusion import leading_directions


def test_labels_are_numbered_by_size_ties_by_first_cell():
    labels = np.array([7, 3, 3, 9, 9, 7, 1])
    np.testing.assert_array_equal(number_by_size(labels), [0, 1, 1, 2, 2, 0, 3])


@pytest.mark.quality
def test_partition_finds_unequal_stretched_groups_that_kmeans_splits():
    rng = np.random.default_rng(0)
    along, across = np.array([0.26, 0.97]), np.array([-0.97, 0.26])
    groups = [rng.normal(size=(size, 2)) * [2.0, 0.3] @ [along, across] for size in (300, 40)]
    points, truth = np.vstack([groups[0], groups[1] + [4.0, 0.0]]), np.repeat([0, 1], [300, 40])
    points = np.column_stack([points, np.zeros(len(points))])
    assert adjusted_rand_score(truth, partition(points, 2, seed=0)) == 1.0
    assert adjusted_rand_score(truth, KMeans(2, n_init=5, random_state=0).fit_predict(points)) < 0.5


def test_consensus_follows_the_majority():
    points = np.zeros((6, 3))
    majority, dissent = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 1, 1])
    np.testing.assert_array_equal(consensus([majority, dissent, majority], points, 2), majority)


def test_consensus_of_one_vote_is_that_vote():
    vote = np.array([0, 1, 2, 0, 1, 0])
    np.testing.assert_array_equal(consensus([vote], np.random.default_rng(0).random((6, 2)), 3), vote)


@pytest.mark.parametrize(("places", "labels"), [([0, 1, 9], [0, 0, 1]), ([0, 8, 9], [1, 0, 0])])
def test_consensus_puts_the_nearest_together_where_votes_are_tied(places, labels):
    points = np.array(places, dtype=float)[:, None]
    np.testing.assert_array_equal(consensus([np.arange(3)], points, 2), labels)


@given(
    n_cells=st.integers(2, 12),
    data=st.data(),
)
def test_consensus_gives_exactly_the_number_of_clusters(n_cells, data):
    n_clusters = data.draw(st.integers(1, n_cells))
    vote = st.lists(st.integers(0, n_clusters - 1), min_size=n_cells, max_size=n_cells).map(np.array)
    votes = data.draw(st.lists(vote, min_size=1, max_size=4))
    labels = consensus(votes, np.zeros((n_cells, 3)), n_clusters)
    counts = np.bincount(labels)
    assert len(counts) == n_clusters
    assert (counts > 0).all()
    assert (np.diff(counts) <= 0).all()


@pytest.mark.parametrize("n_clusters", [1, 4])
def test_partition_into_one_or_all(n_clusters):
    labels = partition(np.random.default_rng(0).random((4, 2)), n_clusters, seed=0)
    assert len(np.unique(labels)) == n_clusters


@pytest.mark.parametrize(("lengths", "n_directions"), [([1.0, 0.5, 0.5], 1), ([1.0, 1.0, 0.5], 2)])
def test_two_clusters_are_sought_before_the_larger_gap(lengths, n_directions):
    embedding = np.vstack([np.eye(3), np.zeros((2, 3))]) * lengths
    assert leading_directions(embedding, 2).shape == (5, n_directions)
