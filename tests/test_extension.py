from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

from conftest import make_groups
from scutc import UTC
from scutc.core.eigen import MAX_DENSE
from scutc.core.extension import Rule, Speakers, _weights, choose, descend, elect, vote
from scutc.core.metric import Euclidean
from scutc.core.subspace import Subspace


def standardized(X: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=1, keepdims=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def unit(X: np.ndarray) -> float:
    """Euclidean distances are measured in a power of two."""
    return 2.0 ** Euclidean.of(X).exponent


def slow_weights(cells: np.ndarray, landmarks: np.ndarray, n_neighbors: int) -> np.ndarray:
    """The formula, cell by cell: of the m + 1 nearest the nearer m get weights ∝ (R² − d²) / d²."""
    weights = np.zeros((len(cells), len(landmarks)))
    for i, cell in enumerate(cells):
        squared = [float(((cell - landmark) ** 2).sum()) for landmark in landmarks]
        nearest = sorted(range(len(landmarks)), key=lambda j: squared[j])[: n_neighbors + 1]
        reach = squared[nearest[-1]]
        for j in nearest[:-1]:
            weights[i, j] = (reach - squared[j]) / squared[j]
        weights[i] /= weights[i].sum()
    return weights


def weights_of(rule: Rule, cells) -> sparse.csr_array:
    return rule.weigh(rule.standardize(cells, 0))


def profiles(n_cells: int, n_genes: int = 80, seed: int = 0) -> np.ndarray:
    """Cells with zeros, but no two distances alike, as there would be between counts."""
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, size=(n_cells, n_genes)) * (rng.random((n_cells, n_genes)) < 0.8)


