"""Each order against a literal transcription of its formula: loops over tuples of cells, one number at a time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import rankdata

from scutc import UTC
from scutc.core.affinities import AFFINITIES, contraction
from scutc.core.affinities.pairwise import PairwiseAffinity, _entropic_rows
from scutc.core.affinities.tetradic import RELATIVE_EPSILON, TetradicAffinity
from scutc.core.affinities.triadic import TriadicAffinity
from scutc.core.geometry import Geometry

if TYPE_CHECKING:
    from scutc.core.settings import Settings

SIZES = [3, 5, 11, 17]
METRICS = ["correlation", "spearman", "euclidean"]
CONTAINERS = [np.asarray, sparse.csr_matrix]


def settings(**changes) -> Settings:
    return UTC(**({"n_neighbors": 4, "n_anchors": None, "n_pairs": None} | changes))._settings(n_features=30)


def cells(n: int, metric: str) -> tuple[np.ndarray, np.ndarray]:
    """Data, and the points between which the metric's distances are Euclidean."""
    rng = np.random.default_rng([n, 1])
    X = rng.gamma(2.0, size=(n, 25)) * (rng.random((n, 25)) < 0.6)
    if metric == "euclidean":
        return X, X
    points = rankdata(X, axis=1) if metric == "spearman" else X
    points = points - points.mean(axis=1, keepdims=True)
    return X, points / np.linalg.norm(points, axis=1, keepdims=True)


def distance(points: np.ndarray, i: int, j: int) -> float:
    return math.dist(points[i], points[j])


def triadic(points: np.ndarray, i: int, j: int, k: int) -> float:
    to_i, to_k = points[i] - points[j], points[k] - points[j]
    lengths = np.linalg.norm(to_i) * np.linalg.norm(to_k)
    return abs(to_i @ to_k) / lengths if lengths > 0 else 0.0


def tetradic(points: np.ndarray, sigma: float, epsilon: float, i: int, j: int, k: int, m: int) -> float:
    tight = distance(points, i, j) + distance(points, k, m)
    apart = distance(points, i, k) + distance(points, j, m) + epsilon
    return math.exp(-sigma * tight / apart)


def near_pairs(points: np.ndarray, n_neighbors: int) -> list[tuple[int, int]]:
    n = len(points)
    pairs = set()
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: distance(points, i, j))
        pairs |= {(min(i, j), max(i, j)) for j in others[:n_neighbors]}
    return sorted(pairs)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", SIZES)
def test_pairwise_equals_the_formula(n, metric, container):
    X, points = cells(n, metric)
    affinity = PairwiseAffinity(Geometry.of(container(X), metric), settings())
    # Four neighbours, or a third of the others where these are few, or what lies between none and all of three.
    perplexity = {3: 1.5, 5: 2.0}.get(n, min(4.0, (n - 1) / 3))
    probabilities = np.zeros((n, n))
    for i in range(n):
        others = sorted((j for j in range(n) if j != i), key=lambda j: distance(points, i, j))
        seen = others[: math.ceil(3 * perplexity)]
        # The bandwidth by bisection.
        low, high = 1e-9, 1e9
        for _ in range(200):
            beta = math.sqrt(low * high)
            weights = [math.exp(-beta * distance(points, i, j) ** 2) if j in seen else 0.0 for j in range(n)]
            if sum(weights) == 0:
                high = beta
                continue
            row = [weight / sum(weights) for weight in weights]
            entropy = -sum(p * math.log(p) for p in row if p > 0)
            low, high = (beta, high) if entropy > math.log(perplexity) else (low, beta)
        probabilities[i] = row
    expected = (probabilities + probabilities.T) / 2
    np.testing.assert_allclose(affinity.contract().toarray(), expected, atol=1e-8)


def test_pairwise_looks_at_three_times_the_perplexity():
    X, _ = cells(60, "euclidean")
    contracted = PairwiseAffinity(Geometry.of(X, "euclidean"), settings(n_neighbors=4)).contract()
    per_row = np.diff(contracted.indptr)
    assert per_row.min() >= 12
    assert contracted.nnz <= 2 * 12 * 60


def test_pairwise_does_not_mind_a_constant_added_to_squared_distances():
    X, _ = cells(17, "euclidean")
    near = Geometry.of(X, "euclidean")
    # Every cell gets a coordinate of its own: all squared distances grow by the same.
    far = Geometry.of(np.hstack([X, 30.0 * np.eye(17)]), "euclidean")
    one, two = (PairwiseAffinity(geometry, settings()).contract().toarray() for geometry in (near, far))
    np.testing.assert_allclose(one, two, atol=1e-8)


def test_pairwise_gives_coincident_cells_equal_weight():
    X = np.vstack([np.zeros((10, 3)), np.ones((10, 3))])
    contracted = PairwiseAffinity(Geometry.of(X, "euclidean"), settings(n_neighbors=3)).contract().toarray()
    assert contracted[:10, 10:].max() < 1e-12
    np.testing.assert_allclose(contracted.sum(), 20.0)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", SIZES)
def test_triadic_equals_the_formula(n, metric, container):
    X, points = cells(n, metric)
    affinity = TriadicAffinity(Geometry.of(container(X), metric), settings())
    expected = np.zeros((n, n))
    for j in range(n):
        slice_ = np.array([[triadic(points, i, j, k) for k in range(n)] for i in range(n)])
        expected += slice_ / slice_.sum()
    np.testing.assert_allclose(affinity.contract(), expected, rtol=1e-7, atol=1e-12)


