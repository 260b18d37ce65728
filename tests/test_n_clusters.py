from __future__ import annotations

import warnings

import dask.array as da
import numpy as np
import pytest
from anndata import AnnData, read_h5ad
from scipy import sparse
from scipy.stats import entropy
from sklearn.metrics import adjusted_rand_score, mutual_info_score

import scutc
from conftest import make_groups
from scutc import UTC
from scutc.core.confidence import silhouettes
from scutc.core.n_clusters import WORTH_OF_SEPARATION, least_surplus, mutual_information


def one_population(n_cells: int, seed: int, n_genes: int = 1000) -> np.ndarray:
    """Log-normalised counts of cells that differ in depth alone, overdispersed."""
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.5, 2.0, n_genes) * rng.lognormal(0.0, 0.5, n_cells)[:, None]
    counts = rng.poisson(rates * rng.gamma(3.0, 1 / 3, rates.shape))
    return np.log1p(counts / counts.sum(axis=1, keepdims=True) * np.median(counts.sum(axis=1)))


@pytest.mark.parametrize("n_genes", [60, 400])  # by the orders, and by halves of the genes
@pytest.mark.parametrize("sizes", [(30, 30), (25, 20, 15), (30, 20, 20, 20, 10)])
def test_estimate_finds_well_separated_groups(sizes, n_genes):
    adata = make_groups(sizes, n_genes=n_genes)
    model = UTC().fit(adata.X)
    assert model.n_clusters_ == len(sizes)
    assert adjusted_rand_score(adata.obs["group"], model.labels_) == 1.0


@pytest.mark.parametrize("n_splits", [0, 3])
def test_score_is_what_comes_back_less_what_does_not_and_separation(n_splits):
    # All views find these groups, so that all information comes back.
    adata = make_groups((25, 20, 15), n_genes=400)
    model = UTC(n_splits=n_splits).fit(adata.X)
    np.testing.assert_array_equal(model.n_clusters_candidates_, np.arange(2, 21))
    shares = np.array([25, 20, 15]) / 60
    entropy = -np.sum(shares * np.log(shares))
    came_back = entropy - 2 * 2 / (2 * 60)  # less what chance would give of 3 × 3 labels
    truth = np.unique(adata.obs["group"], return_inverse=True)[1]
    alone = [UTC(3, orders=(order,), n_splits=0).fit_transform(adata.X) for order in (2, 3, 4)]
    separation = np.mean([silhouettes(points, truth, 3) for points in alone])
    expected = came_back - (entropy - came_back) + WORTH_OF_SEPARATION * separation
    assert model.n_clusters_scores_[1] == pytest.approx(expected)
    assert model.n_clusters_spread_[1] == pytest.approx(0.0, abs=1e-12)
    assert model.n_clusters_reproduced_[1] == pytest.approx(came_back / entropy)
    # Of more clusters than there are, halves of the genes know nothing.
    assert model.n_clusters_reproduced_[9] < 0.9
    assert model.n_clusters_spread_[9] > 0.0


def test_mutual_information_is_less_by_what_chance_gives():
    rng = np.random.default_rng(0)
    labels, others = rng.integers(4, size=200), rng.integers(3, size=200)
    expected = mutual_info_score(labels, others) - 3 * 2 / (2 * 200)
    assert mutual_information(labels, others) == pytest.approx(expected)
    # A label that does not occur changes nothing.
    assert mutual_information(labels + 2, others) == pytest.approx(expected)
    by_chance = [mutual_information(rng.permutation(labels), others) for _ in range(300)]
    assert abs(np.mean(by_chance)) < 0.001


@pytest.mark.parametrize("n_cells", [2, 3, 5])
def test_estimate_of_a_handful_of_cells_is_one_cluster(n_cells):
    X = np.random.default_rng(0).random((n_cells, 10))
    with pytest.warns(UserWarning, match=f"One cluster, since {n_cells} cells .* are too few"):
        assert UTC().fit(X).n_clusters_ == 1


@pytest.mark.parametrize("n_genes", [10, 300])
def test_identical_cells_are_one_cluster(n_genes):
    X = np.tile(np.random.default_rng(0).random(n_genes), (20, 1))
    with pytest.warns(UserWarning, match="One cluster, since the cells do not differ"):
        assert UTC().fit(X).n_clusters_ == 1


@pytest.mark.parametrize("n_cells", [40, 150])
@pytest.mark.parametrize("seed", range(3))
def test_one_population_is_one_cluster_and_a_warning_says_so(n_cells, seed):
    with pytest.warns(UserWarning, match="Too little is the same in halves of the genes .*: one cluster"):
        model = UTC().fit(one_population(n_cells, seed))
    assert model.n_clusters_ == 1
    assert len(model.n_clusters_scores_) > 1
    np.testing.assert_array_equal(model.labels_, 0)


