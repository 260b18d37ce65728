from __future__ import annotations

import inspect
import itertools
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, is_valid_linkage
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

import scutc
from conftest import make_groups
from scutc import UTC
from scutc.tl._utc import Options


def refused_by_correlation(estimator: UTC) -> dict[str, str]:
    """Checks whose data have cells of two features or without variance, for which correlation means nothing."""
    if estimator.metric == "euclidean":
        return {}
    return {
        "check_estimators_dtypes": "integers between 0 and 4: cells without variance, an error by design",
        "check_estimator_sparse_tag": "8 in 10 values are 0: cells without variance, an error by design",
        "check_estimator_sparse_array": "8 in 10 values are 0: cells without variance, an error by design",
        "check_estimator_sparse_matrix": "8 in 10 values are 0: cells without variance, an error by design",
        "check_clustering": "two features: every cell is +1 or -1 with any other, three clusters cannot be seen",
    }


@parametrize_with_checks(
    # The defaults, which estimate the number of clusters; all checks; a solver that iterates, whose cost grows with the
    # fourth power of the neighbours.
    [UTC(), UTC(3, metric="euclidean"), UTC(3, metric="euclidean", solver="ascent", n_neighbors=5)],
    expected_failed_checks=refused_by_correlation,
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", range(3))
def test_crossing_lines_are_told_apart(seed):
    lines = scutc.datasets.syndata1()
    labels = UTC(n_clusters=2, metric="euclidean", random_state=seed).fit_predict(lines.X)
    assert adjusted_rand_score(lines.obs["label"], labels) == 1.0


def test_crossing_lines_need_order_three():
    lines = scutc.datasets.syndata1()
    labels = UTC(n_clusters=2, metric="euclidean", orders=(2,)).fit_predict(lines.X)
    assert adjusted_rand_score(lines.obs["label"], labels) < 0.5


def test_fit_transform_returns_the_embedding(adata):
    model = UTC(n_clusters=3)
    embedding = model.fit_transform(adata.X)
    assert embedding.shape == (adata.n_obs, 3)
    np.testing.assert_array_equal(embedding, model.embedding_)


def test_embedding_columns_are_orthogonal_with_the_spectrum_as_lengths(adata):
    model = UTC(n_clusters=4).fit(adata.X)
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.diag(model.spectrum_[:4] ** 2), atol=1e-10)


def test_dense_and_sparse_give_the_same_result(adata):
    dense = UTC(n_clusters=3).fit(adata.X)
    for container in (sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array):
        found = UTC(n_clusters=3).fit(container(adata.X))
        np.testing.assert_array_equal(found.labels_, dense.labels_)
        np.testing.assert_allclose(found.embedding_, dense.embedding_, atol=1e-7)


@pytest.mark.parametrize("orders", [(2,), (3,), (4,), (2, 3), (2, 4), (3, 4), (4, 3, 2), [2, 3, 4]])
def test_any_subset_of_orders_finds_clear_groups(orders):
    adata = make_groups((40, 30, 20))
    model = UTC(n_clusters=3, orders=orders).fit(adata.X)
    assert adjusted_rand_score(adata.obs["group"], model.labels_) == 1.0
    assert set(model.agreement_) == set(model.order_spectra_) == set(orders)
    assert all(value == 1.0 for value in model.agreement_.values())


def test_agreement_is_that_of_the_labels_with_those_of_the_order_alone():
    X = np.random.default_rng(0).random((60, 20))
    fused = UTC(3).fit(X)
    alone = {order: UTC(3, orders=(order,)).fit(X).votes_[:, 0] for order in (2, 3, 4)}
    assert fused.agreement_ == {order: adjusted_rand_score(fused.labels_, alone[order]) for order in alone}
    assert max(fused.agreement_.values()) < 1


def test_one_order_does_not_change_what_another_samples(adata):
    alone = UTC(n_clusters=3, orders=(3,), n_anchors=5).fit(adata.X)
    together = UTC(n_clusters=3, n_anchors=5).fit(adata.X)
    np.testing.assert_array_equal(alone.order_spectra_[3], together.order_spectra_[3])


