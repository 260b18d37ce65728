from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

from conftest import make_groups
from scutc import UTC
from scutc.core.fusion import Spectrum, decompose, equalize, fuse


def affinity(n: int = 30, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).random((n, n))
    return matrix + matrix.T


def test_decompose_equals_the_dense_eigenproblem_without_its_trivial_vector():
    A = affinity()
    degrees = A.sum(axis=1)
    values, vectors = np.linalg.eigh(A / np.sqrt(np.outer(degrees, degrees)))
    found = decompose(A, 5)
    np.testing.assert_allclose(found.values, values[::-1][1:6])
    np.testing.assert_allclose(np.abs(np.sum(found.vectors * vectors[:, ::-1][:, 1:6], axis=0)), 1.0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_iterative_solver_agrees_with_the_dense_one(container, monkeypatch):
    A = affinity(80)
    dense = decompose(A, 6)
    monkeypatch.setattr("scutc.core.eigen.MAX_DENSE", 10)
    iterative = decompose(container(A), 6)
    np.testing.assert_allclose(iterative.values, dense.values, rtol=1e-6)
    np.testing.assert_allclose(np.abs(np.sum(iterative.vectors * dense.vectors, axis=0)), 1.0, atol=1e-5)


def test_separate_components_all_show_in_the_spectrum():
    blocks = np.kron(np.eye(3), np.ones((4, 4)))
    found = decompose(blocks, 5)
    np.testing.assert_allclose(found.values, [1, 1, 0, 0, 0], atol=1e-12)
    component = np.repeat(np.arange(3), 4)
    for vector in found.vectors[:, :2].T:
        assert all(np.ptp(vector[component == c]) < 1e-12 for c in range(3))


def test_equalized_spectrum_adds_up_to_the_effective_rank():
    values = 0.8 ** np.arange(40)
    equalized = equalize(values, 6.0)
    np.testing.assert_allclose(equalized.sum(), 6.0)
    assert equalized[0] == 1.0
    powers = np.log(equalized[1:]) / np.log(values[1:])
    np.testing.assert_allclose(powers, powers[0])


def test_equalize_keeps_strong_and_weak_directions_apart_where_there_are_few():
    equalized = equalize(np.array([0.9, 0.5, 0.1, 0.0]), 16.0)
    np.testing.assert_allclose(equalized.sum(), 2.0)
    assert equalized[0] == 1.0 > equalized[1] > equalized[2] > equalized[3] == 0.0


@pytest.mark.parametrize("values", [[], [0.0, 0.0]])
def test_equalize_of_no_structure_is_zero(values):
    np.testing.assert_array_equal(equalize(np.array(values), 4.0), np.zeros(len(values)))


def test_fused_embedding_solves_the_eigenproblem_of_the_mean():
    spectra = [decompose(affinity(seed=seed), 10) for seed in range(3)]
    mean = sum(s.vectors * equalize(s.values, 4.0) @ s.vectors.T for s in spectra) / 3
    fused = fuse(spectra, [1.0] * len(spectra), 4.0, n_components=5)
    values, vectors = np.linalg.eigh(mean)
    np.testing.assert_allclose(fused.spectrum[:5], values[::-1][:5])
    expected = vectors[:, ::-1][:, :5] * values[::-1][:5]
    np.testing.assert_allclose(np.abs(fused.points), np.abs(expected), atol=1e-9)


def test_sign_of_each_column_is_fixed():
    spectrum = decompose(affinity(), 6)
    flipped = Spectrum(spectrum.values, spectrum.vectors * [1, -1, 1, -1, -1, 1])
    one, two = (fuse([s], [1.0], 4.0, n_components=4).points for s in (spectrum, flipped))
    np.testing.assert_allclose(one, two, atol=1e-12)
    assert (np.max(one, axis=0) == np.max(np.abs(one), axis=0)).all()


@pytest.mark.parametrize("sizes", [(20, 15, 10), (15, 15, 15), (10, 10, 10)])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_an_order_alone_finds_few_cells_of_clear_groups(sizes, order):
    adata = make_groups(sizes)
    labels = UTC(3, orders=(order,)).fit_predict(adata.X)
    assert adjusted_rand_score(adata.obs["group"], labels) == 1.0
