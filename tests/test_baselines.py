"""Each baseline: its kernel against a literal transcription, a case that it solves and one that it is known to fail."""

from __future__ import annotations

import inspect
import itertools
import math
import tracemalloc
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import pdist
from sklearn.cluster import SpectralClustering as ScikitLearnSpectralClustering
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import scutc
from conftest import make_groups
from scutc.baselines import CAN, CAVE, IPS2, PPS, SpectralClustering, _base, can, cave, pps
from scutc.core import eigen
from scutc.core.affinities.tetradic import RELATIVE_EPSILON
from scutc.core.geometry import Geometry
from scutc.core.normalization import normalize
from scutc.datasets import syndata1, syndata2

BASELINES = [SpectralClustering, CAN, CAVE, PPS, IPS2]


def points(n: int, n_features: int = 4, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, n]).random((n, n_features))


def euclidean(X: np.ndarray) -> Geometry:
    return Geometry.of(X, "euclidean", 1)


def agreement(model, X: np.ndarray, truth: np.ndarray) -> float:
    return adjusted_rand_score(truth, model.fit_predict(X))


# What all have in common


# Correlation means nothing for the data of some checks, which have two features or cells without variance.
@pytest.mark.filterwarnings("ignore:The graph has:sklearn.exceptions.ConvergenceWarning")  # not what this is about
@parametrize_with_checks([baseline(metric="euclidean") for baseline in BASELINES])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("baseline", BASELINES)
def test_interface_is_that_of_utc(baseline):
    assert baseline.__name__ in scutc.baselines.__all__
    first, *others = inspect.signature(baseline).parameters.values()
    assert (first.name, first.kind) == ("n_clusters", first.POSITIONAL_OR_KEYWORD)
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in others)
    utc = inspect.signature(scutc.UTC).parameters
    for name in ("metric", "random_state"):
        assert inspect.signature(baseline).parameters[name].default == utc[name].default


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
@pytest.mark.parametrize("baseline", BASELINES)
def test_dense_and_sparse_give_the_same_clear_groups(baseline, metric):
    adata = make_groups((13, 17, 20))
    dense = baseline(3, metric=metric).fit(adata.X)
    np.testing.assert_array_equal(dense.labels_, np.repeat([2, 1, 0], (13, 17, 20)))
    for container in (sparse.csr_matrix, sparse.csc_array):
        found = baseline(3, metric=metric).fit(container(adata.X)).affinity_matrix_
        np.testing.assert_allclose(found, dense.affinity_matrix_, atol=1e-4 * dense.affinity_matrix_.max())


@pytest.mark.filterwarnings("ignore:The graph has:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("X", "n_clusters"),
    [
        (np.ones((30, 4)), 5),
        (np.repeat([[0.0, 0.0], [1.0, 5.0]], 20, axis=0), 3),
        (points(40), 1),
        (points(40), 39),
        (points(40), 40),
        *((points(n), c) for n in (2, 3, 4, 5) for c in range(1, n + 1)),
    ],
)
@pytest.mark.parametrize("baseline", BASELINES)
def test_exactly_so_many_clusters_numbered_by_size(baseline, X, n_clusters):
    sizes = np.bincount(baseline(n_clusters, metric="euclidean").fit_predict(X))
    assert len(sizes) == n_clusters
    assert sizes.min() > 0
    assert np.all(np.diff(sizes) <= 0)


def test_largest_cluster_gives_up_cells_where_k_means_found_too_few():
    assert _base._fill_up(np.array([3, 3, 1, 3, 3]), 4).tolist() == [0, 0, 1, 3, 2]


@pytest.mark.parametrize("baseline", BASELINES)
def test_same_result_on_every_run_and_for_any_threads(baseline):
    X = points(50, 30)
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(baseline(4, random_state=3).fit(X))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_array_equal(found[0].affinity_matrix_, found[1].affinity_matrix_)
    drawn = baseline(4, random_state=np.random.RandomState(5)).fit(X)
    np.testing.assert_array_equal(baseline(4, random_state=drawn.seed_).fit_predict(X), drawn.labels_)


