from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.metrics import adjusted_rand_score

from conftest import make_groups
from scutc import UTC
from scutc.core.geometry import Geometry
from scutc.core.metric import METRICS, Euclidean, Metric, usable_metric
from scutc.core.subspace import Subspace

CONTAINERS = [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csr_array]
SCALE_FREE = ["correlation", "spearman"]  # of each cell
each_metric = pytest.mark.parametrize("metric", METRICS)
each_container = pytest.mark.parametrize("container", CONTAINERS)


def counts(n_cells: int = 12, n_genes: int = 30, seed: int = 0) -> np.ndarray:
    """Many ties and zeros, some negative values."""
    return np.random.default_rng(seed).poisson(1.0, size=(n_cells, n_genes)) - (np.arange(n_genes) == 3.0)


def formula(X: np.ndarray, metric: str) -> np.ndarray:
    """Squared distances, cell by cell, from the textbook."""
    squared = np.zeros((len(X), len(X)))
    for i, one in enumerate(X):
        for j, other in enumerate(X):
            if metric == "euclidean":
                squared[i, j] = np.sum((one - other) ** 2)
            elif metric == "correlation":
                squared[i, j] = 2 - 2 * np.corrcoef(one, other)[0, 1]
            else:
                squared[i, j] = 2 - 2 * spearmanr(one, other).statistic
    return squared


def unit(X: np.ndarray, metric: str) -> float:
    """Of squared distances: the Euclidean ones are measured in a power of two."""
    learned = METRICS[metric].of(X)
    return 4.0**learned.exponent if isinstance(learned, Euclidean) else 1.0


@each_container
@each_metric
def test_distances_equal_those_of_the_formula(metric, container):
    X = counts()
    squared = unit(X, metric) * Geometry.of(container(X), metric).squared_distances
    np.testing.assert_allclose(squared, formula(X, metric), atol=1e-10)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
def test_stored_zeros_tie_with_those_that_are_not(container):
    X = counts()
    stored = sparse.csr_array(X + 10.0)
    stored.data -= 10.0  # all entries are stored, zeros too
    assert stored.nnz == X.size
    for metric in METRICS:
        found, expected = (Geometry.of(matrix, metric).squared_distances for matrix in (container(stored), X))
        np.testing.assert_allclose(found, expected, atol=1e-10)


@each_metric
def test_a_sparse_matrix_is_not_densified(metric, monkeypatch):
    matrix = sparse.csr_array(sparse.random(30, 5000, density=0.01, random_state=0))
    shapes = []
    for kind in (sparse.csr_array, sparse.csc_array, sparse.coo_array):
        toarray = kind.toarray
        monkeypatch.setattr(kind, "toarray", lambda self, _f=toarray: shapes.append(self.shape) or _f(self))
        monkeypatch.setattr(kind, "todense", lambda self: pytest.fail("densified"))
    Subspace.of(matrix, metric).coordinates(matrix)
    assert all(5000 not in shape for shape in shapes)


@each_container
@each_metric
def test_projections_are_inner_products_with_directions(metric, container):
    X, new = counts(), counts(5, seed=1)
    learned = METRICS[metric].of(container(X))
    rows, new_rows = learned.standardize(container(X)), learned.standardize(container(new))
    together = learned.standardize(container(np.vstack([X, new])))
    weights = np.random.default_rng(2).normal(size=(12, 3))
    # Inner products of the new cells with weighted sums of the others, in two ways.
    products = together.inner_products(slice(12, 17), slice(0, 12)) @ weights
    np.testing.assert_allclose(new_rows.project(rows.combine(weights)), products, atol=1e-10)


@each_container
@each_metric
def test_coincident_cells_are_at_distance_zero(metric, container):
    X = counts(10, 50)
    zero = Geometry.of(container(np.vstack([X, X])), metric).distances == 0
    np.testing.assert_array_equal(zero, np.tile(np.eye(10, dtype=bool), (2, 2)))


def test_euclidean_distances_survive_a_large_offset():
    points = np.random.default_rng(0).normal(size=(20, 5))
    squared = unit(points + 1e6, "euclidean") * Geometry.of(points + 1e6, "euclidean").squared_distances
    np.testing.assert_allclose(squared, cdist(points, points, "sqeuclidean"), rtol=1e-6, atol=1e-6)


