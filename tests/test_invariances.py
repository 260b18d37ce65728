"""What must not change the result. Each property for the metric for which it is true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from scutc import UTC

METRICS = ["correlation", "euclidean"]
seeds = st.integers(0, 2**20)
# The same examples on every run: a rare failure is to be found by looking for it, not by an unrelated change.
quick = settings(max_examples=12, deadline=None, derandomize=True)


def fit(X: np.ndarray, metric: str) -> UTC:
    """All anchors and pairs in use, so that no sample depends on the order of the cells."""
    return UTC(n_clusters=3, metric=metric, n_anchors=None, n_pairs=None).fit(X)


def data(seed: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(3, 15)) * 3
    return rng.normal(size=(27, 15)) + np.repeat(centers, [12, 9, 6], axis=0), rng


def assert_same(one: UTC, two: UTC, cells: np.ndarray | slice = slice(None)) -> None:
    """The same affinities between cells in the embedding, and the same clusters."""
    np.testing.assert_allclose(two.spectrum_, one.spectrum_, atol=1e-7)
    embeddings = [model._solution.embedding for model in (one, two)]
    products = [embedding @ embedding.T for embedding in embeddings]
    np.testing.assert_allclose(products[1], products[0][cells][:, cells], atol=1e-6)
    assert adjusted_rand_score(one.labels_[cells], two.labels_) == 1.0


@quick
@given(seed=seeds)
@pytest.mark.parametrize("metric", METRICS)
def test_permuting_cells_permutes_the_result(metric, seed):
    X, rng = data(seed)
    order = rng.permutation(len(X))
    assert_same(fit(X, metric), fit(X[order], metric), order)


@quick
@given(seed=seeds)
@pytest.mark.parametrize("metric", METRICS)
def test_permuting_genes_changes_nothing(metric, seed):
    X, rng = data(seed)
    assert_same(fit(X, metric), fit(X[:, rng.permutation(X.shape[1])], metric))


@quick
@given(seed=seeds, factor=st.floats(1e-3, 1e3))
@pytest.mark.parametrize("metric", METRICS)
def test_scaling_all_values_changes_nothing(metric, seed, factor):
    X, _ = data(seed)
    assert_same(fit(X, metric), fit(factor * X, metric))


@quick
@given(seed=seeds)
def test_scaling_and_shifting_single_cells_changes_nothing_under_correlation(seed):
    X, rng = data(seed)
    changed = X * rng.uniform(0.1, 10, size=(len(X), 1)) + rng.normal(size=(len(X), 1))
    assert_same(fit(X, "correlation"), fit(changed, "correlation"))


def test_scaling_single_cells_matters_under_euclidean():
    X, rng = data(0)
    changed = fit(X * rng.uniform(0.1, 10, size=(len(X), 1)), "euclidean")
    assert not np.allclose(changed.spectrum_, fit(X, "euclidean").spectrum_, atol=1e-3)


@quick
@given(seed=seeds, value=st.floats(-100, 100))
def test_constant_gene_changes_nothing_under_euclidean(seed, value):
    X, _ = data(seed)
    with_constant = np.column_stack([X, np.full(len(X), value)])
    assert_same(fit(X, "euclidean"), fit(with_constant, "euclidean"))


@quick
@given(seed=seeds)
def test_shifting_all_cells_changes_nothing_under_euclidean(seed):
    X, rng = data(seed)
    assert_same(fit(X, "euclidean"), fit(X + 10 * rng.normal(size=X.shape[1]), "euclidean"))
