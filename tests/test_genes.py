"""Which genes carry structure: judged by others only, the same for any kind of matrix, used wherever it is read."""

from __future__ import annotations

import warnings

import anndata
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse
from scipy.special import betaincc
from sklearn.metrics import adjusted_rand_score

import scutc
from conftest import make_groups, snapshot
from scutc import UTC
from scutc.core import genes
from scutc.core.genes import Genes, benjamini_hochberg, screen_genes

N_SIGNAL = 60
NOISE_AND_ALL = slice(N_SIGNAL, None), slice(None)


def noisy_groups(sizes=(30, 25, 20), n_genes=1200, seed=0) -> AnnData:
    """Groups that show in the first genes, many others of pure noise behind them."""
    adata = make_groups(sizes, n_genes=N_SIGNAL, seed=seed)
    rng = np.random.default_rng([seed, 1])
    noise = np.log1p(rng.poisson(2.0, size=(adata.n_obs, n_genes - N_SIGNAL))).astype(np.float32)
    noisy = AnnData(np.hstack([adata.X, noise]), obs=adata.obs)
    noisy.var_names = [f"gene{i}" for i in range(n_genes)]
    return noisy


def judge(X, metric="correlation", seed=0, **parameters):
    return screen_genes(X, UTC(metric=metric, random_state=seed, **parameters)._settings(X.shape[1]))


@pytest.fixture(autouse=True)
def _few_genes_stay(monkeypatch):
    """So that a filter of some thousand genes leaves many out."""
    monkeypatch.setattr(genes, "MIN_KEPT", 150)


@pytest.mark.parametrize("metric", ["correlation", "spearman", "euclidean"])
def test_genes_with_structure_are_informative_and_noise_is_not(metric):
    X = noisy_groups().X
    screen = judge(X, metric)
    assert screen.informative[:N_SIGNAL].mean() > 0.95
    assert screen.informative[N_SIGNAL:].mean() < 0.1
    assert screen.kept[screen.informative].all()
    assert 150 <= screen.kept.sum() < 200
    assert screen.scores[:N_SIGNAL].mean() > 3 * screen.score_of_noise
    # Noise has what is expected of it: directions of other genes explain about m / (n - 1) of it.
    assert screen.score_of_noise == pytest.approx(9 / 74, rel=0.1)
    assert screen.scores[N_SIGNAL:].mean() == pytest.approx(screen.score_of_noise, rel=0.05)


@pytest.mark.parametrize("metric", ["correlation", "spearman", "euclidean"])
def test_where_all_genes_stay_those_with_structure_are_told_from_noise_too(metric, monkeypatch):
    monkeypatch.setattr(genes, "MIN_KEPT", 2000)
    monkeypatch.setattr(genes, "_reproducible", None)  # no rounds
    screen = judge(noisy_groups().X, metric)
    assert screen.kept.all()
    assert screen.informative[:N_SIGNAL].mean() > 0.95
    assert screen.informative[N_SIGNAL:].mean() < 0.1


def test_half_of_the_informative_genes_may_be_noise_but_not_more():
    screens = [judge(noisy_groups(seed=seed).X, seed=seed) for seed in range(4)]
    noise, all_of_them = (sum(screen.informative[part].sum() for screen in screens) for part in NOISE_AND_ALL)
    assert noise / all_of_them == pytest.approx(genes.FALSE_DISCOVERY_RATE, abs=0.1)


@pytest.mark.parametrize("n_kept", [150, 2000])
@pytest.mark.parametrize("seed", range(3))
def test_no_gene_is_informative_where_genes_are_permuted_one_by_one(seed, n_kept, monkeypatch):
    monkeypatch.setattr(genes, "MIN_KEPT", n_kept)
    rng = np.random.default_rng(seed)
    X = np.array([rng.permutation(gene) for gene in noisy_groups(seed=seed).X.T]).T
    screen = judge(X)
    # A few may be by chance, in one of twenty such data.
    assert screen.informative.mean() < 0.01
    assert screen.kept.sum() >= min(n_kept, X.shape[1])