def test_a_cut_at_the_fitted_number_is_the_fit(adata):
    model = UTC(n_clusters=5).fit(adata.X)
    cut = model.cut(5)
    assert cut.agreement == model.agreement_
    for name in ("labels", "confidence", "stability", "votes", "tree"):
        np.testing.assert_array_equal(getattr(cut, name), getattr(model, f"{name}_"))


@pytest.mark.parametrize("n_landmarks", [None, 25])
def test_cuts_are_nested_and_merge_as_the_tree_says(adata, n_landmarks):
    model = UTC(n_clusters=6, n_landmarks=n_landmarks).fit(adata.X)
    assert is_valid_linkage(model.tree_)
    finer = model.labels_
    for number in (5, 3, 2):
        labels = model.cut(number).labels
        assert len(np.unique(labels)) == number
        assert len(set(zip(labels, finer, strict=True))) == finer.max() + 1
        merged = cut_tree(model.tree_, number)[:, 0][model.labels_]
        assert adjusted_rand_score(merged, labels) == 1.0
        finer = labels


def test_crossing_lines_with_noise_are_told_apart_by_the_one_order_that_sees_them():
    accuracies = []
    for n, noise, seed in itertools.product((20, 40, 41, 80), (0.01, 0.03, 0.05), range(3)):
        lines = scutc.datasets.syndata1(n, noise, random_state=seed)
        labels = UTC(n_clusters=2, metric="euclidean").fit_predict(lines.X)
        accuracies.append(scutc.metrics.clustering_accuracy(lines.obs["label"], labels))
    assert np.mean(accuracies) > 0.93  # without the rule, 0.65


def test_verbose_function_hears_of_every_order(adata):
    lines = []
    UTC(n_clusters=3, verbose=lines.append).fit(adata.X)
    assert all(any(f"order {order}" in line for line in lines) for order in (2, 3, 4))


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
def test_result_does_not_depend_on_threads(metric, monkeypatch):
    # Symmetric data: eigenvalues are multiple and every rounding error would show.
    X = scutc.datasets.syndata1(80).X
    X = np.hstack([X, X[:, ::-1] * 2]) + 3
    X[0, 0] += 1e-9
    monkeypatch.setattr("scutc.core.parallel.ENTRIES_IN_CACHE", 500)
    found = []
    for n_jobs, n_blas in ((1, 1), (2, 1), (1, 2), (3, 2)):
        with threadpool_limits(limits=n_blas):
            found.append(UTC(n_clusters=5, metric=metric, n_jobs=n_jobs).fit(X))
    for other in found[1:]:
        np.testing.assert_array_equal(other.labels_, found[0].labels_)
        np.testing.assert_array_equal(other.embedding_, found[0].embedding_)


def test_many_samples_give_the_same_for_any_threads():
    # Large enough for BLAS to split its products: with its own threads the embedding moves by 1e-6.
    X = np.random.default_rng(0).random((1100, 300))
    found = []
    for n_jobs, n_blas in ((1, 1), (2, 2)):
        with threadpool_limits(limits=n_blas):
            found.append(UTC(n_clusters=4, n_jobs=n_jobs).fit(X))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_array_equal(found[0].embedding_, found[1].embedding_)


def test_result_does_not_depend_on_the_process():
    code = (
        "import numpy as np, scutc; X = np.random.default_rng(0).random((1100, 30));"
        "m = scutc.UTC(4).fit(X); print(m.labels_.tolist(), m.embedding_.sum(axis=0).tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PATH": "", "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for threads in ("1", "2")
    }
    assert len(outputs) == 1


