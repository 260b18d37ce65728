from __future__ import annotations

import numpy as np
import pytest

from conftest import make_groups
from scutc import UTC


@pytest.mark.parametrize("sizes", [(30, 30), (25, 20, 15), (30, 20, 20, 20, 10)])
def test_estimate_finds_well_separated_groups(sizes):
    adata = make_groups(sizes, n_genes=200)
    model = UTC().fit(adata.X)
    assert model.n_clusters_ == len(sizes)
    best = model.n_clusters_candidates_[np.argmax(model.n_clusters_scores_)]
    assert best == model.n_clusters_
    assert len(np.unique(model.labels_)) == len(sizes)


@pytest.mark.parametrize("n_cells", [2, 3, 5])
def test_estimate_of_a_handful_of_cells_is_one_cluster(n_cells):
    X = np.random.default_rng(0).random((n_cells, 10))
    assert UTC().fit(X).n_clusters_ == 1


def test_identical_cells_are_one_cluster():
    X = np.tile(np.random.default_rng(0).random(10), (20, 1))
    assert UTC().fit(X).n_clusters_ == 1