def weak_groups(seed, fold, n_genes=12_000) -> AnnData:
    """Log-normalised counts of three groups, each with 60 markers that are so many times as high as in the others."""
    rng = np.random.default_rng(seed)
    groups, marks = np.repeat(np.arange(3), (40, 30, 20)), rng.permutation(n_genes) // 60
    rates = np.where(groups[:, None] == marks, fold, 1.0) * rng.lognormal(-1, 1.2, n_genes)
    rates *= rng.lognormal(0, 0.3, (90, 1))
    counts = rng.negative_binomial(2, 2 / (2 + rates)).astype(np.float32)
    adata = AnnData(counts, obs={"label": groups}, var={"marker": marks < 3})
    sc.pp.filter_genes(adata, min_cells=3)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata


def test_markers_that_are_too_weak_for_halves_to_agree_on_are_found_by_how_much_they_vary(monkeypatch):
    monkeypatch.setattr(genes, "MIN_KEPT", 2000)
    sets = [weak_groups(seed, 3.0) for seed in range(3)]
    scores = [adjusted_rand_score(adata.obs["label"], UTC(3).fit_predict(adata.X)) for adata in sets]
    assert np.mean(scores) > 0.7
    monkeypatch.setattr(genes, "_variable", lambda genes, candidates, rng: candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of clusters that halves do not agree on, either
        scores = [adjusted_rand_score(adata.obs["label"], UTC(3).fit_predict(adata.X)) for adata in sets]
    assert np.mean(scores) < 0.3


def test_markers_that_vary_no_more_than_others_are_found_by_what_halves_agree_on(monkeypatch):
    monkeypatch.setattr(genes, "MIN_KEPT", 2000)
    adata = weak_groups(0, 4.0, n_genes=20_000)
    X = (adata.X - adata.X.mean(axis=0)) / adata.X.std(axis=0)
    assert adjusted_rand_score(adata.obs["label"], UTC(3).fit_predict(X)) > 0.8
    monkeypatch.setattr(genes, "_reproducible", genes._variable)
    assert adjusted_rand_score(adata.obs["label"], UTC(3).fit_predict(X)) < 0.5


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_how_much_genes_vary_is_seen_next_to_others_of_a_similar_mean(container):
    rng = np.random.default_rng(0)
    means = np.repeat([1.0, 5.0, 20.0, 90.0], 100)
    X = rng.poisson(means, size=(300, 400)).astype(float)
    loud = np.arange(50, 400, 100)
    X[:, loud] = rng.poisson(means[loud] * rng.gamma(4.0, 0.25, size=(300, 4)))
    X[:, 7] = 1.0
    found = Genes(container(X), "correlation").variability(np.arange(400))
    # The loudest of the rarest varies less than any of the commonest, but more than is usual among its like.
    assert X[:, 50].var() < X[:, 300:].var(axis=0).min()
    assert set(np.argsort(-found)[:10]) >= set(loud)
    permuted = rng.permuted(X, axis=0)
    np.testing.assert_array_equal(Genes(container(permuted), "correlation").variability(np.arange(400)), found)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_genes_that_do_not_vary_come_last_and_change_nothing(container, monkeypatch):
    monkeypatch.setattr(genes, "STRICT_RATE", 0.0)  # so that none is informative
    X = weak_groups(0, 1.0, n_genes=2000).X.astype(float) * 1e-100
    n_varying = X.shape[1]
    wider = np.hstack([X, np.zeros((90, 3000)), np.full((90, 20), X.max())])
    found = Genes(container(X), "correlation").variability(np.arange(n_varying))
    of_wider = Genes(container(wider), "correlation").variability(np.arange(wider.shape[1]))
    np.testing.assert_allclose(of_wider[:n_varying], found, rtol=1e-5)
    assert (of_wider[n_varying:] == -np.inf).all()
    screen = judge(container(wider))
    assert screen.kept.sum() == 150
    assert not screen.kept[n_varying:].any()


def test_genes_that_vary_beyond_all_measure_come_first_and_are_finite():
    X = np.random.default_rng(0).normal(size=(60, 2500))
    X -= X.mean(axis=0)
    X[:, 50:] *= 1e-30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Genes(X, "euclidean").variability(np.arange(2500))
    assert np.isfinite(found).all()
    assert found[:50].min() > found[50:].max()


def test_genes_that_do_not_vary_are_no_tests(monkeypatch):
    asked = []

    def record(p_values, rate):
        asked.append((len(p_values), rate))
        return benjamini_hochberg(p_values, rate)

    monkeypatch.setattr(genes, "benjamini_hochberg", record)
    X = noisy_groups().X
    judge(np.hstack([X, np.ones((len(X), 5000), dtype=X.dtype)]))
    # That there is structure is asked more strictly where there were two ways to it.
    assert asked == [(1200, genes.STRICT_RATE / 2), (1200, genes.FALSE_DISCOVERY_RATE)]
    monkeypatch.setattr(genes, "MIN_KEPT", 2000)
    judge(X)
    assert asked[2:] == [(1200, genes.STRICT_RATE), (1200, genes.FALSE_DISCOVERY_RATE)]


@pytest.mark.parametrize("n_cells", [200, 210])
def test_one_loud_gene_does_not_hide_the_directions_of_others(n_cells, monkeypatch):
    """In single precision either, above 200 cells."""
    monkeypatch.setattr(genes, "MIN_KEPT", 2000)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_cells, 1200))
    X[:, :N_SIGNAL] += 2 * (np.arange(n_cells)[:, None] % 3 == np.arange(N_SIGNAL) % 3)
    X[:, 100] *= 1000
    assert judge(X, "euclidean").informative[:N_SIGNAL].all()


