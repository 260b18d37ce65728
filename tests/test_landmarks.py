from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import adjusted_rand_score

import scutc
from conftest import make_groups, snapshot
from scutc import UTC
from scutc.core.landmarks import _mean_profiles, choose_landmarks, number_of_landmarks, sketch


@pytest.mark.parametrize(
    ("wanted", "n_cells", "expected"),
    [
        ("auto", 10, None),
        ("auto", 4000, None),
        ("auto", 4001, 2000),
        ("auto", 10**7, 2000),
        (None, 10**7, None),
        (50, 51, 50),
        (50, 50, None),
        (50, 49, None),
        (np.int64(50), 60, 50),
        (5000, 4500, None),
    ],
)
def test_number_of_landmarks(wanted, n_cells, expected):
    assert number_of_landmarks(wanted, n_cells) == expected


def test_auto_takes_landmarks_beyond_a_number_of_cells(monkeypatch):
    monkeypatch.setattr("scutc.core.landmarks.MAX_EXACT_CELLS", 60)
    monkeypatch.setattr("scutc.core.landmarks.DEFAULT_LANDMARKS", 25)
    for sizes, n_landmarks in (((30, 20, 11), 25), ((30, 20, 10), None)):
        adata = make_groups(sizes)
        scutc.tl.utc(adata, 3)
        assert adata.uns["utc"]["params"]["n_landmarks"] == "auto"
        assert len(adata.uns["utc"].get("landmarks", [])) == (n_landmarks or 0)
        assert adata.obs["utc"].value_counts(sort=False).tolist() == list(sizes)


@pytest.mark.parametrize("n_landmarks", [None, 45, 46, 10**6])
def test_as_many_landmarks_as_cells_is_the_exact_result(adata, n_landmarks):
    expected = UTC(3).fit(adata.X)
    scutc.tl.utc(adata, 3, n_landmarks=n_landmarks)
    assert "landmarks" not in adata.uns["utc"]
    assert adata.uns["utc"]["params"].get("n_landmarks") == n_landmarks
    np.testing.assert_array_equal(adata.obsm["X_utc"], expected.embedding_)


@pytest.mark.parametrize("sizes", [(50, 30, 20), (20, 30, 50)])
def test_every_cell_is_labelled_by_size_over_all_cells(sizes):
    adata = make_groups(sizes)
    scutc.tl.utc(adata, 3, n_landmarks=30)
    labels = adata.obs["utc"]
    assert not labels.isna().any()
    assert labels.cat.categories.tolist() == ["0", "1", "2"]
    assert labels.value_counts(sort=False).tolist() == [50, 30, 20]
    assert adjusted_rand_score(adata.obs["group"], labels) == 1.0
    assert adata.obsm["X_utc"].shape == (100, 3)
    assert np.isfinite(adata.obsm["X_utc"]).all()


def test_numbers_go_by_all_cells_and_not_by_landmarks():
    # A crowd of near copies takes few landmarks, a wide group of a few cells many.
    rng = np.random.default_rng(0)
    crowd = rng.normal(scale=0.01, size=(300, 20))
    wide = rng.normal(scale=1.0, size=(60, 20)) + 20
    model = UTC(2, metric="euclidean", n_landmarks=60).fit(np.vstack([wide, crowd]))
    assert (model.landmarks_ < 60).sum() > (model.landmarks_ >= 60).sum()
    np.testing.assert_array_equal(model.labels_, np.repeat([1, 0], [60, 300]))


@pytest.mark.parametrize("n_clusters", [1, 2, 7, 30])
def test_exactly_as_many_clusters_as_asked_for(n_clusters):
    adata = make_groups((60, 40, 20))
    scutc.tl.utc(adata, n_clusters, n_landmarks=30)
    sizes = adata.obs["utc"].value_counts(sort=False).tolist()
    assert len(sizes) == n_clusters
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] > 0
    assert adata.obsm["X_utc"].shape == (120, max(2, n_clusters))


