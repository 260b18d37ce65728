"""What must not change the result. Each property for the metric for which it is true."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from scutc import UTC

METRICS = ["correlation", "euclidean"]
N_CELLS = 27


def fit(X: np.ndarray, metric: str, n_clusters: int = N_CELLS) -> UTC:
    """All anchors and pairs in use, so that no sample depends on the order of the cells.

    A cluster for each cell needs no mixture, and gives the whole embedding.
    """
    return UTC(n_clusters, metric=metric, n_anchors=None, n_pairs=None).fit(X)


def data(seed: int) -> tuple[np.ndarray, np.random.Generator]:
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(3, 15)) * 3
    return rng.normal(size=(N_CELLS, 15)) + np.repeat(centers, [12, 9, 6], axis=0), rng


# What is done to the data; all of them leave the cells in their order.
CHANGES = {
    "permuting genes": lambda X, rng: X[:, rng.permutation(X.shape[1])],
    "scaling all values": lambda X, rng: 10 ** rng.uniform(-3, 3) * X,
    "scaling single cells": lambda X, rng: X * rng.uniform(0.1, 10, size=(len(X), 1)),
    "shifting single cells": lambda X, rng: X + rng.normal(size=(len(X), 1)),
    "a rising function of single cells": lambda X, rng: np.sinh(X * rng.uniform(0.1, 3, size=(len(X), 1))),
    "a constant gene": lambda X, rng: np.column_stack([X, np.full(len(X), rng.uniform(-100, 100))]),
    "shifting all cells": lambda X, rng: X + 10 * rng.normal(size=X.shape[1]),
}
NOTHING_CHANGES = [
    *((change, metric) for change in ("permuting genes", "scaling all values") for metric in METRICS),
    ("scaling single cells", "correlation"),
    ("shifting single cells", "correlation"),
    ("scaling single cells", "spearman"),
    ("shifting single cells", "spearman"),
    ("a rising function of single cells", "spearman"),
    ("a constant gene", "euclidean"),
    ("shifting all cells", "euclidean"),
]
# The same examples on every run: a rare failure is to be found by looking for it, not by an unrelated change.
quick = settings(max_examples=12, deadline=None, derandomize=True)
seeds = st.integers(0, 2**20)


def assert_same(one: UTC, two: UTC, cells: np.ndarray | slice = slice(None)) -> None:
    """The same affinities between cells in the embedding."""
    np.testing.assert_allclose(two.spectrum_, one.spectrum_, atol=1e-7)
    products = [model.embedding_ @ model.embedding_.T for model in (one, two)]
    np.testing.assert_allclose(products[1], products[0][cells][:, cells], atol=1e-6)


@quick
@given(seed=seeds)
@pytest.mark.parametrize(("change", "metric"), NOTHING_CHANGES)
def test_change_of_the_data_does_not_change_the_solution(change, metric, seed):
    X, rng = data(seed)
    assert_same(fit(X, metric), fit(CHANGES[change](X, rng), metric))


@quick
@given(seed=seeds)
@pytest.mark.parametrize("metric", METRICS)
def test_permuting_cells_permutes_the_solution(metric, seed):
    X, rng = data(seed)
    order = rng.permutation(len(X))
    assert_same(fit(X, metric), fit(X[order], metric), order)


@pytest.mark.parametrize("metric", METRICS)
def test_labels_do_not_change_either(metric):
    X, rng = data(0)
    labels = fit(X, metric, n_clusters=3).labels_
    assert len(np.unique(labels)) == 3
    for change in (change for change, metric_of_it in NOTHING_CHANGES if metric_of_it == metric):
        changed = fit(CHANGES[change](X, rng), metric, n_clusters=3).labels_
        np.testing.assert_array_equal(changed, labels, err_msg=change)
    order = rng.permutation(len(X))
    assert adjusted_rand_score(labels[order], fit(X[order], metric, n_clusters=3).labels_) == 1.0


@pytest.mark.parametrize(
    ("change", "metric"), [("scaling single cells", "euclidean"), ("a constant gene", "correlation")]
)
def test_change_that_matters_under_the_other_metric_is_seen(change, metric):
    X, rng = data(0)
    changed = fit(CHANGES[change](X, rng), metric)
    assert not np.allclose(changed.spectrum_, fit(X, metric).spectrum_, atol=1e-3)