def test_genes_that_were_centred_are_not_grouped_by_rounding_errors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 300)) * rng.lognormal(size=300)
    X -= X.mean(axis=0)
    found = Genes(X, "euclidean").variability(np.arange(300))
    permuted = Genes(X[::-1].copy(), "euclidean").variability(np.arange(300))
    np.testing.assert_allclose(permuted, found, rtol=1e-5)
    # The same mean, none: the more one varies, the more it is beyond what is usual.
    assert np.corrcoef(np.argsort(np.argsort(found)), np.argsort(np.argsort(X.var(axis=0))))[0, 1] > 0.95


def test_where_most_genes_vary_alike_the_others_are_still_told():
    X = np.zeros((60, 300))
    X[:5, ::3], X[7, 1::3], X[:5, 2::3] = 1.0, 5.0, 1.0  # all have the same mean
    found = Genes(X, "euclidean").variability(np.arange(300))
    assert (found[1::3] == found.max()).all()
    np.testing.assert_array_equal(np.delete(found, np.s_[1::3]), 0.0)
    assert 1 < found.max() < 10  # in the units of genes that do not vary alike


def test_moments_are_those_of_the_values_in_units_of_their_largest():
    X = np.random.default_rng(0).gamma(0.5, size=(60, 200)).round() * np.logspace(-200, 200, 200)
    X[:, 5] += 1e4 * X[:, 5].max()
    X[:, 6] = 0.0
    scaled = X / np.where(X.max(axis=0) > 0, X.max(axis=0), 1.0)
    for container in (np.asarray, sparse.csr_matrix):
        all_genes = Genes(container(X), "euclidean")
        mean = scaled.mean(axis=0)
        expected = np.sum((scaled - mean) ** 4, axis=0) / np.maximum(np.sum((scaled - mean) ** 2, axis=0), 1e-30) ** 2
        varies = all_genes.varies
        np.testing.assert_allclose(all_genes._fourth[varies], expected[varies], rtol=1e-6)
        np.testing.assert_allclose(all_genes._variances[varies], scaled.var(axis=0)[varies], rtol=1e-9)
        assert not varies[6]


@pytest.mark.parametrize("n_cells", [90, 300])
def test_few_genes_have_few_directions_and_cells_in_another_order_the_same(n_cells):
    X = np.random.default_rng(0).gamma(2.0, size=(n_cells, 30))
    directions = Genes(X, "euclidean").directions(np.arange(4))
    assert directions.shape == (n_cells, 4)
    order = np.random.default_rng(1).permutation(n_cells)
    again = Genes(X[order], "euclidean").directions(np.arange(4))
    np.testing.assert_allclose(again @ again.T, (directions @ directions.T)[np.ix_(order, order)], atol=2e-3)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_a_few_genes_of_many_are_found_whatever_the_order_of_cells(container):
    """Rounds may end with so few genes that rounding errors would have a say."""
    X = scutc.datasets.syndata2(3000).X
    order = np.random.default_rng(0).permutation(len(X))
    one, other = judge(X), judge(container(X[order]))
    np.testing.assert_array_equal(one.informative, other.informative)
    np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)