@pytest.mark.parametrize("n_neighbors", [1, 4, 15, 100])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_weights_equal_those_of_the_formula(metric, n_neighbors):
    landmarks, cells = profiles(30), profiles(12, seed=1)
    # New cells have directions of their own, in which all landmarks are equally far: only what cells share counts.
    subspace = Subspace.of(landmarks, metric, None)
    expected = slow_weights(subspace.coordinates(cells), subspace.coordinates(landmarks), n_neighbors)
    found = weights_of(Rule.of(landmarks, metric, n_neighbors), cells)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), expected, atol=1e-9)


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_weights_equal_those_of_true_distances_where_landmarks_span_all(metric):
    # More landmarks than genes, so that a cell has no direction of its own.
    landmarks, cells = profiles(45, n_genes=20), profiles(12, n_genes=20, seed=1)
    points = [standardized(X) if metric == "correlation" else X for X in (cells, landmarks)]
    found = weights_of(Rule.of(landmarks, metric, 6), cells)
    np.testing.assert_allclose(found.toarray(), slow_weights(*points, 6), atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_rows_of_weights_are_shares_and_near_landmarks_have_most(metric, container):
    landmarks, cells = profiles(40), profiles(25, seed=1)
    weights = weights_of(Rule.of(container(landmarks), metric, 7), container(cells)).toarray()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, rtol=1e-12)
    assert (weights >= 0).all()
    assert ((weights > 0).sum(axis=1) == 7).all()
    subspace = Subspace.of(landmarks, metric, None)
    distances = cdist(subspace.coordinates(cells), subspace.coordinates(landmarks))
    np.testing.assert_array_equal(weights.argmax(axis=1), distances.argmin(axis=1))


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_a_landmark_weighs_only_itself(metric):
    landmarks = profiles(60)
    weights = weights_of(Rule.of(landmarks, metric, 15), landmarks).toarray()
    np.testing.assert_allclose(weights, np.eye(60), atol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("factor", [1e-100, 1.0, 1e100])
def test_units_and_offset_do_not_change_euclidean_weights(factor, offset):
    landmarks, cells = profiles(30), profiles(12, seed=1)
    expected = weights_of(Rule.of(landmarks, "euclidean", 6), cells).toarray()
    found = weights_of(Rule.of(factor * (landmarks + offset), "euclidean", 6), factor * (cells + offset)).toarray()
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_weights_have_no_jumps():
    # A walk across the landmarks: at some steps others are nearest, at none do the weights jump.
    rng = np.random.default_rng(0)
    landmarks = rng.normal(size=(40, 3))
    subspace = Subspace(Euclidean(), np.eye(3), np.zeros(3))
    rule = Rule(subspace, landmarks, 5)
    start, stop = rng.normal(size=(2, 3))
    changes = {}
    for n_steps in (500, 5000):
        walk = start + np.linspace(0, 1, n_steps)[:, None] * (stop - start)
        weights = weights_of(rule, walk).toarray()
        sets = weights > 0
        assert (sets[1:] != sets[:-1]).any(axis=1).sum() >= 5
        changes[n_steps] = np.abs(np.diff(weights, axis=0)).max()
    assert changes[500] < 0.1
    # Ten times smaller steps, ten times smaller changes; a jump would stay as large.
    assert changes[5000] < 0.2 * changes[500]


def test_a_constant_added_to_large_squared_distances_hardly_matters():
    squared = np.sort(1000 + 10 * np.random.default_rng(0).random((20, 9)), axis=1)
    plain, shifted = _weights(squared), _weights(squared + 1000)
    assert np.abs(plain - shifted).max() < 0.01
    # What is left is the margin by which each is nearer than the last.
    margins = squared[:, -1:] - squared[:, :-1]
    np.testing.assert_allclose(shifted, margins / margins.sum(axis=1, keepdims=True), atol=0.01)
    assert plain.max() > 0.2


def test_one_landmark_gets_all_weight():
    np.testing.assert_array_equal(_weights(np.array([[0.0], [3.0]])), 1.0)
    rule = Rule(Subspace(Euclidean(), np.eye(2), np.zeros(2)), np.zeros((1, 2)), 15)
    np.testing.assert_array_equal(weights_of(rule, np.ones((3, 2))).toarray(), np.ones((3, 1)))


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_landmarks_that_all_coincide_share_the_weight(metric):
    landmarks = np.tile(np.arange(6.0), (8, 1))
    for cells in (landmarks[:2], profiles(5, n_genes=6)):
        weights = weights_of(Rule.of(landmarks, metric, 4), cells).toarray()
        assert np.isfinite(weights).all()
        np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_copies_of_a_landmark_share_its_weight():
    landmarks = profiles(20)
    weights = weights_of(Rule.of(np.vstack([landmarks, landmarks]), "correlation", 10), landmarks).toarray()
    np.testing.assert_allclose(weights[:, :20] + weights[:, 20:], np.eye(20), atol=1e-9)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("n_cells", [2, 5, 50])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_distances_along_the_directions_are_the_true_ones_of_few_cells(metric, n_cells, container):
    cells = profiles(n_cells)
    points = standardized(cells) if metric == "correlation" else cells / unit(cells)
    coordinates = Subspace.of(container(cells), metric, None).coordinates(container(cells))
    np.testing.assert_allclose(cdist(coordinates, coordinates), cdist(points, points), atol=1e-9)
    np.testing.assert_allclose(coordinates.mean(axis=0), 0.0, atol=1e-10)


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_other_cells_are_projected_on_the_directions(metric):
    # Literally: the principal axes of the landmarks, and the new cells' coordinates along them.
    landmarks, cells = profiles(20), profiles(10, seed=1)
    points, new = (standardized(X) if metric == "correlation" else X / unit(landmarks) for X in (landmarks, cells))
    center = points.mean(axis=0)
    axes = np.linalg.svd(points - center, full_matrices=False)[2][:19]
    expected = (new - center) @ axes.T
    found = Subspace.of(landmarks, metric, None).coordinates(cells)
    # Axes may be mirrored and are in another order: distances to the landmarks tell.
    landmarks_found = Subspace.of(landmarks, metric, None).coordinates(landmarks)
    np.testing.assert_allclose(cdist(found, landmarks_found), cdist(expected, (points - center) @ axes.T), atol=1e-9)


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_many_cells_keep_the_fifty_strongest_directions(metric):
    cells = profiles(MAX_DENSE + 20, n_genes=70)
    points = standardized(cells) if metric == "correlation" else cells / unit(cells)
    expected = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)[:50]
    coordinates = Subspace.of(cells, metric, None).coordinates(cells)
    np.testing.assert_allclose(np.sort(np.linalg.norm(coordinates, axis=0))[::-1], expected, rtol=1e-8)


def test_votes_are_shares_of_labels():
    weights = sparse.csr_array(np.array([[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]]))
    np.testing.assert_allclose(vote(weights, np.array([0, 1, 1]), 3), [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]])


NO_LANDMARKS = np.array([], dtype=np.intp)


def test_the_largest_share_is_elected_and_every_label_by_someone():
    shares = np.array([[0.9, 0.0, 0.1], [0.8, 0.0, 0.2], [0.6, 0.0, 0.4], [0.1, 0.9, 0.0]])
    np.testing.assert_array_equal(elect(shares.argmax(axis=1), shares, NO_LANDMARKS, NO_LANDMARKS), [0, 0, 2, 1])


def test_a_label_without_any_vote_goes_to_its_landmark():
    shares = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    np.testing.assert_array_equal(
        elect(shares.argmax(axis=1), shares, np.array([0, 3, 1]), np.array([0, 1, 2])), [0, 2, 1, 1]
    )


