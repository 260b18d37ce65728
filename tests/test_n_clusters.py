from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, silhouette_score

import scutc
from conftest import make_groups
from scutc import UTC


@pytest.mark.parametrize("sizes", [(30, 30), (25, 20, 15), (30, 20, 20, 20, 10)])
def test_estimate_finds_well_separated_groups(sizes):
    adata = make_groups(sizes, n_genes=200)
    model = UTC().fit(adata.X)
    assert model.n_clusters_ == len(sizes)
    assert adjusted_rand_score(adata.obs["group"], model.labels_) == 1.0


def test_score_of_clear_groups_is_their_silhouette_in_the_embedding():
    # All orders find them, so that the mean agreement is 1; there are up to 60 / 3 candidates.
    adata = make_groups((25, 20, 15), n_genes=200)
    model = UTC().fit(adata.X)
    np.testing.assert_array_equal(model.n_clusters_candidates_, np.arange(2, 21))
    assert len(model.n_clusters_scores_) == 19
    expected = silhouette_score(UTC(3).fit_transform(adata.X), adata.obs["group"])
    assert model.n_clusters_scores_[1] == pytest.approx(expected)


def test_score_is_lower_where_orders_disagree():
    # Of crossing lines only order 3 knows.
    lines = scutc.datasets.syndata1()
    given = UTC(2, metric="euclidean").fit(lines.X)
    estimated = UTC(metric="euclidean").fit(lines.X)
    assert estimated.n_clusters_scores_[0] < 0.6 * silhouette_score(given.embedding_, given.labels_)


@pytest.mark.parametrize("n_cells", [2, 3, 5])
def test_estimate_of_a_handful_of_cells_is_one_cluster(n_cells):
    X = np.random.default_rng(0).random((n_cells, 10))
    assert UTC().fit(X).n_clusters_ == 1


def test_identical_cells_are_one_cluster():
    X = np.tile(np.random.default_rng(0).random(10), (20, 1))
    assert UTC().fit(X).n_clusters_ == 1
