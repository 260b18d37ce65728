from __future__ import annotations

import numpy as np
import pytest

from scutc.core.geometry import Geometry


def test_nearest_neighbors_are_sorted_and_leave_out_the_cell_itself():
    points = np.array([[0.0], [1.0], [3.0], [7.0]])
    geometry = Geometry.of(points, "euclidean")
    np.testing.assert_array_equal(geometry.nearest_neighbors(2), [[1, 2], [0, 2], [1, 0], [2, 1]])


def test_what_several_orders_need_is_computed_once_for_each_argument():
    geometry = Geometry.of(np.random.default_rng(0).random((6, 4)), "euclidean")
    calls = []

    def count(given: Geometry, argument: int) -> list[int]:
        assert given is geometry
        calls.append(argument)
        return calls

    assert geometry.once(count, 1) is geometry.once(count, 1)
    geometry.once(count, 2)
    assert calls == [1, 2]


@pytest.mark.parametrize("n_cells", [2, 3, 40])
def test_distances_are_symmetric_with_zeros_on_the_diagonal(n_cells):
    distances = Geometry.of(np.random.default_rng(0).random((n_cells, 30)), "correlation").distances
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(np.diag(distances), 0.0)
    assert (distances[~np.eye(n_cells, dtype=bool)] > 0).all()


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_single_precision_for_many_cells_is_close_to_double_and_knows_copies(metric, monkeypatch):
    X = np.random.default_rng(0).gamma(2.0, size=(60, 5000))
    X[30:] = X[:30]
    double = Geometry.of(X, metric).distances
    monkeypatch.setattr("scutc.core.geometry.MAX_CELLS_FLOAT64", 10)
    single = Geometry.of(X, metric).distances
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, rtol=1e-5)
    np.testing.assert_array_equal(np.diag(single, 30), 0.0)