@pytest.mark.parametrize("n_genes", [400, 2500])
def test_clear_groups_whose_genes_are_permuted_one_by_one_are_one_cluster(n_genes):
    X = make_groups((40, 30, 20), n_genes=n_genes).X
    assert UTC().fit(X).n_clusters_ == 3
    with pytest.warns(UserWarning, match="one cluster"):
        assert UTC().fit(np.random.default_rng(0).permuted(X, axis=0)).n_clusters_ == 1


def test_a_small_clear_group_is_not_one_cluster():
    assert UTC().fit(make_groups((95, 5), n_genes=400).X).n_clusters_ == 2


def test_seeds_agree_on_real_cells():
    import scanpy as sc

    X = sc.datasets.pbmc68k_reduced().raw.X
    found = {UTC(random_state=seed).fit(X).n_clusters_ for seed in range(3)}
    assert len(found) == 1


def test_many_cells_are_halved_on_some_of_them(monkeypatch):
    monkeypatch.setattr("scutc.core.replicates.MAX_CELLS", 60)
    adata = make_groups((80, 60, 40), n_genes=400)
    model = UTC().fit(adata.X)
    assert model.n_clusters_ == 3
    assert (model.votes_ >= 0).all(axis=1).sum() == 60
    assert (model.votes_[:, :4] >= 0).all()


def test_more_clusters_than_cells_that_were_halved(monkeypatch):
    monkeypatch.setattr("scutc.core.replicates.MAX_CELLS", 20)
    model = UTC(30, n_splits=1).fit(make_groups((40, 30), n_genes=400).X)
    assert len(np.unique(model.labels_)) == 30
    assert np.isnan(model.stability_).sum() == 30 - len(np.unique(model.labels_[model.votes_[:, -1] >= 0]))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_cells_that_half_of_the_genes_say_nothing_of_are_left_out_of_the_comparison(kind):
    X = make_groups((30, 25, 20), n_genes=400).X
    X[3, 1:] = 0.0  # of which one half of each split knows nothing
    model = UTC(3, metric="correlation", screen_genes=False).fit(kind(X))
    assert (model.votes_[3, 4:] == -1).all()
    assert (np.delete(model.votes_, 3, axis=0) >= 0).all()


def test_fewer_splits_are_a_choice_and_none_leaves_it_to_the_orders():
    X = make_groups((30, 25, 20), n_genes=400).X
    lines = []
    assert UTC(n_splits=2, verbose=lines.append).fit(X).votes_.shape[1] == 4 + 4
    assert "4 halves of the genes" in lines
    lines.clear()
    assert UTC(n_splits=0, verbose=lines.append).fit(X).n_clusters_ == 3
    assert not any("halves" in line for line in lines)


def test_zero_splits_of_any_integer_type():
    assert UTC(3, n_splits=np.int64(0)).fit(make_groups(n_genes=400).X).votes_.shape == (45, 4)


@pytest.mark.parametrize("n_splits", [-1, 1.5, "many", None, True])
def test_what_is_no_number_of_splits(n_splits):
    with pytest.raises(ValueError, match=r"n_splits=.* is not a positive integer or 'auto' or 0"):
        UTC(n_splits=n_splits).fit(make_groups().X)


@pytest.mark.parametrize("n_cells", [20, 30])
def test_screening_of_many_genes_makes_no_clusters_of_noise(n_cells):
    # Genes that are chosen on all cells must not seem to agree afterwards.
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(n_cells, 20_000))
        with pytest.warns(UserWarning, match="one cluster"):
            assert UTC(random_state=seed).fit(X).n_clusters_ == 1


def test_one_order_alone_is_not_compared_with_itself():
    adata = make_groups((25, 20, 15), n_genes=60)
    model = UTC(orders=(2,)).fit(adata.X)
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(model.n_clusters_reproduced_, 0.5)
    np.testing.assert_array_equal(model.stability_, [np.nan] * 3)


@pytest.mark.parametrize(
    ("n_genes", "orders", "rule"),
    [(400, (2, 3, 4), "halves of the genes"), (60, (2, 3, 4), "single orders"), (60, (3,), "separation")],
)
def test_how_it_was_found_is_recorded(n_genes, orders, rule):
    adata = make_groups(n_genes=n_genes)
    scutc.tl.utc(adata, orders=orders)
    assert rule in adata.uns["utc"]["n_clusters_method"]


