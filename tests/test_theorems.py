"""The paper's Theorems 2.2, 3.1 and 3.2 on random pairwise affinities, tuple by tuple."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg, sparse

from scutc.core.normalization import normalize
from scutc.core.tensors import KhatriRaoSquare, KroneckerSquare

SIZES = [2, 3, 5, 8]


def pairwise(n: int) -> np.ndarray:
    """A random S₂: symmetric, non-negative, zero diagonal."""
    affinity = np.random.default_rng(n).random((n, n))
    affinity = (affinity + affinity.T) / 2
    np.fill_diagonal(affinity, 0.0)
    return affinity


def third_order(affinity: np.ndarray) -> np.ndarray:
    """T₃[i,j,k] = S₂[i,j] S₂[k,j]."""
    n = len(affinity)
    tensor = np.zeros((n, n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                tensor[i, j, k] = affinity[i, j] * affinity[k, j]
    return tensor


def fourth_order(affinity: np.ndarray) -> np.ndarray:
    """T₄[i,j,k,l] = S₂[i,k] S₂[j,l]."""
    n = len(affinity)
    tensor = np.zeros((n, n, n, n))
    for i in range(n):
        for j in range(n):
            for k in range(n):
                for m in range(n):
                    tensor[i, j, k, m] = affinity[i, k] * affinity[j, m]
    return tensor


def unfold_third(tensor: np.ndarray) -> np.ndarray:
    """Rows (i, k), columns j."""
    n = len(tensor)
    return tensor.transpose(0, 2, 1).reshape(n * n, n)


def unfold_fourth(tensor: np.ndarray) -> np.ndarray:
    """Rows (i, j), columns (k, l)."""
    n = len(tensor)
    return tensor.reshape(n * n, n * n)


def normalize_third(tensor: np.ndarray) -> np.ndarray:
    """L₃[i,j,k] = T₃[i,j,k] / ((t_i t_k)^¼ t_j^½), t_j the sum of slice j."""
    n = len(tensor)
    totals = [tensor[:, j, :].sum() for j in range(n)]
    normalized = np.zeros_like(tensor)
    for i in range(n):
        for j in range(n):
            for k in range(n):
                normalized[i, j, k] = tensor[i, j, k] / ((totals[i] * totals[k]) ** 0.25 * totals[j] ** 0.5)
    return normalized


@pytest.mark.parametrize("n", SIZES)
def test_theorem_3_1_the_unfolded_third_order_is_a_khatri_rao_product(n):
    affinity = pairwise(n)
    np.testing.assert_allclose(unfold_third(third_order(affinity)), linalg.khatri_rao(affinity, affinity), rtol=1e-14)


@pytest.mark.parametrize("n", SIZES)
def test_theorem_3_2_normalising_the_third_order_is_normalising_the_second(n):
    affinity = pairwise(n)
    normalized = normalize(affinity)
    literal = unfold_third(normalize_third(third_order(affinity)))
    np.testing.assert_allclose(literal, linalg.khatri_rao(normalized, normalized), rtol=1e-12)
    operator = KhatriRaoSquare(sparse.csr_array(normalized)).unfolding
    np.testing.assert_allclose(operator @ np.eye(n), literal, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(operator.T @ np.eye(n * n), literal.T, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", SIZES)
def test_theorem_2_2_the_unfolded_fourth_order_is_a_kronecker_product(n):
    affinity = pairwise(n)
    unfolded = unfold_fourth(fourth_order(affinity))
    np.testing.assert_allclose(unfolded, np.kron(affinity, affinity), rtol=1e-14)
    normalized = normalize(affinity)
    np.testing.assert_allclose(normalize(unfolded), np.kron(normalized, normalized), rtol=1e-12)
    operator = KroneckerSquare(sparse.csr_array(normalized)).unfolding
    np.testing.assert_allclose(operator @ np.eye(n * n), np.kron(normalized, normalized), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("n", SIZES)
def test_theorem_2_2_eigenvectors_of_the_fourth_order_are_products_of_those_of_the_second(n):
    affinity = pairwise(n)
    values, vectors = np.linalg.eigh(normalize(affinity))
    unfolded = normalize(unfold_fourth(fourth_order(affinity)))
    for value, vector in zip(values, vectors.T, strict=True):
        product = np.kron(vector, vector)
        np.testing.assert_allclose(unfolded @ product, value**2 * product, atol=1e-12)
