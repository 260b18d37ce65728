from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence

from scutc import UTC
from scutc.core import eigen
from scutc.core.eigen import fix_signs, leading_eigenpairs


def symmetric(n: int = 40) -> np.ndarray:
    matrix = np.random.default_rng(0).normal(size=(n, n))
    return matrix + matrix.T


@pytest.mark.parametrize("max_dense", [None, 10])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_pairs", [1, 5, 40])
def test_the_largest_come_first(n_pairs, container, max_dense):
    matrix = symmetric()
    values, vectors = leading_eigenpairs(container(matrix), n_pairs, max_dense=max_dense)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:n_pairs])
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_of_vectors_find_the_same(dtype, monkeypatch):
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(300, 300)) * 0.9 ** np.arange(300)
    matrix = (factors @ factors.T).astype(dtype)
    monkeypatch.setattr(eigen, "MAX_CACHED", 10)
    monkeypatch.setattr(eigen, "eigsh", None)  # is not needed
    values, vectors = leading_eigenpairs(matrix, 8, tolerance=1e-3, max_dense=10, in_blocks=True)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:8], rtol=1e-5)
    residuals = np.linalg.norm(matrix @ vectors - vectors * values, axis=0)
    assert (residuals <= 1e-3 * values).all()
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-5)


def test_blocks_of_vectors_find_all_of_a_matrix_of_low_rank(monkeypatch):
    factors = np.random.default_rng(0).normal(size=(200, 3))
    monkeypatch.setattr(eigen, "MAX_CACHED", 10)
    monkeypatch.setattr(eigen, "eigsh", None)
    values, _ = leading_eigenpairs(factors @ factors.T, 5, tolerance=1e-3, max_dense=10, in_blocks=True)
    np.testing.assert_allclose(values, [*np.linalg.svd(factors)[1] ** 2, 0, 0], atol=1e-8)


def test_blocks_of_vectors_that_do_not_converge_are_followed_by_single_ones(monkeypatch):
    monkeypatch.setattr(eigen, "MAX_CACHED", 10)
    monkeypatch.setattr(eigen, "LAST_LOOK", 2)
    matrix = symmetric(300)
    assert eigen._block_krylov(matrix, 8, 1e-3) is None
    values, _ = leading_eigenpairs(matrix, 8, tolerance=1e-3, max_dense=10, in_blocks=True)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:8], rtol=1e-4)


def test_an_iterative_solver_that_fails_is_followed_by_a_dense_one(monkeypatch):
    def fail(*args, **kwargs):
        raise ArpackNoConvergence("no", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(eigen, "eigsh", fail)
    values, _ = leading_eigenpairs(symmetric(), 3, max_dense=10)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric())[::-1][:3])


@pytest.mark.parametrize("in_blocks", [False, True])
def test_a_driver_that_fails_on_equal_eigenvalues_is_followed_by_another(in_blocks, monkeypatch):
    eigh, drivers = linalg.eigh, []

    def failing(matrix, driver=None, **kwargs):
        drivers.append(driver)
        if driver is None:
            raise linalg.LinAlgError("Internal Error.")
        return eigh(matrix, driver=driver, **kwargs)

    monkeypatch.setattr(eigen.linalg, "eigh", failing)
    if in_blocks:
        monkeypatch.setattr(eigen, "MAX_CACHED", 10)
        monkeypatch.setattr(eigen, "eigsh", None)
    values, vectors = leading_eigenpairs(symmetric(), 3, max_dense=10 if in_blocks else None, in_blocks=in_blocks)
    assert drivers == [None, "evd"] * (len(drivers) // 2 if in_blocks else 1)
    assert drivers
    np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric())[::-1][:3])
    assert vectors.shape == (40, 3)


@pytest.mark.filterwarnings("default::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("parameters", [{}, {"n_landmarks": 10}, {"solver": "ascent"}, {"solver": "admm"}])
@pytest.mark.parametrize(("n_cells", "n_genes"), [(20, 10), (40, 500)])
def test_many_copies_of_two_cells_are_clustered(n_cells, n_genes, parameters):
    X = np.repeat(np.random.default_rng(0).random((2, n_genes)), n_cells // 2, axis=0)
    assert UTC(2, **parameters).fit(X).labels_.tolist() == [0] * (n_cells // 2) + [1] * (n_cells // 2)


def test_signs_are_those_of_the_largest_entry():
    found = fix_signs(np.array([[1.0, -3.0], [-2.0, 1.0]]))
    np.testing.assert_array_equal(found, [[-1.0, 3.0], [2.0, -1.0]])