@each_container
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
@each_metric
def test_the_scale_of_the_data_does_not_matter(metric, scale, container):
    X = counts().astype(float)
    expected = Geometry.of(X, metric).squared_distances
    found = Geometry.of(container(scale * X), metric).squared_distances
    np.testing.assert_allclose(found / found.max(), expected / expected.max(), atol=1e-9)


@each_container
@pytest.mark.parametrize("metric", ["correlation"])  # ranks do not see how much values differ
def test_nearly_constant_cells_have_the_distances_of_their_deviations(metric, container):
    # Without zeros, since a cell with zeros beside other values is not nearly constant.
    X = np.random.default_rng(0).normal(size=(12, 30))
    expected = Geometry.of(X, metric).squared_distances
    found = Geometry.of(container(1.0 + 1e-6 * X), metric).squared_distances
    np.testing.assert_allclose(found, expected, atol=1e-8)


@each_container
@pytest.mark.parametrize("metric", SCALE_FREE)
def test_cells_that_are_constant_up_to_rounding_are_named(metric, container):
    X = counts().astype(float)
    X[4] = 0.1 + 0.2
    X[4, ::2] = 0.3  # which differs in the last bit
    X[7] = 0.0
    if metric == "spearman":  # ranks see the last bit
        X[4] = 0.3
    learned = METRICS[metric].of(container(X))
    with pytest.raises(ValueError, match=r"2 of 12 cells have the same value .* cell 4 .* use metric='euclidean'"):
        learned.standardize(container(X))
    with pytest.raises(ValueError, match="the first of them is cell 104 "):
        learned.standardize(container(X), np.arange(100, 112))


@pytest.mark.parametrize("n_landmarks", [None, 30])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", SCALE_FREE)
def test_one_huge_cell_is_a_cell_like_others_where_each_has_its_own_scale(metric, container, n_landmarks):
    adata = make_groups((40, 30, 20))
    X = adata.X.astype(float)
    X[50] *= 1e250
    labels = UTC(3, metric=metric, n_landmarks=n_landmarks).fit_predict(container(X))
    assert adjusted_rand_score(adata.obs["group"], labels) == 1.0


@pytest.mark.parametrize("n_landmarks", [None, 30])
@pytest.mark.parametrize("scale", [1e4, 1e6, 1e250])
@pytest.mark.parametrize("max_cells", [10, 500])
def test_one_huge_cell_does_no_harm_to_euclidean_distances_but_its_own(scale, n_landmarks, max_cells, monkeypatch):
    monkeypatch.setattr("scutc.core.geometry.MAX_CELLS_FLOAT64", max_cells)
    adata = make_groups((40, 30, 20))
    X = adata.X.astype(float)
    X[50] *= scale
    dense, thin = (
        UTC(3, metric="euclidean", n_landmarks=n_landmarks).fit(kind(X)) for kind in (np.asarray, sparse.csr_matrix)
    )
    for model in (dense, thin):
        assert np.isfinite(model.embedding_).all()
        assert len(np.unique(model.labels_)) == 3
    if scale == 1e4 or (scale == 1e6 and n_landmarks is None):  # next to 1e250 all others coincide in double precision
        np.testing.assert_array_equal(dense.labels_, thin.labels_)
        others = np.arange(90) != 50
        assert adjusted_rand_score(adata.obs["group"][others], dense.labels_[others]) == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_a_huge_new_cell_is_placed_by_its_direction(metric):
    adata = make_groups((40, 30, 20))
    model = UTC(3, metric=metric).fit(adata.X)
    centers = np.array([adata.X[model.labels_ == label].mean(axis=0) for label in range(3)], dtype=float)
    huge = 1e200 * (centers - (metric == "euclidean") * adata.X.mean(axis=0))
    np.testing.assert_array_equal(model.predict(huge), [0, 1, 2])
    assert np.isfinite(model.transform(huge)).all()


@pytest.mark.parametrize("n_landmarks", [None, 20])
def test_cells_beyond_the_range_of_squares_are_clustered(n_landmarks):
    X = 1e-160 * np.random.default_rng(0).random((300, 30))
    X[170] *= 1e300
    model = UTC(3, metric="euclidean", n_landmarks=n_landmarks).fit(X)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(1e300 * X[:5])).all()