@pytest.mark.parametrize("baseline", BASELINES)
def test_one_feature_falls_back_to_euclidean(baseline):
    X = np.repeat([[0.0], [10.0]], 20, axis=0) + points(40, 1)
    with pytest.warns(UserWarning, match="single feature"):
        model = baseline(2).fit(X)
    assert model.metric_ == "euclidean"
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], 20))


@pytest.mark.parametrize(
    ("baselines", "parameters", "message"),
    [
        (BASELINES, {"n_clusters": 0}, "n_clusters=0 is not a positive integer"),
        (BASELINES, {"n_clusters": None}, "n_clusters=None is not a positive integer"),
        (BASELINES, {"n_clusters": 41}, r"n_clusters=41 is more than there are cells \(n_samples=40\): ask for fewer"),
        (
            BASELINES,
            {"metric": "cosine"},
            "metric='cosine' is unknown. Valid: 'auto', 'correlation', 'spearman', 'euclidean'",
        ),
        (BASELINES, {"random_state": -1}, "random_state=-1 is not a seed: an integer from 0"),
        ([SpectralClustering, CAVE], {"bandwidth": 0}, "bandwidth=0 is not a positive number"),
        ([SpectralClustering, CAVE], {"bandwidth": "median"}, "bandwidth='median' is not a positive number"),
        ([CAN, PPS, IPS2], {"n_neighbors": 0}, "n_neighbors=0 is not a positive integer"),
        ([CAN, PPS, IPS2], {"n_neighbors": 2.5}, "n_neighbors=2.5 is not a positive integer"),
        ([CAN], {"max_iter": None}, "max_iter=None is not a positive integer"),
        ([PPS, IPS2], {"sharpness": -1.0}, "sharpness=-1.0 is not a positive number"),
        ([PPS, IPS2], {"sharpness": True}, "sharpness=True is not a positive number"),
        ([PPS, IPS2], {"sharpness": 300}, "sharpness=300 is more than 80"),
        ([CAN, IPS2], {"n_neighbors": None}, "n_neighbors=None is not a positive integer"),
        ([IPS2], {"pair_neighbors": 0}, "pair_neighbors=0 is not a positive integer or None"),
        ([PPS, IPS2], {"n_eigenvectors": 0}, "n_eigenvectors=0 is not a positive integer"),
        ([IPS2], {"weight": np.inf}, "weight=inf is not a positive number"),
    ],
)
def test_bad_parameters_are_named(baselines, parameters, message):
    for baseline in baselines:
        with pytest.raises(ValueError, match=message):
            baseline(**parameters).fit(points(40))


@pytest.mark.parametrize("baseline", BASELINES)
def test_bad_data_are_named(baseline):
    X = points(40)
    X[3, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"1 NaN and 0 infinite values, the first in cell 3, gene 1 .*: impute or remove"
    ):
        baseline(2).fit(X)
    X[3] = 0.0
    with pytest.raises(ValueError, match="1 of 40 cells have the same value in all genes"):
        baseline(2).fit(X)


# Cases: what each baseline solves and what it cannot


def crossing_lines() -> tuple[np.ndarray, np.ndarray]:
    adata = syndata1()
    return adata.X, adata.obs["label"].to_numpy()


def compact_groups() -> tuple[np.ndarray, np.ndarray]:
    return make_blobs(90, centers=[[0, 0], [10, 0], [0, 10]], random_state=0)


def rings() -> tuple[np.ndarray, np.ndarray]:
    return make_circles(200, noise=0.03, factor=0.4, random_state=0)


def small_group(n_small: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(0, 1, (200, 2)), rng.normal(8, 1, (n_small, 2))])
    return X, np.repeat([0, 1], [200, n_small])