def test_genes_that_vary_alike_are_not_chosen_by_where_they_stand(monkeypatch):
    monkeypatch.setattr(genes, "STRICT_RATE", 0.0)  # so that none is informative
    X = noisy_groups().X
    screen = judge(X)
    assert not screen.informative.any()
    assert screen.kept.sum() == 150
    screen = judge((X - X.mean(axis=0)) / X.std(axis=0))
    assert not screen.informative.any()
    assert screen.kept.all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_noise_of_cells_that_are_not_alike_is_not_informative(container, monkeypatch):
    """Few counts leave more noise, directions dwell on such cells, and every gene then seems to share them."""
    monkeypatch.setattr(genes, "MIN_KEPT", 1000)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rates = rng.lognormal(-1, 1.2, 3000) * rng.lognormal(0, 0.8, (90, 1))
        adata = AnnData(rng.negative_binomial(2, 2 / (2 + rates)).astype(np.float32))
        sc.pp.filter_genes(adata, min_cells=3)
        sc.pp.normalize_total(adata)
        sc.pp.log1p(adata)
        screen = judge(container(adata.X))
        assert screen.informative.mean() < 0.01
        assert screen.score_of_noise > 1.1 * 10 / 89
        assert screen.scores.mean() == pytest.approx(screen.score_of_noise, rel=0.1)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_expected_score_is_the_mean_over_genes_that_know_nothing_of_the_directions(container):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2000)) * np.linspace(0.2, 2.0, 60)[:, None] + 3.0
    all_genes = Genes(container(X), "euclidean")
    directions = all_genes.directions(np.arange(1000))
    in_cells = all_genes.variance_in_cells(np.arange(1000))
    centred = X[:, :1000] - X[:, :1000].mean(axis=0)
    np.testing.assert_allclose(in_cells, np.mean(centred**2 / np.sum(centred**2, axis=0), axis=1))
    expected = all_genes.expected_score(directions, in_cells)
    assert expected > 1.3 * all_genes.n_directions / 59
    assert all_genes.scores(np.arange(1000, 2000), directions).mean() == pytest.approx(expected, rel=0.05)


def test_a_gene_does_not_enter_its_own_judgement(monkeypatch):
    """However loud a gene of noise is, its score is that of noise."""
    X = noisy_groups().X.astype(float)
    plain = judge(X).scores[900]
    X[:, 900] *= 1000
    assert judge(X, metric="euclidean").scores[900] < 3 * plain + 0.2
    asked = []
    directions, scores = Genes.directions, Genes.scores

    def record_directions(self, found_in):
        asked.append(set(found_in.tolist()))
        return directions(self, found_in)

    def record_scores(self, judged, along):
        assert not asked[-1] & set(judged.tolist())
        return scores(self, judged, along)

    monkeypatch.setattr(Genes, "directions", record_directions)
    monkeypatch.setattr(Genes, "scores", record_scores)
    judge(noisy_groups().X)
    assert asked


def test_scores_equal_those_of_a_regression():
    X = np.random.default_rng(0).gamma(2.0, size=(40, 30))
    all_genes = Genes(X, "correlation")
    directions = all_genes.directions(np.arange(20))
    assert directions.shape == (40, 5)
    np.testing.assert_allclose(directions.T @ directions, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(directions.sum(axis=0), 0.0, atol=1e-10)
    for gene in range(20, 30):
        values = X[:, gene]
        design = np.column_stack([np.ones(40), directions])
        residual = values - design @ np.linalg.lstsq(design, values)[0]
        expected = 1 - residual.var() / values.var()
        assert all_genes.scores(np.array([gene]), directions)[0] == pytest.approx(expected)


def test_directions_are_the_principal_ones_of_cells_that_are_standardised_in_these_genes():
    X = np.random.default_rng(0).gamma(2.0, size=(40, 30))
    part = X[:, :20] - X[:, :20].mean(axis=1, keepdims=True)
    part /= np.linalg.norm(part, axis=1, keepdims=True)
    expected = np.linalg.svd(part - part.mean(axis=0))[0][:, :5]
    found = Genes(X, "correlation").directions(np.arange(20))
    np.testing.assert_allclose(np.abs(np.sum(found * expected, axis=0)), 1.0, atol=1e-8)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_cells_that_do_not_vary_in_some_genes_have_no_say_in_single_precision_either(container):
    X = np.random.default_rng(0).gamma(2.0, size=(300, 60))
    X[:9, :40] = np.linspace(1, 3, 9)[:, None]
    found = Genes(container(X), "correlation").directions(np.arange(40))
    assert found.dtype == np.float32
    part = X[:, :40] - X[:, :40].mean(axis=1, keepdims=True)
    part /= np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9)
    expected = np.linalg.svd(part - part.mean(axis=0))[0][:, :10]
    np.testing.assert_allclose(np.linalg.norm(expected.T @ found, axis=0), 1.0, atol=1e-3)
    np.testing.assert_allclose(found[:9], np.tile(found[0], (9, 1)), atol=1e-6)