def test_no_label_loses_its_only_cell_to_one_without():
    # The cell with most for label 2 is the only one of label 1.
    shares = np.array([[0.9, 0.1, 0.0], [0.8, 0.1, 0.1], [0.0, 0.6, 0.4]])
    np.testing.assert_array_equal(elect(shares.argmax(axis=1), shares, NO_LANDMARKS, NO_LANDMARKS), [0, 2, 1])


@pytest.mark.parametrize("seed", range(5))
def test_all_labels_are_elected_even_with_as_many_labels_as_cells(seed):
    rng = np.random.default_rng(seed)
    for n_cells in (6, 9):
        shares = rng.random((n_cells, 6)) * [1.0, 0.1, 0.1, 0.0, 0.0, 0.0]
        assert set(elect(shares.argmax(axis=1), shares, NO_LANDMARKS, NO_LANDMARKS)) == set(range(6))


def test_labels_are_where_most_of_the_shares_are_from_the_root_down():
    # Labels 1 and 2 are one cluster of two: together they have more than label 0, which has most by itself.
    tree = np.array([[1.0, 2.0, 0.5, 2.0], [0.0, 3.0, 1.0, 3.0]])
    shares = np.array([[0.4, 0.35, 0.25], [0.6, 0.1, 0.3], [0.2, 0.3, 0.5]])
    np.testing.assert_array_equal(descend(shares, tree), [1, 0, 2])
    np.testing.assert_array_equal(descend(np.ones((2, 1)), np.empty((0, 4))), [0, 0])


@pytest.mark.parametrize("seed", range(3))
def test_labels_for_fewer_clusters_contain_those_for_more(seed):
    rng = np.random.default_rng(seed)
    tree = linkage(rng.random((8, 2)), "average")
    shares = rng.dirichlet(np.full(8, 0.5), size=200)
    fine = descend(shares, tree)
    for number in (2, 4, 7):
        merged = cut_tree(tree, number)[:, 0]
        # The tree of the merged labels: its leaves are nodes of the whole tree.
        above = linkage_above(tree, merged)
        coarse = descend(np.column_stack([shares[:, merged == each].sum(axis=1) for each in range(number)]), above)
        np.testing.assert_array_equal(coarse, merged[fine])


def linkage_above(tree, merged):
    """How groups of the leaves of a tree, which are nodes of it, merge further on."""
    n_groups, node_of = merged.max() + 1, dict(enumerate(merged))
    rows = []
    for node, (left, right) in enumerate(tree[:, :2].astype(int), len(merged)):
        node_of[node] = node_of[left]
        if node_of[left] != node_of[right]:
            node_of[node] = n_groups + len(rows)
            rows.append([node_of[left], node_of[right], 0.0, 0.0])
    return np.array(rows)