def test_the_first_splits_are_the_same_however_many_there_are():
    X = make_groups((30, 25, 20), n_genes=400).X
    few, many = (UTC(4, n_splits=number).fit(X).votes_ for number in (1, 3))
    np.testing.assert_array_equal(few, many[:, :6])


def test_without_halves_nothing_says_that_there_is_one_cluster():
    # Crossing lines, of which only order 3 knows: the orders disagree, and yet there are clusters.
    X = scutc.datasets.syndata1().X
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Halves of the genes were not compared")
        assert UTC(metric="euclidean").fit(X).n_clusters_ > 1


@pytest.mark.parametrize(
    ("n_cells", "n_genes", "options", "why"),
    [
        (15, 500, {}, "15 cells are too few"),
        (40, 199, {}, "there are no genes, too few, or n_splits is 0"),
        (40, 500, {"n_splits": 0}, "there are no genes, too few, or n_splits is 0"),
        (16, 200, {}, None),
        (15, 500, {"n_clusters": 2}, None),
    ],
)
def test_a_number_that_halves_of_the_genes_were_not_asked_for_is_warned_of(n_cells, n_genes, options, why):
    noise = np.random.default_rng(0).standard_normal((n_cells, n_genes))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        UTC(**options).fit(noise)
    said = [str(each.message) for each in caught if "Halves of the genes were not compared" in str(each.message)]
    assert [f"({why})" in each for each in said] == ([] if why is None else [True])


@pytest.mark.parametrize(("n_cells", "n_genes"), [(16, 2000), (30, 5000), (60, 5000)])
@pytest.mark.parametrize("seed", range(4))
def test_the_shallowest_of_few_cells_are_no_population(n_cells, n_genes, seed):
    X = one_population(n_cells, seed, n_genes)
    with pytest.warns(UserWarning, match="one cluster"):
        assert UTC().fit(X).n_clusters_ == 1


def test_what_must_come_back_is_what_a_few_cells_tell():
    for sizes in ((5, 11), (5, 95), (5, 245), (8, 392), (40, 1960)):
        n_cells = sum(sizes)
        labels = np.repeat([0, 1], sizes)
        came_back = mutual_information(labels, labels)
        assert least_surplus(n_cells) == pytest.approx(2 * came_back - entropy(sizes))
        fewer = np.repeat([0, 1], (sizes[0] - 1, sizes[1] + 1))
        assert 2 * mutual_information(fewer, fewer) - entropy(np.bincount(fewer)) < least_surplus(n_cells)


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_estimate_and_confidence_are_the_same_for_any_input_and_number_of_threads(n_landmarks, tmp_path):
    adata = make_groups((60, 40, 30), n_genes=2200)  # of which some are screened out
    adata.write_h5ad(tmp_path / "dense.h5ad")
    inputs = {
        "threads": adata.X,
        "CSR": sparse.csr_matrix(adata.X),
        "backed": read_h5ad(tmp_path / "dense.h5ad", backed="r").X,
        "Dask": da.from_array(adata.X, chunks=(50, -1)),
    }
    one = UTC(n_landmarks=n_landmarks, n_jobs=1).fit(adata.X)
    assert one.n_clusters_ == 3
    for name, matrix in inputs.items():
        other = UTC(n_landmarks=n_landmarks, n_jobs=2).fit(matrix)
        for field in ("labels_", "votes_", "confidence_", "stability_", "n_clusters_scores_", "n_clusters_spread_"):
            np.testing.assert_allclose(
                getattr(other, field), getattr(one, field), atol=1e-9, err_msg=f"{name}: {field}"
            )


def test_results_without_structure_survive_a_file(tmp_path):
    adata = AnnData(one_population(60, 0))
    with pytest.warns(UserWarning, match="one cluster"):
        scutc.tl.utc(adata)
    adata.write_h5ad(tmp_path / "one.h5ad")
    again = read_h5ad(tmp_path / "one.h5ad")
    assert again.obs["utc"].cat.categories.to_list() == ["0"]
    np.testing.assert_array_equal(again.uns["utc"]["n_clusters_scores"], adata.uns["utc"]["n_clusters_scores"])
    np.testing.assert_array_equal(again.obsm["utc_votes"], adata.obsm["utc_votes"])


def test_trying_numbers_moves_a_bar_by_one_for_each():
    X = make_groups((30, 25, 20), n_genes=400).X
    lengths, lines = [], []

    def count(steps):
        lengths.append(0)
        for step in steps:
            lengths[-1] += 1
            yield step

    model = UTC(n_splits=1, progress=count, verbose=lines.append).fit(X)
    assert lengths[-1] == len(model.n_clusters_candidates_) == 19
    assert sum("number" in line for line in lines) == 1