def test_spectral_clustering_finds_compact_groups():
    assert agreement(SpectralClustering(3, metric="euclidean"), *compact_groups()) == 1.0


def test_spectral_clustering_mixes_crossing_lines_since_distances_do_not_see_lines():
    assert agreement(SpectralClustering(2, metric="euclidean"), *crossing_lines()) < 0.2


def test_spectral_clustering_cuts_rings_across_since_one_bandwidth_is_wider_than_the_gap():
    X, truth = rings()
    assert agreement(SpectralClustering(2, metric="euclidean"), X, truth) < 0.2
    assert agreement(SpectralClustering(2, metric="euclidean", bandwidth=0.1), X, truth) == 1.0


@pytest.mark.parametrize("data", [rings(), make_moons(200, noise=0.05, random_state=0), compact_groups()])
def test_can_finds_groups_with_a_gap_whatever_their_shape(data):
    X, truth = data
    assert agreement(CAN(len(set(truth)), metric="euclidean"), X, truth) == 1.0


def test_can_mixes_crossing_lines_since_neighbors_at_the_crossing_join_them():
    assert agreement(CAN(2, metric="euclidean", n_neighbors=5), *crossing_lines()) < 0.2


def test_cave_finds_compact_groups():
    assert agreement(CAVE(3, metric="euclidean"), *compact_groups()) == 1.0


@pytest.mark.parametrize("data", [crossing_lines(), rings()])
def test_cave_cuts_groups_that_are_not_compact_since_its_triples_are_fitted_by_a_point(data):
    assert agreement(CAVE(2, metric="euclidean"), *data) < 0.2


@pytest.mark.parametrize("data", [rings(), compact_groups()])
@pytest.mark.parametrize("baseline", [PPS, IPS2])
def test_pairs_of_pairs_find_groups_with_a_gap(baseline, data):
    X, truth = data
    assert agreement(baseline(len(set(truth)), metric="euclidean"), X, truth) == 1.0


@pytest.mark.parametrize("baseline", [PPS, IPS2])
def test_pairs_of_pairs_mix_crossing_lines_since_a_pair_says_nothing_of_lines(baseline):
    assert agreement(baseline(2, metric="euclidean"), *crossing_lines()) < 0.2


@pytest.mark.parametrize("baseline", [PPS, IPS2])
def test_pairs_of_pairs_lose_a_group_smaller_than_the_neighborhood_since_it_pairs_with_others(baseline):
    X, truth = small_group(8)
    names = {"n_neighbors", "pair_neighbors"} & baseline().get_params().keys()
    assert agreement(baseline(2, metric="euclidean", **dict.fromkeys(names, 10)), X, truth) < 0.2
    assert agreement(baseline(2, metric="euclidean", **dict.fromkeys(names, 5)), X, truth) == 1.0


def test_weights_of_all_pairs_find_groups_that_neighbors_lose_in_noise():
    adata = syndata2(2000, group_sizes=(20, 18, 15))
    X, truth = adata.X, adata.obs["label"]
    model = PPS(3, metric="euclidean").fit(X)
    assert adjusted_rand_score(truth, model.labels_) > 0.9
    # Which pairs are similar at all says nothing.
    unweighted = (model.affinity_matrix_ > 0).astype(float)
    assert adjusted_rand_score(truth, _base.normalized_cut(unweighted, 3, seed=0)) < 0.1
    assert agreement(PPS(3, metric="euclidean", n_neighbors=10), X, truth) < 0.85


# Spectral clustering


def test_gaussian_affinity_equals_the_formula():
    X = points(9)
    distances = [math.dist(X[i], X[j]) for i, j in itertools.combinations(range(9), 2)]
    width = 0.7 * np.median(distances)
    expected = [[math.exp(-(math.dist(a, b) ** 2) / (2 * width**2)) for b in X] for a in X]
    np.fill_diagonal(expected := np.array(expected), 0.0)
    np.testing.assert_allclose(_base.gaussian_affinity(euclidean(X), 0.7), expected, atol=1e-12)