@pytest.mark.parametrize("value", [5e-324, 1.7e308])
@each_metric
def test_the_smallest_and_the_largest_numbers_there_are_will_do(metric, value):
    X = value * (np.random.default_rng(0).random((12, 30)) < 0.5)
    squared = Geometry.of(X, metric).squared_distances
    expected = Geometry.of((X > 0).astype(float), metric).squared_distances
    np.testing.assert_allclose(squared / squared.max(), expected / expected.max(), atol=1e-9)


@pytest.mark.parametrize("metric", SCALE_FREE)
def test_sparse_cells_that_are_equally_far_stay_so(metric):
    # Binary cells with as many ones: distances take few values, and rounding must not make more of them.
    rng = np.random.default_rng(0)
    X = np.array([rng.permutation(np.repeat([0.0, 0.7], [80, 20])) for _ in range(40)])
    overlaps = (X > 0).astype(int) @ (X > 0).T
    squared = Geometry.of(sparse.csr_matrix(X), metric).squared_distances
    assert len(np.unique(squared)) == len(np.unique(overlaps))


@pytest.mark.parametrize("n_landmarks", [None, 30])
@each_metric
def test_entries_that_are_stored_twice_or_out_of_order_count_by_their_sum(metric, n_landmarks):
    X = make_groups((40, 30, 20)).X.astype(float)
    entries = sparse.coo_array(X)
    order = np.random.default_rng(0).permutation(2 * entries.nnz)
    data, rows, columns = (np.concatenate([part, part])[order] for part in (entries.data / 2, *entries.coords))
    by_row = np.argsort(rows, kind="stable")
    indptr = np.r_[0, np.cumsum(np.bincount(rows, minlength=len(X)))]
    doubled = sparse.csr_matrix((data[by_row], columns[by_row], indptr), shape=X.shape)
    before = doubled.data.copy(), doubled.indices.copy()
    expected = UTC(3, metric=metric, n_landmarks=n_landmarks).fit(X)
    found = UTC(3, metric=metric, n_landmarks=n_landmarks).fit(doubled)
    np.testing.assert_allclose(found.embedding_, expected.embedding_, atol=1e-6)
    np.testing.assert_array_equal(doubled.data, before[0])
    np.testing.assert_array_equal(doubled.indices, before[1])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.float32, bool])
@each_metric
def test_any_kind_of_number_will_do(metric, dtype):
    X = counts().clip(-2, 3)
    if dtype in {np.uint8, bool}:
        X = X.clip(0, 1 if dtype is bool else 3)
    X[:, :2] = [0, 1]  # no cell is constant
    X = X.astype(dtype)
    expected = unit(X, metric) * Geometry.of(X.astype(float), metric).squared_distances
    for container in CONTAINERS:
        found = unit(X, metric) * Geometry.of(container(X), metric).squared_distances
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rank_correlation_does_not_see_a_rising_function_of_the_values():
    X = np.random.default_rng(0).normal(size=(12, 30))
    ranks, bent = (Geometry.of(values, "spearman").gram for values in (X, np.exp(3 * X)))
    np.testing.assert_allclose(ranks, bent, atol=1e-12)
    assert not np.allclose(Geometry.of(X, "correlation").gram, Geometry.of(np.exp(3 * X), "correlation").gram, atol=0.1)


@each_metric
def test_a_metric_says_from_how_many_genes_on_it_can_be_used(metric):
    assert usable_metric(metric, 2) == metric
    if metric == "euclidean":
        assert usable_metric(metric, 1) == metric
    else:
        with pytest.warns(UserWarning, match=f"single feature has no {metric}"):
            assert usable_metric(metric, 1) == "euclidean"


def test_a_metric_of_ones_own_is_used_everywhere(monkeypatch):
    class Cosine(Metric):
        """Not centred, unlike correlation."""

        words = "scales every cell to unit length"

        def standardize(self, cells, numbers=None):
            rows = METRICS["euclidean"]().standardize(cells)
            return type(rows)(rows.values / np.linalg.norm(rows.values, axis=1, keepdims=True))

    adata = make_groups((40, 30, 20))
    monkeypatch.setitem(METRICS, "cosine", Cosine)
    settings = UTC(3, metric="correlation", n_landmarks=25)._settings(adata.n_vars)
    from dataclasses import replace

    from scutc.core.pipeline import fit

    model = fit(adata.X, replace(settings, metric="cosine"))
    clustering = model.cut(3)
    assert adjusted_rand_score(adata.obs["group"], clustering.labels) == 1.0
    _, labels = model.extend(clustering, adata.X)
    np.testing.assert_array_equal(labels, clustering.labels)