def test_many_cells_are_judged_by_some_that_are_evenly_spread(monkeypatch):
    X = noisy_groups((60, 50, 40)).X
    whole = judge(X)
    monkeypatch.setattr(genes, "MAX_CELLS", 50)
    some = judge(X)
    assert some.score_of_noise == pytest.approx(6 / 49, rel=0.1)
    np.testing.assert_array_equal(some.scores, judge(X[np.linspace(0, 149, 50).astype(int)]).scores)
    assert some.informative[:N_SIGNAL].mean() > 0.9
    assert whole.score_of_noise == pytest.approx(10 / 149, rel=0.1)


@pytest.mark.parametrize("n_genes", [20, 4])
def test_p_values_are_those_of_permutations(n_genes):
    """The chance of a score is counted over permutations of a gene's values, for a normal and for a rare gene."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 40))
    X[:, 30] = 0.0
    X[:3, 30] = 1.0  # a gene of three cells
    X[np.arange(5), np.arange(5)] += 40.0  # and directions that dwell on few cells
    all_genes = Genes(X, "euclidean")
    directions = all_genes.directions(np.arange(n_genes))
    m = directions.shape[1]
    assert m == min(n_genes, all_genes.n_directions)
    for gene in (25, 30):
        values = X[:, gene] - X[:, gene].mean()
        permuted = np.array([rng.permutation(values) for _ in range(4000)])
        scores = np.sum((permuted @ directions) ** 2, axis=1) / np.sum(values**2)
        p_values = all_genes.p_values(np.full(4000, gene), scores, directions, m / 59)
        # Of a rare gene the score takes few values: no more than the level is what is asked for.
        assert np.mean(p_values < 0.01) <= 0.013
        if gene == 25:
            assert np.mean(p_values < 0.2) == pytest.approx(0.2, rel=0.2)
    # The plain distribution of a normal gene would take the rare one for informative many times too often.
    naive = betaincc(m / 2, (60 - 1 - m) / 2, scores)
    assert np.mean(naive < 0.01) > 0.03


def test_false_discovery_rate_is_that_of_benjamini_and_hochberg():
    p_values = np.array([0.9, 0.01, 0.2, 0.6, 0.24])
    # At a rate of one half: 0.01 <= 0.1, 0.2 <= 0.2, 0.24 <= 0.3, but 0.6 > 0.4 and 0.9 > 0.5.
    np.testing.assert_array_equal(benjamini_hochberg(p_values, 0.5), [False, True, True, False, True])
    assert not benjamini_hochberg(np.array([0.8, 0.9]), 0.5).any()


@pytest.mark.parametrize(("n_cells", "n_genes"), [(15, 500), (60, 199)])
def test_too_few_cells_or_genes_are_not_screened(n_cells, n_genes):
    X = np.random.default_rng(0).random((n_cells, n_genes))
    assert judge(X) is None
    model = UTC(2).fit(X)
    assert model.kept_genes_ is None
    assert model.gene_scores_ is None


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_cells_that_say_nothing_in_the_kept_genes_get_one_in_which_they_do(container):
    X = noisy_groups().X
    X[3, :] = 0.0
    X[3, 1100] = 1.0
    screen = judge(container(X))
    assert screen.kept[1100]
    assert len(np.unique(UTC(3).fit(container(X)).labels_)) == 3


def test_constant_genes_are_never_informative():
    X = noisy_groups().X
    X[:, 5] = 2.0
    screen = judge(X)
    assert screen.scores[5] == 0.0
    assert not screen.informative[5]


# What it does to a clustering


def test_groups_that_noise_hides_are_found():
    adata = scutc.datasets.syndata2(20_000)
    with_screen, without = (
        adjusted_rand_score(adata.obs["label"], UTC(3, screen_genes=screen).fit_predict(adata.X))
        for screen in (True, False)
    )
    assert with_screen == 1.0
    assert without < 0.9


def test_the_result_is_that_of_the_kept_genes():
    adata = noisy_groups()
    model = UTC(3).fit(adata.X)
    alone = UTC(3, screen_genes=False).fit(adata.X[:, model.kept_genes_])
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    np.testing.assert_array_equal(model.embedding_, alone.embedding_)
    np.testing.assert_array_equal(model.predict(adata.X), model.labels_)
    np.testing.assert_allclose(model.transform(adata.X[:9]), model.embedding_[:9], atol=1e-9)
    assert alone.informative_genes_ is None


PLACES = {
    "csr": lambda X, path: sparse.csr_matrix(X),
    "csc": lambda X, path: sparse.csc_matrix(X),
    "backed": lambda X, path: X,
    "backed csr": lambda X, path: sparse.csr_matrix(X),
    "dask": lambda X, path: da.from_array(X, chunks=(20, -1)),
    "dask csr": lambda X, path: da.from_array(X, chunks=(20, -1)).map_blocks(sparse.csr_matrix),
}


@pytest.mark.parametrize("n_landmarks", [None, 40])
@pytest.mark.parametrize("place", PLACES)
def test_the_same_genes_are_kept_wherever_the_matrix_lies(place, n_landmarks, tmp_path):
    dense = noisy_groups()
    scutc.tl.utc(dense, 3, n_landmarks=n_landmarks)
    adata = AnnData(PLACES[place](dense.X, tmp_path), var=pd.DataFrame(index=dense.var_names))
    if place.startswith("backed"):
        adata.write_h5ad(tmp_path / "a.h5ad")
        adata = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    scutc.tl.utc(adata, 3, n_landmarks=n_landmarks)
    np.testing.assert_array_equal(adata.uns["utc"]["kept_genes"], dense.uns["utc"]["kept_genes"])
    np.testing.assert_array_equal(adata.var["utc_informative"], dense.var["utc_informative"])
    np.testing.assert_allclose(adata.var["utc_score"], dense.var["utc_score"], atol=1e-6)
    np.testing.assert_array_equal(adata.obs["utc"], dense.obs["utc"])
    np.testing.assert_allclose(adata.obsm["X_utc"], dense.obsm["X_utc"], atol=1e-6)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_any_number_of_threads_and_every_run_give_the_same_bits(n_jobs):
    X = noisy_groups().X
    one, other = UTC(3, n_jobs=1).fit(X), UTC(3, n_jobs=n_jobs).fit(X)
    np.testing.assert_array_equal(one.gene_scores_, other.gene_scores_)
    np.testing.assert_array_equal(one.kept_genes_, other.kept_genes_)


def test_a_late_cell_that_says_nothing_in_the_kept_genes_is_placed_in_the_middle_and_an_empty_one_named():
    adata = noisy_groups((60, 50, 40))
    model = UTC(3, n_landmarks=40).fit(adata.X)
    new = adata.X[:3].copy()
    new[1, model.kept_genes_] = 0.0
    assert np.isfinite(model.transform(new)).all()
    np.testing.assert_array_equal(model.predict(new)[[0, 2]], model.predict(adata.X[[0, 2]]))
    new[1] = 0.0
    with pytest.raises(ValueError, match=r"1 of 1 cells have the same value .* cell 1 "):
        model.transform(new)


# What is written


def test_genes_are_written_beside_the_mask_and_follow_the_key():
    adata = noisy_groups()
    mask = np.arange(adata.n_vars) % 2 == 0
    scutc.tl.utc(adata, 3, mask_var=mask, key_added="mine")
    assert adata.var["mine_informative"].dtype == bool
    assert adata.var["mine_score"].isna().tolist() == (~mask).tolist()
    assert not adata.var["mine_informative"][~mask].any()
    alone = UTC(3).fit(adata.X[:, mask])
    np.testing.assert_array_equal(adata.var["mine_score"][mask], alone.gene_scores_)
    np.testing.assert_array_equal(adata.uns["mine"]["kept_genes"], alone.kept_genes_)
    assert "utc_score" not in adata.var


def test_genes_of_raw_are_written_by_name(tmp_path):
    whole = noisy_groups()
    adata = whole[:, ::-1][:, :600].copy()
    adata.raw = whole
    scutc.tl.utc(adata, 3, use_raw=True)
    scutc.tl.utc(whole, 3)
    pd.testing.assert_series_equal(adata.var["utc_score"], whole.var["utc_score"][adata.var_names])
    adata.write_h5ad(tmp_path / "a.h5ad")
    read = anndata.read_h5ad(tmp_path / "a.h5ad")
    pd.testing.assert_frame_equal(read.var, adata.var)


@pytest.mark.parametrize("without", [{"screen_genes": False}, {"use_rep": "rep"}])
def test_nothing_is_screened_without_genes_or_if_not_wanted_and_earlier_columns_go(without):
    adata = noisy_groups()
    adata.obsm["rep"] = adata.X[:, :500]
    scutc.tl.utc(adata, 3)
    assert "utc_score" in adata.var
    scutc.tl.utc(adata, 3, **without)
    assert not {"utc_score", "utc_informative"} & set(adata.var)
    assert "kept_genes" not in adata.uns["utc"]
    assert not adata.uns["utc"]["params"]["screen_genes"]


def test_kept_genes_are_logged_in_one_line(monkeypatch):
    lines = []
    monkeypatch.setattr("scanpy.logging.info", lambda message, **_: lines.append(message))
    adata = noisy_groups()
    scutc.tl.utc(adata, 3)
    kept, informative = adata.uns["utc"]["kept_genes"].sum(), adata.var["utc_informative"].sum()
    assert f"    kept {kept} of 1200 genes, {informative} of them informative" in lines


def test_new_cells_are_placed_by_the_kept_genes_of_the_reference():
    adata = noisy_groups((60, 50, 40))
    reference, new = adata[::2].copy(), adata[1::2].copy()
    scutc.tl.utc(reference, 3)
    kept = reference.uns["utc"]["kept_genes"]
    expected = new.copy()
    scutc.tl.transfer(expected, reference)
    assert expected.uns["utc"]["n_shared_genes"] == kept.sum()
    new.X[:, ~kept] = 100 * np.random.default_rng(0).random((new.n_obs, (~kept).sum()))
    scutc.tl.transfer(new, reference)
    np.testing.assert_array_equal(new.obs["utc"], expected.obs["utc"])
    np.testing.assert_allclose(new.obsm["X_utc"], expected.obsm["X_utc"])


def test_plots_compute_again_by_the_kept_genes():
    adata = noisy_groups()
    scutc.tl.utc(adata, 3)
    chosen = adata[:, adata.uns["utc"]["kept_genes"]].copy()
    scutc.tl.utc(chosen, 3, screen_genes=False)
    for plot in (scutc.pl.orders, scutc.pl.affinity):
        for one, other in zip(plot(adata, show=False), plot(chosen, show=False), strict=True):
            shown = [
                ax.collections[0].get_offsets() if ax.collections else ax.images[0].get_array() for ax in (one, other)
            ]
            np.testing.assert_allclose(*shown, atol=1e-9)
    plt.close("all")


@pytest.mark.parametrize("value", [1, "yes", None])
def test_a_bad_value_is_named_and_adata_untouched(value):
    adata = noisy_groups()
    before = snapshot(adata)
    with pytest.raises(ValueError, match=f"screen_genes={value!r} is neither True nor False"):
        scutc.tl.utc(adata, 3, screen_genes=value)
    assert snapshot(adata) == before


# Its picture


def test_the_picture_names_the_best_genes_and_shows_all_scores():
    adata = noisy_groups()
    scutc.tl.utc(adata, 3)
    ax = scutc.pl.genes(adata, n_names=7, show=False)
    scores = adata.var["utc_score"].sort_values(ascending=False)
    assert [text.get_text() for text in ax.texts] == scores.index[:7].tolist()
    others, informative = (np.asarray(dots.get_offsets())[:, 1] for dots in ax.collections)
    np.testing.assert_allclose(np.sort(np.concatenate([others, informative]))[::-1], scores)
    assert len(informative) == adata.var["utc_informative"].sum()
    assert set(ax.lines[0].get_ydata()) == {adata.uns["utc"]["score_of_noise"]}
    plt.close("all")


def test_there_is_no_picture_where_genes_were_not_screened():
    adata = noisy_groups()
    scutc.tl.utc(adata, 3, screen_genes=False)
    with pytest.raises(ValueError, match="key='utc' has no scores of genes"):
        scutc.pl.genes(adata)


def test_of_several_tries_the_one_that_keeps_most_counts_and_one_is_enough_without_noise(monkeypatch):
    tries = iter([range(10), range(20, 45), range(5)])
    monkeypatch.setattr(genes, "_find", lambda *_: np.array(next(tries)))
    np.testing.assert_array_equal(genes._reproducible(None, np.arange(100), None), np.arange(20, 45))
    tries = iter([range(60)])
    np.testing.assert_array_equal(genes._reproducible(None, np.arange(100), None), np.arange(60))