def test_mean_distance_is_the_width_where_most_cells_coincide():
    X = np.repeat([[0.0], [1.0]], [9, 1], axis=0)
    # 9 of 45 distances are 1, the others 0.
    affinity = _base.gaussian_affinity(euclidean(X), 1.5)
    assert affinity[0, 9] == pytest.approx(math.exp(-1 / (2 * (1.5 * 9 / 45) ** 2)))
    assert affinity[0, 1] == 1.0


@pytest.mark.parametrize(("bandwidth", "affinity"), [(1e200, 1.0), (1e308, 1.0), (1e-200, 0.0), (5e-324, 0.0)])
@pytest.mark.parametrize("baseline", [SpectralClustering, CAVE])
def test_absurd_bandwidth_makes_all_samples_alike_or_none(baseline, bandwidth, affinity):
    model = baseline(3, bandwidth=bandwidth).fit(points(40))
    np.testing.assert_allclose(model.affinity_matrix_, affinity * (1 - np.eye(40)), atol=1e-12)
    assert len(np.unique(model.labels_)) == 3


@pytest.mark.parametrize("baseline", [SpectralClustering, CAVE, PPS, IPS2])
def test_seed_reaches_k_means(baseline, monkeypatch):
    seeds = []

    def record(affinity, *, n_clusters, random_state):
        seeds.append(random_state)
        return np.arange(len(affinity)) % n_clusters

    monkeypatch.setattr(_base, "spectral_clustering", record)
    baseline(3, random_state=11).fit(points(20))
    assert seeds == [11]


def test_spectral_clustering_equals_that_of_scikit_learn():
    X = points(80, 3)
    model = SpectralClustering(4, metric="euclidean").fit(X)
    width = np.median(pdist(X))
    expected = ScikitLearnSpectralClustering(4, gamma=1 / (2 * width**2), random_state=0).fit_predict(X)
    assert adjusted_rand_score(expected, model.labels_) == 1.0


# CAN


def test_projection_to_the_simplex_equals_a_search_for_the_threshold():
    rows = np.random.default_rng(0).normal(0, 3, (50, 12))
    found = can.project_to_simplex(rows)
    for row, projected in zip(rows, found, strict=True):
        low, high = row.min() - 1, row.max()
        for _ in range(200):
            threshold = (low + high) / 2
            total = sum(max(value - threshold, 0.0) for value in row)
            low, high = (threshold, high) if total > 1 else (low, threshold)
        np.testing.assert_allclose(projected, [max(value - threshold, 0.0) for value in row], atol=1e-12)


@pytest.mark.parametrize(("n", "k"), [(12, 4), (30, 7)])
def test_first_graph_of_can_is_the_closed_form_with_k_neighbors(n, k):
    squared = euclidean(points(n)).squared_distances
    weights = np.zeros((n, n))
    for i in range(n):
        order = sorted((j for j in range(n) if j != i), key=lambda j: squared[i, j])
        beyond = squared[i, order[k]]
        for j in order[:k]:
            weights[i, j] = (beyond - squared[i, j]) / (k * beyond - sum(squared[i, order[:k]]))
    found = can.neighbor_graph(squared, can.spreading_penalties(squared, k)[:, None])
    np.testing.assert_allclose(found, (weights + weights.T) / 2, atol=1e-12)


