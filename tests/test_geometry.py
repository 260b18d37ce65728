from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from scutc.core.geometry import compute_geometry


def standardized(X: np.ndarray) -> np.ndarray:
    X = X - X.mean(axis=1, keepdims=True)
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(params=[2, 3, 40])
def matrix(request: pytest.FixtureRequest) -> np.ndarray:
    rng = np.random.default_rng(request.param)
    return rng.poisson(1.0, size=(request.param, 30)).astype(float)


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_distances_equal_those_of_the_formula(matrix, container, metric):
    points = standardized(matrix) if metric == "correlation" else matrix
    geometry = compute_geometry(container(matrix), metric, n_jobs=None)
    unit = 1.0 if metric == "correlation" else matrix.max()
    np.testing.assert_allclose(unit * geometry.distances, cdist(points, points), atol=1e-7)


def test_distances_survive_a_large_offset():
    points = np.random.default_rng(0).normal(size=(20, 5))
    geometry = compute_geometry(points + 1e6, "euclidean", n_jobs=None)
    np.testing.assert_allclose((points + 1e6).max() * geometry.distances, cdist(points, points), rtol=1e-6)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_coincident_cells_are_at_distance_zero(container, metric):
    matrix = np.random.default_rng(0).poisson(1.0, size=(10, 50)).astype(float)
    geometry = compute_geometry(container(np.vstack([matrix, matrix])), metric, n_jobs=None)
    zero = geometry.distances == 0
    np.testing.assert_array_equal(zero, np.tile(np.eye(10, dtype=bool), (2, 2)))


def test_sparse_matrix_is_not_densified(monkeypatch):
    matrix = sparse.csr_array(sparse.random(30, 5000, density=0.01, random_state=0))
    shapes = []
    toarray = sparse.csr_array.toarray

    def spy(self, *args, **kwargs):
        shapes.append(self.shape)
        return toarray(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", spy)
    compute_geometry(matrix, "correlation", n_jobs=None)
    assert shapes == [(30, 30)]


def test_nearest_neighbors_are_sorted_and_leave_out_the_cell_itself():
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    geometry = compute_geometry(points, "euclidean", n_jobs=None)
    np.testing.assert_array_equal(geometry.nearest_neighbors(2), [[1, 2], [0, 2], [1, 0], [2, 1]])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("n_genes", [20, 30_000])
def test_flat_cells_are_counted_in_the_error(container, n_genes):
    matrix = np.random.default_rng(0).poisson(3.0, size=(6, n_genes)).astype(float)
    matrix[0] = 0.0
    matrix[1] = 0.1
    with pytest.raises(ValueError, match=r"2 of 6 cells .* metric='euclidean'"):
        compute_geometry(container(matrix), "correlation", n_jobs=None)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
@pytest.mark.parametrize("factor", [1e-200, 1e200])
def test_extreme_units_change_nothing(container, metric, factor):
    matrix = np.random.default_rng(0).poisson(3.0, size=(6, 20)).astype(float)
    plain, extreme = (compute_geometry(container(X), metric, n_jobs=None).distances for X in (matrix, factor * matrix))
    np.testing.assert_allclose(plain, extreme, rtol=1e-9)


def test_sparse_cells_that_vary_little_are_not_called_flat():
    matrix = np.random.default_rng(0).random((20, 300)) + 1e6
    dense, found = (compute_geometry(X, "correlation", None).distances for X in (matrix, sparse.csr_matrix(matrix)))
    np.testing.assert_allclose(found, dense, atol=0.05)