@pytest.mark.parametrize("n_landmarks", [None, 30])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_fitted_samples_get_back_what_they_have(metric, n_landmarks):
    X = make_groups((50, 40, 30)).X
    model = UTC(3, metric=metric, n_landmarks=n_landmarks).fit(X)
    assert (model.landmarks_ is None) == (n_landmarks is None)
    np.testing.assert_allclose(model.transform(X), model.embedding_, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    # In any order, and of some of them alone.
    some = np.random.default_rng(0).permutation(len(X))[:40]
    np.testing.assert_allclose(model.transform(sparse.csr_array(X[some])), model.embedding_[some], atol=1e-9)
    np.testing.assert_array_equal(model.predict(X[some]), model.labels_[some])
    np.testing.assert_array_equal(model.predict(X[:1]), model.labels_[:1])


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
@pytest.mark.parametrize("n_clusters", [4, 9])
def test_more_clusters_than_groups_are_predicted_as_they_were_fitted(n_clusters, metric):
    X = make_groups((50, 40, 30)).X
    model = UTC(n_clusters, metric=metric, n_landmarks=20).fit(X)
    differ = model.predict(X) != model.labels_
    assert (np.bincount(model.labels_)[model.labels_[differ]] == 1).all()


def test_only_samples_that_a_cluster_got_against_the_vote_are_predicted_otherwise():
    # Four clusters of samples that coincide: three have a label that none would have, and yet one has to have it.
    X = np.ones((50, 5))
    model = UTC(4, metric="euclidean", n_landmarks=10).fit(X)
    differ = model.predict(X) != model.labels_
    assert differ.sum() == 3
    assert (np.bincount(model.labels_)[model.labels_[differ]] == 1).all()


def test_the_nearest_mean_decides_between_the_labels_that_are_named():
    shares = np.array([[0.6, 0.4, 0.0], [0.9, 0.1, 0.0], [0.0, 0.5, 0.5], [1.0, 0.0, 0.0]])
    nearness = np.array([[0.1, 0.2, 0.9], [0.1, 0.2, 0.9], [0.9, 0.1, 0.2], [0.1, 0.2, 0.9]])
    # Of 5 equal landmarks each would have 0.2, so that 0.1 is too little to be named; of 10 it is not.
    np.testing.assert_array_equal(choose(shares, nearness, 5), [1, 0, 2, 0])
    np.testing.assert_array_equal(choose(shares, nearness, 10), [1, 1, 2, 0])


def test_the_larger_share_decides_between_means_that_are_equally_near():
    shares = np.array([[0.2, 0.3, 0.5], [0.2, 0.5, 0.3]])
    np.testing.assert_array_equal(choose(shares, np.zeros((2, 3)), 10), [2, 1])


@pytest.mark.parametrize("n_neighbors", [1, 3, 7, 49])
def test_some_label_is_always_named(n_neighbors):
    shares = np.full((4, n_neighbors), 1 / n_neighbors)  # up to rounding
    assert choose(shares, np.arange(n_neighbors) + np.zeros((4, 1)), n_neighbors).tolist() == [n_neighbors - 1] * 4


@pytest.mark.parametrize("seed", range(3))
def test_mean_profiles_tell_more_labels_right_than_the_vote(seed):
    # Shallow counts of ten groups; landmarks are means of ten cells, but of the last group there are few.
    rng = np.random.default_rng(seed)
    rates = 0.25 * (0.5 * rng.gamma(0.3, 1.0, 1000) + 0.5 * rng.gamma(0.3, 1.0, (10, 1000)))

    def cells(groups):
        counts = rng.poisson(rates[groups] * rng.lognormal(0, 0.3, (len(groups), 1)))
        return np.log1p(100 * counts / counts.sum(axis=1, keepdims=True))

    groups = np.repeat(np.arange(10), [20] * 9 + [4])
    landmarks = np.mean([cells(groups) for _ in range(10)], axis=0)
    new = np.repeat(np.arange(10), 50)
    speakers = Speakers.of(Rule.of(landmarks, "correlation", 15), landmarks, groups, 10)
    placed = speakers.place(cells(new))
    by_vote = vote(placed.weights, groups, 10).argmax(axis=1)
    assert (placed.labels != new).sum() < 0.7 * (by_vote != new).sum()


@pytest.mark.parametrize("n_landmarks", [None, 30])
def test_new_samples_of_a_group_get_its_label(n_landmarks):
    adata = make_groups((80, 60, 40))
    fitted, new = adata[::2], adata[1::2]
    model = UTC(3, n_landmarks=n_landmarks).fit(fitted.X)
    names = dict(zip(model.labels_, fitted.obs["group"], strict=True))
    assert [names[label] for label in model.predict(new.X)] == new.obs["group"].tolist()
    together = np.vstack([model.embedding_, model.transform(new.X)])
    nearest = cdist(together[90:], together[:90]).argmin(axis=1)
    assert adjusted_rand_score(fitted.obs["group"].to_numpy()[nearest], new.obs["group"]) == 1.0


def test_fewer_features_than_were_fitted_are_refused():
    X = make_groups().X
    model = UTC(3).fit(X)
    for method in (model.transform, model.predict):
        with pytest.raises(ValueError, match="X has 59 features, but UTC is expecting 60"):
            method(X[:, 1:])


def test_bad_new_samples_are_named():
    X = make_groups().X
    model = UTC(3).fit(X)
    X[7, 4] = np.nan
    with pytest.raises(ValueError, match="1 NaN and 0 infinite values, the first in cell 7, gene 4"):
        model.predict(X)
    X[7] = 0.0
    with pytest.raises(ValueError, match="the first of them is cell 7 "):
        model.transform(sparse.csr_matrix(X))


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_directions_of_many_cells_come_from_some_of_them(metric, monkeypatch):
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(90, 30)) + 5 * rng.normal(size=(3, 30))[np.repeat(np.arange(3), 30)]
    whole = weights_of(Rule.of(cells, metric, 5), cells[:7] + 0.01)
    monkeypatch.setattr("scutc.core.subspace.MAX_CELLS", 45)
    some = weights_of(Rule.of(cells, metric, 5), cells[:7] + 0.01)
    assert some.shape == whole.shape
    # 30 genes have no more than 30 directions, which 45 cells span as well as 90.
    np.testing.assert_allclose(some.toarray(), whole.toarray(), atol=1e-6)


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_directions_point_to_the_cell_that_lies_farthest_out(metric):
    # Else rounding may turn them round, and with them the boxes in which landmarks are chosen.
    cells = np.random.default_rng(0).normal(size=(60, 30))
    coordinates = Subspace.of(cells, metric).coordinates(cells)[:, :20]
    farthest = np.abs(coordinates).argmax(axis=0)
    assert (coordinates[farthest, np.arange(20)] > 0).all()