@pytest.mark.parametrize("n_clusters", [2, 3, 5, 8])
def test_can_learns_a_graph_of_exactly_so_many_components(n_clusters):
    X = points(100, 10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = CAN(n_clusters).fit(X)
    n_components, components = connected_components(model.affinity_matrix_)
    assert n_components == model.n_components_ == n_clusters
    assert adjusted_rand_score(components, model.labels_) == 1.0
    assert 1 < model.n_iter_ <= model.max_iter


@pytest.mark.parametrize(("X", "n_clusters"), [(points(40, 2), 3), (points(60, 4, seed=1), 2)])
def test_can_takes_pressure_back_where_the_graph_fell_into_too_many_parts(X, n_clusters, monkeypatch):
    counts = []

    def record(*arguments, **options):
        counts.append(connected_components(*arguments, **options)[0])
        return connected_components(*arguments, **options)

    monkeypatch.setattr(can, "connected_components", record)
    model = CAN(n_clusters, metric="euclidean", n_neighbors=8).fit(X)
    assert max(counts) > n_clusters
    assert model.n_components_ == n_clusters


def test_can_warns_of_too_few_components_and_cuts_the_graph():
    with pytest.warns(ConvergenceWarning, match=r"1 connected components after max_iter=1 .* n_clusters=3.*fewer neig"):
        model = CAN(3, max_iter=1).fit(points(100, 10))
    assert model.n_components_ == 1
    assert len(np.unique(model.labels_)) == 3


def test_can_warns_of_too_many_components_and_merges_the_nearest():
    X, groups = make_blobs(60, centers=[[0, 0], [20, 0], [100, 0]], random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"3 connected components .* n_clusters=2.*more neighbours"):
        model = CAN(2, metric="euclidean", n_neighbors=5).fit(X)
    assert model.n_components_ == 3
    assert adjusted_rand_score(groups == 2, model.labels_) == 1.0


# CAVE


@pytest.mark.parametrize("n", [3, 4, 5, 6, 9])
def test_clique_averaging_equals_dense_least_squares(n):
    X = points(n)
    bandwidth = 0.8
    geometry = euclidean(X)
    width = bandwidth * np.median(geometry.distances[np.triu_indices(n, 1)])
    pairs = list(itertools.combinations(range(n), 2))
    triples = list(itertools.combinations(range(n), 3))
    means = np.zeros((len(triples), len(pairs)))
    affinities = np.zeros(len(triples))
    for row, triple in enumerate(triples):
        edges = list(itertools.combinations(triple, 2))
        means[row, [pairs.index(edge) for edge in edges]] = 1 / 3
        affinities[row] = math.exp(-sum(geometry.squared_distances[edge] for edge in edges) / (2 * width**2))
    expected = np.zeros((n, n))
    expected[tuple(np.transpose(pairs))] = np.linalg.lstsq(means, affinities, rcond=None)[0]
    expected += expected.T
    found = cave.average_cliques(cave.sum_triples(geometry, bandwidth))
    np.testing.assert_allclose(found, expected, atol=1e-10)
    # Some edges come out negative: what the estimator cuts at 0.
    fitted = CAVE(2, metric="euclidean", bandwidth=bandwidth).fit(X)
    np.testing.assert_allclose(fitted.affinity_matrix_, np.maximum(expected, 0), atol=1e-10)


def test_clique_averaging_returns_the_graph_that_triples_are_means_of():
    graph = points(8, 8)
    graph = graph + graph.T
    np.fill_diagonal(graph, 0.0)
    sums = np.zeros((8, 8))
    for i, j, k in itertools.permutations(range(8), 3):
        sums[i, j] += (graph[i, j] + graph[j, k] + graph[i, k]) / 3
    np.testing.assert_allclose(cave.average_cliques(sums), graph, atol=1e-12)


# PPS and IPS2


def unfolded_tensor(X: np.ndarray, sharpness: float, kept: np.ndarray) -> np.ndarray:
    """D^-½ T₄ D^-½ over the ordered pairs that are kept, n² × n², by loops."""
    n = len(X)
    d = [[math.dist(a, b) for b in X] for a in X]
    epsilon = RELATIVE_EPSILON * np.mean(d)
    tensor = np.zeros((n * n, n * n))
    for i, j, k, m in itertools.product(range(n), repeat=4):
        if kept[i, j] and kept[k, m]:
            ratio = (d[i][j] + d[k][m]) / (d[i][k] + d[j][m] + epsilon)
            tensor[i * n + j, k * n + m] = math.exp(-sharpness * ratio)
    degrees = tensor.sum(axis=1)
    roots = np.sqrt(np.where(degrees > 0, degrees, 1.0))
    return tensor / roots[:, None] / roots


def kept_pairs(n: int, pairs: np.ndarray) -> np.ndarray:
    kept = np.zeros((n, n), dtype=bool)
    kept[pairs[0], pairs[1]] = kept[pairs[1], pairs[0]] = True
    return kept


# Five neighbours among six samples are all pairs: nothing is left out of the tensor.
@pytest.mark.parametrize(("n", "n_neighbors"), [(6, 5), (9, 3)])
def test_tetradic_operator_equals_the_unfolded_tensor(n, n_neighbors, monkeypatch):
    monkeypatch.setattr(pps, "ENTRIES_TO_READ", 40)  # a few rows at a time
    X = points(n)
    geometry = euclidean(X)
    pairs = pps.list_pairs(geometry, n_neighbors)
    operator = pps.TetradicOperator(geometry, 2.0, pairs)
    coordinates = np.random.default_rng(1).random(operator.shape[0])
    symmetric = np.zeros((n, n))
    symmetric[pairs[0], pairs[1]] = symmetric[pairs[1], pairs[0]] = operator.entries(coordinates[:, None]).ravel()
    assert np.linalg.norm(symmetric) == pytest.approx(np.linalg.norm(coordinates))
    expected = (unfolded_tensor(X, 2.0, kept_pairs(n, pairs)) @ symmetric.ravel()).reshape(n, n)
    found = operator.entries(operator.matvec(coordinates)[:, None]).ravel()
    np.testing.assert_allclose(found, expected[pairs[0], pairs[1]], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(operator.toarray() @ coordinates, operator.matvec(coordinates), rtol=1e-4)


@pytest.mark.parametrize("n_eigenvectors", [1, 3, 5])
@pytest.mark.parametrize(("n", "n_neighbors"), [(6, 5), (9, 3)])
def test_pair_to_pair_similarity_equals_eigenvectors_of_the_unfolded_tensor(n, n_neighbors, n_eigenvectors):
    X = points(n)
    geometry = euclidean(X)
    kept = kept_pairs(n, pps.list_pairs(geometry, n_neighbors))
    values, vectors = np.linalg.eigh(unfolded_tensor(X, 2.0, kept))
    expected, n_found = np.zeros((n, n)), 0
    for value, vector in zip(values[::-1], vectors.T[::-1], strict=True):
        matrix = vector.reshape(n, n)
        if n_found < n_eigenvectors and np.allclose(matrix, matrix.T, atol=1e-6):
            expected += value * np.trace(matrix) * matrix
            n_found += 1
    np.fill_diagonal(expected, 0.0)
    found = pps.pair_to_pair_similarity(geometry, n_neighbors, 2.0, n_eigenvectors)
    np.testing.assert_allclose(found, np.maximum(expected, 0.0), atol=1e-4)
    assert found.max() > 0.01


def test_pair_to_pair_similarity_of_a_decomposable_tensor_is_the_pairwise_one(monkeypatch):
    n = 8
    geometry = euclidean(points(n))
    similarity = _base.gaussian_affinity(geometry, 0.5) + np.eye(n)

    class Decomposable(pps.TetradicOperator):
        def _rows(self, block):
            (i, j), (k, m) = self.pairs[:, block, None], self.pairs
            return similarity[i, k] * similarity[j, m] + similarity[i, m] * similarity[j, k]

    monkeypatch.setattr(pps, "TetradicOperator", Decomposable)
    values, vectors = np.linalg.eigh(normalize(similarity))
    # Of the three leading products of two eigenvectors the second is of different ones and has no trace.
    assert values[-2] * values[-2] > values[-1] * values[-3]
    expected = (vectors[:, -2:] * values[-2:] ** 2) @ vectors[:, -2:].T
    np.fill_diagonal(expected, 0.0)
    found = pps.pair_to_pair_similarity(geometry, n - 1, 2.0, 3)
    np.testing.assert_allclose(found, np.maximum(expected, 0.0), atol=1e-6)


def test_iterative_and_matrix_free_equal_dense(monkeypatch):
    geometry = euclidean(points(36))  # 666 pairs
    iterative = pps.pair_to_pair_similarity(geometry, 35, 2.0, 3)
    with monkeypatch.context() as patched:
        patched.setattr(pps, "MIN_PAIRS_ITERATIVE", 10_000)
        patched.delattr(eigen, "eigsh")
        dense = pps.pair_to_pair_similarity(geometry, 35, 2.0, 3)
        patched.setattr(pps, "MAX_PAIRS_DENSE", 600)
        with pytest.raises(NameError, match="eigsh"):
            pps.pair_to_pair_similarity(geometry, 35, 2.0, 3)
    np.testing.assert_allclose(iterative, dense, rtol=0, atol=1e-5 * dense.max())
    monkeypatch.setattr(pps, "MAX_PAIRS_STORED", 0)
    matrix_free = pps.pair_to_pair_similarity(geometry, 35, 2.0, 3)
    np.testing.assert_allclose(matrix_free, iterative, rtol=0, atol=1e-5 * dense.max())


@pytest.mark.parametrize("baseline", [PPS, IPS2])
def test_three_hundred_samples_fit_into_little_memory(baseline):
    X, truth = make_blobs(300, n_features=20, centers=4, random_state=0)
    tracemalloc.start()
    labels = baseline(4, metric="euclidean").fit_predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # All pairs by all pairs would be 8 GB in single precision.
    assert peak < 0.3e9
    assert adjusted_rand_score(truth, labels) == 1.0


@pytest.mark.parametrize(("n_neighbors", "n_pairs"), [(None, "all"), (4, "near")])
@pytest.mark.parametrize("n", [30, 31])
def test_all_pairs_are_taken_up_to_a_number_of_samples(n, n_neighbors, n_pairs, monkeypatch):
    monkeypatch.setattr(pps, "MAX_SAMPLES_ALL_PAIRS", 30)
    chosen = pps.choose_pair_neighbors(n_neighbors, n)
    assert chosen == (4 if n_pairs == "near" else 29 if n == 30 else 10)
    n_found = pps.list_pairs(euclidean(points(n)), chosen).shape[1]
    assert (n_found == n * (n + 1) // 2) == (chosen == n - 1)


@pytest.mark.parametrize("baseline", [PPS, IPS2])
def test_sharpness_up_to_its_limit_stays_finite(baseline):
    found = baseline(3, sharpness=pps.MAX_SHARPNESS).fit(points(40)).affinity_matrix_
    assert np.isfinite(found).all()
    assert found.max() > 0.01


@pytest.mark.parametrize("pair_neighbors", [None, 6])
def test_ips2_adds_the_normalised_similarities(pair_neighbors):
    X = points(50, 10)
    alone = PPS(3, n_neighbors=pair_neighbors).fit(X).affinity_matrix_
    light, heavy = (
        IPS2(3, weight=weight, pair_neighbors=pair_neighbors).fit(X).affinity_matrix_ for weight in (1e-9, 2.0)
    )
    np.testing.assert_allclose(heavy - light, 2 * normalize(alone), atol=1e-6)
    # What is left without pairs of pairs is the pairwise similarity, whose largest normalised eigenvalue is 1.
    assert np.linalg.eigvalsh(light)[-1] == pytest.approx(1.0)
