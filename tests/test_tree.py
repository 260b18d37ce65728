"""One tree of clusters, of which any number is a cut."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.metrics import adjusted_rand_score

from conftest import blobs
from scutc.core import tree as trees
from scutc.core.tree import ClusterTree, grow_tree, make_views, merge, number_by_size
from scutc.core.views import View, cut


def grow(*embeddings, n_clusters=3, n_leaves=None, monkeypatch=None):
    """The tree of embeddings that are views by some orders."""
    if n_leaves is not None:
        monkeypatch.setattr("scutc.core.views.MAX_LEAVES", n_leaves)
    views = {(order,): embedding for order, embedding in enumerate(embeddings, 2)}
    return grow_tree(make_views(SimpleNamespace(embedding=embeddings[0], embeddings=views, nested=True)), n_clusters)


class Opinion(View):
    """A view whose votes are given."""

    def __init__(self, votes, points=None, *, separate=True):
        self.votes, self.separate = votes, separate
        n_cells = len(next(iter(votes.values())))
        super().__init__(np.zeros((n_cells, 1)) if points is None else points)

    def partition(self, n_clusters):
        return self.votes[n_clusters]

    def separates(self, labels, n_clusters):
        return self.separate


@pytest.fixture
def two_only(monkeypatch):
    """Views vote on two clusters only."""
    monkeypatch.setattr(trees, "RESOLUTIONS", (2,))


def labels_of(*views, n_clusters=2):
    return number_by_size(cut(merge(views, n_clusters), n_clusters))


def test_labels_are_numbered_by_size_ties_by_first_cell():
    labels = np.array([7, 3, 3, 9, 9, 7, 1])
    np.testing.assert_array_equal(number_by_size(labels), [0, 1, 1, 2, 2, 0, 3])


def test_the_tree_follows_the_majority(two_only):
    majority, dissent = {2: np.array([0, 0, 0, 1, 1, 1])}, {2: np.array([0, 0, 1, 1, 1, 1])}
    labels = labels_of(Opinion(majority), Opinion(dissent), Opinion(majority))
    np.testing.assert_array_equal(labels, majority[2])


def test_one_view_that_sees_is_not_outvoted_by_two_that_see_nothing(two_only):
    seeing, blind = {2: np.array([0, 0, 0, 1, 1, 1])}, {2: np.array([0, 1, 1, 0, 1, 1])}
    views = [Opinion(blind, separate=False), Opinion(seeing), Opinion(blind, separate=False)]
    np.testing.assert_array_equal(labels_of(*views), seeing[2])
    # If none sees anything all are asked.
    views[1].separate = False
    np.testing.assert_array_equal(labels_of(*views), [1, 0, 0, 1, 0, 0])


@pytest.mark.parametrize(("places", "labels"), [([0, 1, 9] * 2, [0, 0, 1] * 2), ([0, 8, 9] * 2, [1, 0, 0] * 2)])
def test_the_nearest_are_together_where_votes_are_tied(two_only, places, labels):
    view = Opinion({2: np.zeros(6, dtype=np.intp)}, np.array(places, dtype=float)[:, None])
    np.testing.assert_array_equal(labels_of(view), labels)


def test_the_number_asked_for_decides_which_clusters_there_are_and_fewer_how_they_merge(monkeypatch):
    monkeypatch.setattr(trees, "RESOLUTIONS", (2, 3, 4))
    monkeypatch.setattr(trees, "MIN_MEAN_SIZE", 2)
    # Two clusters are not made of the three, nor these of the four.
    two, three = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1]), np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    view = Opinion({2: two, 3: three, 4: np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])})
    np.testing.assert_array_equal(number_by_size(cut(merge([view], 2), 2)), number_by_size(two))
    tree = merge([view], 3)
    assert is_valid_linkage(tree)
    np.testing.assert_array_equal(number_by_size(cut(tree, 3)), three)
    # One cell of the second lies with the first, two with the third.
    np.testing.assert_array_equal(number_by_size(cut(tree, 2)), [1, 1, 1, 0, 0, 0, 0, 0, 0])


def test_distances_in_the_tree_are_the_part_of_the_votes_that_separate(monkeypatch):
    monkeypatch.setattr(trees, "RESOLUTIONS", (2, 3))
    views = [
        Opinion({2: np.array([0, 0, 0, 1, 1, 1, 1, 1, 1]), 3: np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])}),
        Opinion({2: np.array([0, 0, 0, 1, 1, 1, 0, 0, 0]), 3: np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])}),
    ]
    merges = merge(views, 1)
    # For one cluster votes on two count by 3 to 2 of those on three.
    np.testing.assert_allclose(merges[-2:, 2], [0.6 * 0.5 + 0.4, 0.6 * 0.75 + 0.4], atol=1e-5)


@settings(deadline=None)
@given(n_cells=st.integers(1, 40), n_leaves=st.integers(2, 40), seed=st.integers(0, 9), data=st.data())
def test_any_number_of_clusters_exactly_and_nested(n_cells, n_leaves, seed, data):
    rng = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as monkeypatch:
        embeddings = [rng.normal(size=(n_cells, 6)) * np.arange(6, 0, -1) for _ in range(2)]
        tree = grow(
            *embeddings, n_clusters=data.draw(st.integers(1, n_cells)), n_leaves=n_leaves, monkeypatch=monkeypatch
        )
    finer = data.draw(st.integers(1, n_cells))
    coarser = data.draw(st.integers(1, finer))
    fine, coarse = tree.cut(finer), tree.cut(coarser)
    for labels, number in ((fine, finer), (coarse, coarser)):
        counts = np.bincount(labels)
        assert len(counts) == number
        assert counts.min() > 0
        assert (np.diff(counts) <= 0).all()
    assert len(set(zip(fine, coarse, strict=True))) == finer
    above = tree.above(fine)
    assert above.shape == (finer - 1, 4)
    if finer > 1:
        assert is_valid_linkage(above)
    # What it says of the clusters is how the tree itself merges them.
    np.testing.assert_array_equal(number_by_size(cut(above, coarser)[fine]), coarse)


@pytest.mark.parametrize("n_leaves", [20, 500])
def test_clear_groups_are_found_by_cells_and_by_leaves(monkeypatch, n_leaves):
    points, truth = blobs(sizes=(120, 60, 20))
    tree = grow(points, points, n_leaves=n_leaves, monkeypatch=monkeypatch)
    assert isinstance(tree, ClusterTree)
    assert adjusted_rand_score(truth, tree.cut(3)) == 1.0


@pytest.mark.parametrize("n_leaves", [50, 500])
def test_the_tree_does_not_depend_on_the_order_of_the_cells(monkeypatch, n_leaves):
    monkeypatch.setattr("scutc.core.views.MAX_LEAVES", n_leaves)
    points, _ = blobs(sizes=(40, 30, 20, 10))
    order = np.random.default_rng(0).permutation(len(points))
    for n_clusters in (2, 4, 6):
        shuffled = grow(points[order]).cut(n_clusters)
        assert adjusted_rand_score(grow(points).cut(n_clusters)[order], shuffled) == 1.0