def test_triadic_is_zero_where_a_cell_coincides_with_the_anchor():
    X, _ = cells(5, "euclidean")
    X = np.vstack([X, X[0]])
    contracted = TriadicAffinity(Geometry.of(X, "euclidean"), settings()).contract()
    assert np.isfinite(contracted).all()
    expected = np.zeros((6, 6))
    for j in range(6):
        slice_ = np.array([[triadic(X, i, j, k) for k in range(6)] for i in range(6)])
        expected += slice_ / slice_.sum()
    np.testing.assert_allclose(contracted, expected, rtol=1e-7)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", SIZES)
def test_tetradic_equals_the_formula(n, metric, container):
    X, points = cells(n, metric)
    affinity = TetradicAffinity(Geometry.of(container(X), metric), settings())
    pairs = near_pairs(points, 4)
    assert [tuple(pair) for pair in affinity.reference_pairs] == pairs
    epsilon = RELATIVE_EPSILON * np.mean([distance(points, i, j) for i in range(n) for j in range(n)])
    expected = np.zeros((n, n))
    for k, m in pairs + [(m, k) for k, m in pairs]:
        slice_ = np.array([[tetradic(points, 3.0, epsilon, i, j, k, m) for j in range(n)] for i in range(n)])
        expected += slice_ / slice_.sum()
    np.testing.assert_allclose(affinity.contract(), expected, rtol=1e-7)


@pytest.mark.parametrize("order", [3, 4])
def test_single_precision_for_many_cells_is_close_to_double(order, monkeypatch):
    X, _ = cells(40, "correlation")
    double = AFFINITIES["indecomposable"][order](Geometry.of(X, "correlation"), settings()).contract()
    monkeypatch.setattr("scutc.core.geometry.MAX_CELLS_FLOAT64", 10)
    single = AFFINITIES["indecomposable"][order](Geometry.of(X, "correlation"), settings()).contract()
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(double, single, rtol=1e-4)


@pytest.mark.parametrize("order", [3, 4])
def test_slice_sums_over_some_rows_are_close_to_those_over_all(order, monkeypatch):
    X, _ = cells(300, "correlation")
    affinity = AFFINITIES["indecomposable"][order](Geometry.of(X, "correlation"), settings(n_anchors=10, n_pairs=10))
    few = affinity.contract()
    monkeypatch.setattr(contraction, "MAX_ROWS_IN_SUM", 300)
    exact = affinity.contract()
    assert not np.array_equal(few, exact)
    np.testing.assert_allclose(few / few.sum(), exact / exact.sum(), rtol=0.05)


def test_sampled_anchors_and_pairs_are_distinct_and_follow_the_seed():
    geometry = Geometry.of(cells(40, "euclidean")[0], "euclidean")
    first, again, other = (
        TriadicAffinity(geometry, settings(n_anchors=7, random_state=seed)).anchors.tolist() for seed in (0, 0, 1)
    )
    assert first == again != other
    assert len(set(first)) == 7
    pairs = TetradicAffinity(geometry, settings(n_pairs=9)).reference_pairs
    assert len(np.unique(pairs, axis=0)) == 9


def test_auto_takes_all_of_few_cells_and_fewer_of_many_down_to_a_minimum(monkeypatch):
    geometry = Geometry.of(cells(40, "euclidean")[0], "euclidean")
    affinity = TriadicAffinity(geometry, settings(n_anchors="auto"))
    assert len(affinity.anchors) == 40
    monkeypatch.setattr("scutc.core.affinities.base.MAX_TUPLES", 35 * 40**2)
    assert len(affinity.anchors) == 35
    monkeypatch.setattr("scutc.core.affinities.base.MAX_TUPLES", 40**2)
    assert len(affinity.anchors) == 32


@pytest.mark.parametrize("order", [2, 3, 4])
def test_blocks_of_rows_do_not_change_the_result(order, monkeypatch):
    X, _ = cells(30, "correlation")
    geometry = Geometry.of(X, "correlation")
    whole = AFFINITIES["indecomposable"][order](geometry, settings()).contract()
    monkeypatch.setattr("scutc.core.parallel.ENTRIES_IN_CACHE", 90)
    blocks = AFFINITIES["indecomposable"][order](Geometry.of(X, "correlation", 2), settings()).contract()
    dense = [a.toarray() if sparse.issparse(a) else a for a in (whole, blocks)]
    np.testing.assert_allclose(*dense, rtol=1e-9)


def test_newtons_method_does_not_go_to_and_fro():
    # By itself it does for one of these cells, which has few near cells and many far ones, until the steps run out.
    rng = np.random.default_rng(129776)
    centers = 3 * rng.normal(size=(3, 15))
    X = rng.normal(size=(27, 15)) + np.repeat(centers, [12, 9, 6], axis=0)
    geometry = Geometry.of(X, "correlation")
    squared = np.take_along_axis(geometry.squared_distances, geometry.nearest_neighbors(26), axis=1)
    probabilities = _entropic_rows(squared, 26 / 3)
    entropies = -(probabilities * np.log(probabilities)).sum(axis=1)
    np.testing.assert_allclose(np.exp(entropies), 26 / 3, rtol=1e-8)