def test_as_many_clusters_as_asked_for_where_cells_coincide():
    model = UTC(4, metric="euclidean", n_landmarks=10).fit(np.ones((50, 5)))
    assert len(np.unique(model.labels_)) == 4


def test_sequence_and_estimate_of_the_number_of_clusters():
    adata = make_groups((60, 40, 20))
    scutc.tl.utc(adata, [2, 3, 5], n_landmarks=40)
    for number in (2, 3, 5):
        sizes = adata.obs[f"utc_{number}"].value_counts(sort=False).tolist()
        assert len(sizes) == number
        assert sizes == sorted(sizes, reverse=True)
    scutc.tl.utc(adata, n_landmarks=40, key_added="estimated")
    assert adata.uns["estimated"]["n_clusters"] == 3
    assert adjusted_rand_score(adata.obs["group"], adata.obs["estimated"]) == 1.0
    pd.testing.assert_series_equal(adata.obs["estimated"], adata.obs["utc_3"], check_names=False)


@pytest.mark.parametrize("fitted", [2, 9])
def test_cuts_into_more_and_fewer_clusters_are_nested_for_all_cells(fitted):
    model = UTC(fitted, n_landmarks=40).fit(make_groups((60, 40, 20)).X)
    finer = model.cut(max(fitted, 6)).labels
    for number in (5, 4, 2):
        labels = model.cut(number).labels
        assert len(np.unique(labels)) == number
        assert len(set(zip(labels, finer, strict=True))) == finer.max() + 1
        finer = labels