def test_seed_is_recorded_and_changes_the_sample(adata):
    X = np.random.default_rng(0).random((100, 30))
    zero, one = (UTC(3, n_anchors=20, random_state=seed).fit(X) for seed in (0, 1))
    assert (zero.seed_, one.seed_) == (0, 1)
    assert not np.allclose(zero.embedding_, one.embedding_)
    drawn = UTC(3, random_state=np.random.RandomState(5)).fit(X)
    np.testing.assert_array_equal(UTC(3, random_state=drawn.seed_).fit(X).labels_, drawn.labels_)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"orders": ()}, r"orders=\(\) is not a non-empty subset of \(2, 3, 4\)"),
        ({"orders": (2, 5)}, r"orders=\(2, 5\) is not"),
        ({"metric": "cosine"}, "metric='cosine' is unknown. Valid: 'auto', 'correlation', 'spearman', 'euclidean'"),
        ({"solver": "magic"}, "solver='magic' is unknown. Valid: 'spectral'"),
        ({"n_neighbors": 0}, "n_neighbors=0 is not a positive integer"),
        ({"n_neighbors": None}, "n_neighbors=None is not a positive integer"),
        ({"n_anchors": 2.5}, "n_anchors=2.5 is not a positive integer"),
        ({"n_pairs": -1}, "n_pairs=-1 is not a positive integer or 'auto' or None"),
        ({"n_anchors": "all"}, "n_anchors='all' is not a positive integer or 'auto' or None"),
        ({"sharpness": 0}, "sharpness=0 is not a positive number"),
        ({"effective_rank": "many"}, "effective_rank='many' is not a positive number"),
        ({"orders": (2.0, 3.0)}, r"orders=\(2.0, 3.0\) is not"),
        ({"random_state": -1}, "random_state=-1 is not a seed"),
        ({"n_jobs": 0}, "n_jobs=0 is no number of threads"),
        ({"verbose": 1}, "verbose=1 is not a function"),
        ({"n_clusters": 0}, "n_clusters=0 is not a positive integer"),
        ({"n_clusters": 2.0}, r"n_clusters=2.0 is not a positive integer"),
        ({"n_clusters": True}, "n_clusters=True is not a positive integer"),
        ({"n_clusters": 46}, r"n_clusters=46 is more than there are cells \(n_samples=45\)"),
    ],
)
def test_bad_parameters_are_named(adata, parameters, message):
    with pytest.raises(ValueError, match=message):
        UTC(**parameters).fit(adata.X)


def test_one_feature_falls_back_to_euclidean():
    X = np.repeat([[0.0], [10.0]], 10, axis=0) + np.random.default_rng(0).random((20, 1))
    with pytest.warns(UserWarning, match="single feature"):
        model = UTC(n_clusters=2).fit(X)
    assert model.metric_ == "euclidean"
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 1], 10))


def test_tool_and_estimator_have_the_same_defaults():
    tool, estimator = (inspect.signature(f).parameters for f in (scutc.tl.utc, UTC))
    # The first two follow scanpy's verbosity; options have no default in the tool and so get the estimator's.
    shared = set(estimator) - {"verbose", "progress"} - set(Options.__annotations__)
    assert {name: tool[name].default for name in shared} == {name: estimator[name].default for name in shared}


def test_every_parameter_of_the_estimator_can_be_given_to_the_tool():
    tool = inspect.signature(scutc.tl.utc).parameters
    assert set(inspect.signature(UTC).parameters) <= {*tool, *Options.__annotations__, "verbose", "progress"}
    assert not set(tool) & set(Options.__annotations__)


def test_identical_samples_work_on_the_path_for_many(monkeypatch):
    monkeypatch.setattr("scutc.core.eigen.MAX_DENSE", 10)
    monkeypatch.setattr("scutc.core.geometry.MAX_CELLS_FLOAT64", 10)
    model = UTC(n_clusters=4, metric="euclidean").fit(np.ones((120, 5)))
    assert len(np.unique(model.labels_)) == 4


def test_more_clusters_than_eigenpairs_are_kept_by_default():
    model = UTC(n_clusters=80).fit(np.random.default_rng(0).random((100, 30)))
    assert model.embedding_.shape == (100, 80)
    assert len(np.unique(model.labels_)) == 80


def test_estimate_is_forgotten_by_a_fit_with_a_given_number(adata):
    model = UTC().fit(adata.X)
    assert model.n_clusters_scores_ is not None
    assert model.set_params(n_clusters=3).fit(adata.X).n_clusters_scores_ is None