def test_cut_does_not_change_what_is_predicted():
    X = make_groups((60, 40, 20)).X
    model = UTC(3, n_landmarks=40).fit(X)
    model.cut(6)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("solver", ["ascent", "admm"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_solvers_of_the_paper_take_landmarks(solver):
    adata = make_groups((60, 40, 20))
    model = UTC(3, solver=solver, n_landmarks=45).fit(adata.X)
    assert adjusted_rand_score(adata.obs["group"], model.labels_) == 1.0
    assert model.embedding_.shape == (120, 3)


def test_landmarks_are_recorded_and_survive_a_file(tmp_path):
    adata = make_groups((60, 40, 20))
    scutc.tl.utc(adata, 3, n_landmarks=30)
    landmarks = adata.uns["utc"]["landmarks"]
    assert landmarks.shape == (30,)
    assert (np.diff(landmarks) > 0).all()
    assert 0 <= landmarks[0] < landmarks[-1] < 120
    assert adata.uns["utc"]["params"]["n_landmarks"] == 30
    adata.write_h5ad(tmp_path / "a.h5ad")
    read = anndata.read_h5ad(tmp_path / "a.h5ad")
    np.testing.assert_array_equal(read.uns["utc"]["landmarks"], landmarks)
    assert read.uns["utc"]["params"]["n_landmarks"] == 30


def test_landmarks_of_an_earlier_result_are_forgotten():
    adata = make_groups((60, 40, 20))
    scutc.tl.utc(adata, 3, n_landmarks=30)
    scutc.tl.utc(adata, 3)
    assert "landmarks" not in adata.uns["utc"]


def test_seed_chooses_the_landmarks():
    X = make_groups((60, 40, 20)).X
    first, again, other = (UTC(3, n_landmarks=30, random_state=seed).fit(X) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.landmarks_, again.landmarks_)
    np.testing.assert_array_equal(first.embedding_, again.embedding_)
    assert first.landmarks_.tolist() != other.landmarks_.tolist()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_any_number_of_threads_gives_the_same_bits(metric, container, monkeypatch):
    # Blocks so small that there are many of them, and more cells than are sampled.
    monkeypatch.setattr("scutc.core.parallel.ENTRIES_TO_READ", 600)
    monkeypatch.setattr("scutc.core.parallel.ENTRIES_IN_CACHE", 600)
    X = container(make_groups((120, 80, 60), n_genes=30).X)
    one, two = (UTC(5, metric=metric, n_landmarks=20, n_jobs=n_jobs).fit(X) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.landmarks_, two.landmarks_)
    np.testing.assert_array_equal(one.embedding_, two.embedding_)
    np.testing.assert_array_equal(one.labels_, two.labels_)


def uneven(n_cells: int, n_rare: int, variation: float, seed: int) -> np.ndarray:
    """Log-normalised counts of two common groups and a rare one, the last; within all cells vary along two programs."""
    rng = np.random.default_rng(seed)
    n_common = (n_cells - n_rare) // 2
    groups = np.repeat([0, 1, 2], [n_common, n_cells - n_rare - n_common, n_rare])
    rates = rng.gamma(0.5, 1.0, size=200)[None] * np.ones((3, 1))
    for group in range(3):
        rates[group, 30 * group : 30 * group + 30] += 2.0
    programs = rng.normal(size=(n_cells, 2)) @ rng.normal(size=(2, 200))
    counts = rng.poisson(rates[groups] * np.exp(variation * programs)).astype(np.float32)
    return np.log1p(1000 * counts / counts.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("seed", range(4))
def test_a_rare_group_has_more_landmarks_than_its_share(seed):
    # By its share of the cells it would have 4 of the 200.
    landmarks = choose_landmarks(uneven(1200, 24, 0.6, seed), 200, "correlation", seed).cells
    assert np.count_nonzero(landmarks >= 1200 - 24) >= 8


@pytest.mark.parametrize("seed", range(4))
def test_a_rare_group_of_cells_that_are_all_alike_is_not_missed(seed):
    landmarks = choose_landmarks(uneven(1200, 24, 0.0, seed), 100, "correlation", seed).cells
    assert np.count_nonzero(landmarks >= 1200 - 24) >= 1


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_profiles_are_means_of_cells_around_each_landmark(container):
    adata = make_groups((90, 60, 30))
    landmarks = choose_landmarks(container(adata.X), 18, "correlation", 0)
    assert landmarks.cells.shape == (18,)
    assert landmarks.profiles.shape == (18, 60)
    # 180 cells, 18 landmarks: 10 cells make up each, and all of them are of its group.
    centers = np.array([adata.X[adata.obs["group"] == str(group)].mean(axis=0) for group in range(3)])
    groups = adata.obs["group"].astype(int).to_numpy()[landmarks.cells]
    distances = cdist(landmarks.profiles, centers)
    np.testing.assert_array_equal(distances.argmin(axis=1), groups)
    single = cdist(adata.X[landmarks.cells], centers)[np.arange(18), groups]
    assert (distances[np.arange(18), groups] < 0.6 * single).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_mean_profiles_equal_the_plain_means(container):
    sample = np.random.default_rng(0).poisson(1.0, size=(20, 7)).astype(np.float32)
    members = np.array([[0, 3, 5], [19, 2, 2]])
    found = _mean_profiles(container(sample), members)
    np.testing.assert_allclose(found, [sample[row].mean(axis=0) for row in members], rtol=1e-6)
    alone = _mean_profiles(container(sample), members[:, :1])
    np.testing.assert_array_equal(alone.toarray() if sparse.issparse(alone) else alone, sample[[0, 19]])


def test_dense_and_sparse_have_the_same_landmarks():
    X = make_groups((90, 60, 30)).X
    for metric in ("correlation", "euclidean"):
        dense, thin = (choose_landmarks(matrix, 25, metric, 3) for matrix in (X, sparse.csr_matrix(X)))
        np.testing.assert_array_equal(dense.cells, thin.cells)
        np.testing.assert_allclose(dense.profiles, thin.profiles, atol=1e-6)


@pytest.mark.parametrize("n_landmarks", [1, 7, 99, 100])
def test_a_sketch_has_as_many_distinct_points_as_wanted(n_landmarks):
    coordinates = np.random.default_rng(0).normal(size=(100, 4))
    chosen = sketch(coordinates, n_landmarks, np.random.default_rng(1))
    assert chosen.shape == (n_landmarks,)
    assert (np.diff(chosen) > 0).all()
    assert chosen.min() >= 0
    assert chosen.max() < 100


@pytest.mark.parametrize("n_distinct", [1, 3, 12])
def test_a_sketch_of_points_that_coincide_takes_every_place(n_distinct):
    coordinates = np.repeat(np.random.default_rng(0).normal(size=(n_distinct, 3)), 20, axis=0)
    chosen = sketch(coordinates, 15, np.random.default_rng(1))
    assert len(set(chosen.tolist())) == 15
    assert set(chosen // 20) == set(range(n_distinct))


@pytest.mark.parametrize("seed", range(3))
def test_one_point_of_every_box_is_taken_however_many_lie_in_it(seed):
    # Eight clumps on a grid, from 1 point to 2000, and eight wanted: one of each.
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 2000, 3, 500, 10, 2, 1000, 40])
    clump = np.repeat(np.arange(8), sizes)
    corners = np.array([[i & 1, i >> 1 & 1, i >> 2] for i in range(8)], dtype=float)
    coordinates = corners[clump] + 0.01 * rng.random((len(clump), 3))
    chosen = sketch(coordinates, 8, rng)
    assert sorted(clump[chosen].tolist()) == list(range(8))


def test_a_second_point_is_taken_of_a_box_only_after_one_of_each():
    clump = np.repeat(np.arange(4), [1, 2, 50, 50])
    chosen = sketch(clump[:, None].astype(float), 6, np.random.default_rng(0))
    counts = np.bincount(clump[chosen], minlength=4)
    assert counts[0] == 1
    assert counts.min() >= 1
    assert counts.max() <= 2


@pytest.mark.parametrize("seed", range(3))
def test_a_sketch_covers_points_better_than_a_sample(seed):
    rng = np.random.default_rng(seed)
    coordinates = np.vstack([rng.normal(scale=0.05, size=(1900, 2)), rng.uniform(-1, 1, size=(100, 2))])
    chosen = sketch(coordinates, 100, rng)
    farthest = [
        cdist(coordinates, coordinates[some]).min(axis=1).max()
        for some in (chosen, *(rng.choice(2000, 100, replace=False) for _ in range(5)))
    ]
    assert farthest[0] < 0.6 * min(farthest[1:])


def test_the_seed_draws_other_points_of_the_boxes():
    coordinates = np.random.default_rng(0).normal(size=(500, 3))
    first, again, other = (sketch(coordinates, 50, np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.tolist() != other.tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks=0 is not a positive integer or 'auto' or None"),
        ({"n_landmarks": -1}, "n_landmarks=-1 is not a positive integer"),
        ({"n_landmarks": 1.5}, "n_landmarks=1.5 is not a positive integer"),
        ({"n_landmarks": "some"}, "n_landmarks='some' is not a positive integer"),
        ({"n_landmarks": True}, "n_landmarks=True is not a positive integer"),
        ({"n_landmarks": 1, "n_clusters": 1}, "n_landmarks=1 has no neighbours .* take at least 2"),
        ({"n_landmarks": 2}, "n_landmarks=2 is fewer than n_clusters=3: set it to many more"),
        ({"n_landmarks": 4, "n_clusters": [2, 5]}, "n_landmarks=4 is fewer than n_clusters=5"),
    ],
)
def test_bad_numbers_of_landmarks_are_named_and_adata_untouched(adata, arguments, message):
    before = snapshot(adata)
    with pytest.raises(ValueError, match=message):
        scutc.tl.utc(adata, **{"n_clusters": 3, **arguments})
    assert snapshot(adata) == before


def test_a_cut_into_more_clusters_than_landmarks_is_refused(adata):
    model = UTC(3, n_landmarks=20).fit(adata.X)
    with pytest.raises(ValueError, match="n_landmarks=20 is fewer than n_clusters=21"):
        model.cut(21)
