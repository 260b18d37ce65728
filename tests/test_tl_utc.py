from __future__ import annotations

import warnings

import anndata
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import scutc
from conftest import make_groups, snapshot
from scutc.core.affinities import pairwise_affinity
from scutc.core.geometry import Geometry
from scutc.core.solvers import SOLVERS
from scutc.core.solvers.column_form import polar


def test_writes_labels_embedding_and_description(adata):
    assert scutc.tl.utc(adata, n_clusters=3) is None
    labels = adata.obs["utc"]
    assert labels.cat.categories.tolist() == ["0", "1", "2"]
    assert labels.value_counts(sort=False).tolist() == [20, 15, 10]
    assert adjusted_rand_score(adata.obs["group"], labels) == 1.0
    assert adata.obsm["X_utc"].shape == (45, 3)
    description = adata.uns["utc"]
    assert description["n_clusters"] == 3
    assert description["n_clusters_method"] == "given"
    assert description["params"]["metric"] == "correlation"
    assert description["params"]["random_state"] == 0
    assert set(description["agreement"]) == set(description["order_spectra"]) == {"2", "3", "4"}
    assert set(description["agreement"].values()) == {1.0}
    assert (np.diff(description["spectrum"]) <= 0).all()


def test_estimated_number_is_recorded_with_how_it_was_found_and_logged(adata, monkeypatch):
    lines = []
    monkeypatch.setattr("scanpy.logging.info", lambda message, **_: lines.append(message))
    scutc.tl.utc(adata)
    assert any("estimated 3 clusters" in line for line in lines)
    description = adata.uns["utc"]
    assert description["n_clusters"] == adata.obs["utc"].nunique() == 3
    assert "single orders" in description["n_clusters_method"]  # of so few genes there are no halves
    np.testing.assert_array_equal(description["n_clusters_candidates"], np.arange(2, 16))
    for name in ("scores", "spread", "reproduced"):
        assert description[f"n_clusters_{name}"].shape == (14,)
    assert description["n_clusters_scores"].argmax() == 1
    assert "n_clusters" not in description["params"]


def test_numpy_numbers_of_clusters(adata):
    for n_clusters in (np.int64(3), np.array(3)):
        scutc.tl.utc(adata, n_clusters)
        assert adata.obs["utc"].nunique() == 3
        assert adata.uns["utc"]["params"]["n_clusters"] == 3


@pytest.mark.parametrize("sequence", [[4, 2], (4, 2), np.array([4, 2]), range(2, 5, 2)])
def test_sequence_gives_labels_for_each_number_from_one_decomposition(adata, sequence, monkeypatch):
    calls = []
    solve = SOLVERS["spectral"]
    monkeypatch.setitem(SOLVERS, "spectral", lambda *a, **k: calls.append(1) or solve(*a, **k))
    scutc.tl.utc(adata, n_clusters=sequence)
    assert calls == [1]
    assert "utc" not in adata.obs
    assert adata.obs["utc_2"].nunique() == 2
    assert adata.obs["utc_4"].nunique() == 4
    assert adata.obsm["X_utc"].shape[1] == 4
    assert all(len(values) == 2 for values in adata.uns["utc"]["agreement"].values())
    single = scutc.tl.utc(adata, n_clusters=2, copy=True)
    np.testing.assert_array_equal(single.obs["utc"], adata.obs["utc_2"])


def test_a_sequence_of_one_number_is_a_sequence(adata):
    scutc.tl.utc(adata, [3])
    assert "utc" not in adata.obs
    np.testing.assert_array_equal(adata.uns["utc"]["n_clusters"], [3])
    assert set(adata.uns["utc"]["stability"]) == {"3"}
    scutc.pl.embedding(adata, show=False)


def test_key_added_names_everything_and_leaves_other_results_alone(adata):
    untouched = snapshot(adata)
    scutc.tl.utc(adata, n_clusters=3)
    with_first = snapshot(adata)
    scutc.tl.utc(adata, n_clusters=2, key_added="two")
    del adata.obs["two"], adata.obs["two_confidence"], adata.obsm["X_two"], adata.obsm["two_votes"], adata.uns["two"]
    assert snapshot(adata) == with_first
    del adata.obs["utc"], adata.obs["utc_confidence"], adata.obsm["X_utc"], adata.obsm["utc_votes"], adata.uns["utc"]
    assert snapshot(adata) == untouched


def test_copy_leaves_the_original_alone(adata):
    before = snapshot(adata)
    result = scutc.tl.utc(adata, n_clusters=3, copy=True)
    assert "utc" in result.obs
    assert snapshot(adata) == before


def test_view_becomes_an_object_of_its_own(adata, recwarn):
    before = snapshot(adata)
    view = adata[:30]
    assert view.is_view
    scutc.tl.utc(view, n_clusters=2)
    assert not view.is_view
    assert view.obs["utc"].nunique() == 2
    assert snapshot(adata) == before
    assert not [w for w in recwarn if "view" in str(w.message).lower()]


def test_inputs_are_chosen_by_selectors(adata):
    X = adata.X.copy()
    of_genes = scutc.UTC(3).fit(X).embedding_
    of_coordinates = scutc.UTC(3, metric="euclidean", n_splits=0).fit(X).embedding_
    noise = np.random.default_rng(0).random(X.shape, dtype=np.float32)
    adata.layers["log"] = X
    adata.raw = adata
    adata.obsm["rep"] = X
    adata.obsm["frame"] = pd.DataFrame(X, index=adata.obs_names, columns=adata.var_names)
    adata.X = noise
    for selector in ({"layer": "log"}, {"use_raw": True}, {"use_rep": "rep"}, {"use_rep": "frame"}):
        scutc.tl.utc(adata, 3, **selector)
        expected = of_coordinates if "use_rep" in selector else of_genes
        np.testing.assert_allclose(adata.obsm["X_utc"], expected, atol=1e-6)
        assert {name: adata.uns["utc"]["params"][name] for name in selector} == selector
    scutc.tl.utc(adata, 3)
    assert not np.allclose(adata.obsm["X_utc"], of_genes, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "used"),
    [
        ({}, "correlation"),
        ({"use_rep": "rep"}, "euclidean"),
        ({"use_rep": "rep", "metric": "correlation"}, "correlation"),
        ({"metric": "spearman"}, "spearman"),
    ],
)
def test_the_metric_follows_the_input_unless_it_is_chosen_and_is_recorded(adata, arguments, used):
    adata.obsm["rep"] = adata.X[:, :20] * 3
    scutc.tl.utc(adata, 3, **arguments)
    assert adata.uns["utc"]["params"]["metric"] == used
    matrix = adata.obsm["rep"] if "use_rep" in arguments else adata.X
    before = scutc.pl.affinity(adata, show=False)[0]
    pairwise = pairwise_affinity(Geometry.of(matrix, used), 15).toarray()
    order = np.argsort(adata.obs["utc"].cat.codes, kind="stable")
    np.testing.assert_allclose(before.images[0].get_array(), pairwise[np.ix_(order, order)], atol=1e-6)


def test_arrays_are_taken_for_genes():
    X = make_groups().X
    model = scutc.UTC(3).fit(X)
    assert model.metric == "auto"
    assert model.metric_ == "correlation"


def test_mask_selects_genes(adata):
    mask = np.arange(adata.n_vars) < 40
    adata.var["chosen"] = mask
    expected = scutc.UTC(3).fit(adata.X[:, mask]).embedding_
    for mask_var in ("chosen", mask, mask.tolist(), adata.var["chosen"]):
        scutc.tl.utc(adata, 3, mask_var=mask_var)
        assert isinstance(adata.uns["utc"]["params"]["mask_var"], str | np.ndarray)
        np.testing.assert_allclose(adata.obsm["X_utc"], expected)


CONVERSIONS = {
    "float64": lambda X: X.astype(np.float64),
    "integer": lambda X: np.round(X * 10).astype(np.int32),
    "unsigned": lambda X: np.round(X * 10).astype(np.uint8),
    "fortran": np.asfortranarray,
    "csr_matrix": sparse.csr_matrix,
    "csc_matrix": sparse.csc_matrix,
    "csr_array": sparse.csr_array,
    "csc_array": sparse.csc_array,
    "sparse integers": lambda X: sparse.csr_matrix(np.round(X * 10).astype(np.int64)),
}


@pytest.mark.filterwarnings(r"ignore:adata\.X holds whole numbers")
@pytest.mark.parametrize("convert", CONVERSIONS.values(), ids=CONVERSIONS)
def test_any_kind_of_matrix_gives_the_groups(adata, convert):
    adata.X = convert(adata.X)
    scutc.tl.utc(adata, n_clusters=3)
    assert adjusted_rand_score(adata.obs["group"], adata.obs["utc"]) == 1.0


def test_unusual_data_work(adata):
    duplicated = anndata.concat([adata, adata, adata], index_unique="-")
    scutc.tl.utc(duplicated, n_clusters=3)
    assert adjusted_rand_score(duplicated.obs["group"], duplicated.obs["utc"]) == 1.0

    three = adata[[0, 20, 40]].copy()
    for n_clusters in (1, 2, 3, None):
        scutc.tl.utc(three, n_clusters)
        assert three.obs["utc"].nunique() == (n_clusters or 1)

    identical = AnnData(np.tile(np.arange(5.0), (12, 1)))
    scutc.tl.utc(identical, n_clusters=4)
    assert identical.obs["utc"].nunique() == 4

    constant_genes = adata.copy()
    constant_genes.X = np.hstack([adata.X[:, :40], np.full((45, 20), 2.0)])
    scutc.tl.utc(constant_genes, n_clusters=3)
    assert adjusted_rand_score(adata.obs["group"], constant_genes.obs["utc"]) == 1.0


@pytest.mark.parametrize("n_clusters", [1, 45])
def test_one_cluster_and_one_for_each_cell(adata, n_clusters):
    scutc.tl.utc(adata, n_clusters)
    assert adata.obs["utc"].nunique() == n_clusters
    assert adata.obsm["X_utc"].shape[1] == max(2, n_clusters)


def test_names_of_cells_need_not_be_strings(adata):
    adata.obs.index = pd.RangeIndex(5, 50)
    scutc.tl.utc(adata, n_clusters=3)
    assert adjusted_rand_score(adata.obs["group"], adata.obs["utc"]) == 1.0


def test_one_gene_works(adata):
    one = adata[:, :1].copy()
    with pytest.warns(UserWarning, match="single feature"):
        scutc.tl.utc(one, n_clusters=2)
    assert one.obs["utc"].nunique() == 2
    assert one.uns["utc"]["params"]["metric"] == "euclidean"


@pytest.mark.parametrize(("length", "kept"), [(5, False), (3, True)])
def test_colors_of_the_wrong_length_are_dropped(adata, length, kept):
    adata.uns["utc_colors"] = ["#000000"] * length
    scutc.tl.utc(adata, n_clusters=3)
    assert ("utc_colors" in adata.uns) == kept
    sc.pl.embedding(adata, "X_utc", color="utc", show=False)


def test_random_state_and_rng(adata):
    results = [
        scutc.tl.utc(adata, 3, n_anchors=5, copy=True, **seed).obsm["X_utc"]
        for seed in ({}, {"random_state": 0}, {"random_state": 1}, {"rng": 7}, {"rng": np.random.default_rng(7)})
    ]
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.allclose(results[0], results[2])
    np.testing.assert_array_equal(results[3], results[4])
    with pytest.raises(TypeError, match="Both random_state=0 and rng=7"):
        scutc.tl.utc(adata, 3, random_state=0, rng=7)


def bad_inputs() -> dict[str, tuple]:
    """What is changed in adata, the arguments, the error, and a part of its message."""

    def with_nan(adata: AnnData) -> None:
        adata.X[0, :2] = np.nan
        adata.X[1, 0] = np.inf

    def sparse_nan(adata: AnnData) -> None:
        with_nan(adata)
        adata.X = sparse.csr_matrix(adata.X)

    def flat(adata: AnnData) -> None:
        adata.X[:2] = 0.0

    def nothing(adata: AnnData) -> None:
        pass

    def no_matrix(adata: AnnData) -> None:
        adata.X = None

    def layer(adata: AnnData) -> None:
        adata.layers["counts"] = adata.X.copy()

    def text(adata: AnnData) -> None:
        adata.layers["text"] = adata.X.astype(str).astype(object)

    unknown = "Valid: 'counts'"
    return {
        "nan": (with_nan, {}, ValueError, "2 NaN and 1 infinite values"),
        "sparse nan": (sparse_nan, {}, ValueError, "2 NaN and 1 infinite values"),
        "flat cells": (flat, {}, ValueError, "2 of 45 cells .* use metric='euclidean'"),
        "no X": (no_matrix, {}, ValueError, "adata.X is missing"),
        "too many clusters": (nothing, {"n_clusters": 46}, ValueError, "n_clusters=46 is more than there are cells"),
        "too many in a sequence": (nothing, {"n_clusters": [2, 46]}, ValueError, "n_clusters=46"),
        "empty sequence": (nothing, {"n_clusters": []}, ValueError, "empty sequence"),
        "zero clusters": (nothing, {"n_clusters": 0}, ValueError, "n_clusters=0 is not a positive integer"),
        "half a cluster": (nothing, {"n_clusters": 2.5}, ValueError, "n_clusters=2.5 is not a positive integer"),
        "text clusters": (nothing, {"n_clusters": "5"}, ValueError, "n_clusters='5' is not a positive integer"),
        "layer": (layer, {"layer": "x"}, KeyError, unknown),
        "no layer": (nothing, {"layer": "x"}, KeyError, "none, it is empty"),
        "obsm": (nothing, {"use_rep": "X_pca"}, KeyError, "use_rep='X_pca' is not in adata.obsm. Valid: 'X_utc'"),
        "mask": (nothing, {"mask_var": "hvg"}, KeyError, "mask_var='hvg' is not in adata.var"),
        "mask of other genes": (
            nothing,
            {"mask_var": pd.Series(True, index=[f"g{i}" for i in range(60)])},
            ValueError,
            "index of mask_var",
        ),
        "no X to mask": (no_matrix, {"mask_var": np.ones(60, bool)}, ValueError, "adata.X is missing"),
        "key": (nothing, {"key_added": "a/b"}, ValueError, "key_added='a/b' is not"),
        "no key": (nothing, {"key_added": None}, ValueError, "key_added=None is not"),
        "nested sequence": (nothing, {"n_clusters": [[2], 3]}, ValueError, r"n_clusters=\[2\] is not"),
        "mask length": (nothing, {"mask_var": np.ones(3, bool)}, ValueError, "60 booleans"),
        "mask kind": (nothing, {"mask_var": np.arange(60)}, ValueError, "60 booleans"),
        "empty mask": (nothing, {"mask_var": np.zeros(60, bool)}, ValueError, "none of the genes"),
        "metric": (nothing, {"metric": "cosine"}, ValueError, "Valid: 'auto', 'correlation', 'spearman', 'euclidean'"),
        "solver": (nothing, {"solver": "lbfgs"}, ValueError, "Valid: 'spectral'"),
        "order": (nothing, {"orders": (2, 6)}, ValueError, r"subset of \(2, 3, 4\)"),
        "two selectors": (layer, {"layer": "counts", "use_rep": "a"}, ValueError, "layer='counts' and use_rep='a'"),
        "mask of obsm": (nothing, {"use_rep": "a", "mask_var": "b"}, ValueError, "mask_var selects genes"),
        "raw": (nothing, {"use_raw": True}, ValueError, "adata.raw is missing"),
        "objects": (text, {"layer": "text"}, ValueError, "holds object, not numbers"),
    }


@pytest.mark.parametrize(("change", "arguments", "error", "message"), bad_inputs().values(), ids=bad_inputs())
def test_bad_input_is_named_and_adata_untouched(adata, change, arguments, error, message):
    scutc.tl.utc(adata, n_clusters=2)
    change(adata)
    before = snapshot(adata)
    with pytest.raises(error, match=message):
        scutc.tl.utc(adata, **{"n_clusters": 3, **arguments})
    assert snapshot(adata) == before


@pytest.mark.parametrize("n_cells", [0, 1])
def test_too_few_cells(adata, n_cells):
    with pytest.raises(ValueError, match=f"adata has {n_cells} cells"):
        scutc.tl.utc(adata[:n_cells].copy(), n_clusters=1)


def test_not_an_anndata(adata):
    with pytest.raises(TypeError, match=r"ndarray, not an AnnData.*scutc\.UTC"):
        scutc.tl.utc(adata.X)


def test_a_backed_file_cannot_be_copied_here(adata, tmp_path):
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    with pytest.raises(ValueError, match=r"copy=True.*to_memory\(\)"):
        scutc.tl.utc(backed, n_clusters=3, copy=True)
    backed.file.close()


@pytest.mark.parametrize("n_clusters", [3, [2, 3], None])
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_result_survives_a_file(adata, tmp_path, kind, n_clusters):
    adata.var["chosen"] = True
    scutc.tl.utc(adata, n_clusters, mask_var="chosen")
    path = tmp_path / f"a.{kind}"
    getattr(adata, f"write_{kind}")(path)
    read = getattr(anndata, f"read_{kind}")(path)
    key = "utc_3" if n_clusters == [2, 3] else "utc"
    assert read.obs[key].tolist() == adata.obs[key].tolist()
    np.testing.assert_array_equal(read.obsm["X_utc"], adata.obsm["X_utc"])
    np.testing.assert_equal(dict(read.uns["utc"]), adata.uns["utc"])


def test_scanpy_uses_the_result():
    adata = make_groups(n_genes=40)
    scutc.tl.utc(adata, n_clusters=3)
    (axes,) = [sc.pl.embedding(adata, "X_utc", color="utc", show=False)]
    assert len(axes.get_legend().get_texts()) == 3
    sc.tl.rank_genes_groups(adata, "utc")
    groups = adata.obs.groupby("utc", observed=True)["group"].first()
    for cluster, group in groups.items():
        best = int(adata.uns["rank_genes_groups"]["names"][cluster][0])
        assert best % 3 == int(group)


def test_interruption_leaves_adata_untouched(adata, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    before = snapshot(adata)
    monkeypatch.setitem(SOLVERS, "spectral", interrupt)
    with pytest.raises(KeyboardInterrupt):
        scutc.tl.utc(adata, n_clusters=3)
    assert snapshot(adata) == before


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # admm stops before a stationary point
@pytest.mark.parametrize(
    ("solver", "converged", "gradient"), [("ascent", True, (0, 1e-4)), ("admm", False, (0.01, 0.1))]
)
def test_solvers_of_the_paper_describe_how_they_went(adata, solver, converged, gradient, tmp_path):
    scutc.tl.utc(adata, 3, solver=solver, weights={3: 0.5}, solver_params={"max_iter": 150}, cosine="signed")
    adata.write_h5ad(tmp_path / "a.h5ad")
    result = anndata.read_h5ad(tmp_path / "a.h5ad").uns["utc"]
    assert adjusted_rand_score(adata.obs["group"], adata.obs["utc"]) == 1.0
    assert result["params"]["solver"] == solver
    assert result["params"]["solver_params"] == {"max_iter": 150}
    assert result["params"]["weights"] == {"3": 0.5}
    assert result["params"]["cosine"] == "signed"
    assert result["converged"] == converged
    assert gradient[0] <= result["relative_gradient"] <= gradient[1]
    assert len(result["objective_history"]) == result["n_iter"] + 1 > 1
    assert result["objective_history"].max() == pytest.approx(result["spectrum"].sum())
    assert adata.obsm["X_utc"].shape == (45, 3)


def test_spectral_solver_has_no_history(adata):
    scutc.tl.utc(adata, 3)
    assert not {"objective_history", "n_iter", "converged"} & set(adata.uns["utc"])


def test_several_numbers_of_clusters_with_a_solver_of_the_paper(adata):
    scutc.tl.utc(adata, [2, 3], solver="ascent")
    assert adata.obs["utc_2"].nunique() == 2
    assert adjusted_rand_score(adata.obs["group"], adata.obs["utc_3"]) == 1.0


@pytest.mark.parametrize("solver", ["ascent", "admm"])
def test_interrupting_a_solver_leaves_adata_as_it_was(adata, solver, monkeypatch):
    before = snapshot(adata)
    calls = iter(range(10))

    def interrupted(matrix):
        if next(calls) == 3:
            raise KeyboardInterrupt
        return polar(matrix)

    monkeypatch.setattr(f"scutc.core.solvers.{solver}.polar", interrupted)
    with pytest.raises(KeyboardInterrupt):
        scutc.tl.utc(adata, 3, solver=solver)
    assert snapshot(adata) == before


@pytest.mark.parametrize(("verbosity", "shown"), [(2, False), (3, True)])
def test_iterations_show_a_progress_bar_from_verbosity_three_on(adata, verbosity, shown, capsys, monkeypatch):
    monkeypatch.setattr("scutc.tl._progress.PATIENCE", 0)
    before = sc.settings.verbosity
    sc.settings.verbosity = verbosity
    try:
        scutc.tl.utc(adata, 3, solver="ascent")
    finally:
        sc.settings.verbosity = before
    assert ("utc:" in capsys.readouterr().err) == shown


def test_labels_of_several_numbers_are_nested_and_share_colors():
    adata = make_groups((40, 30, 20, 10))
    scutc.tl.utc(adata, [3, 8, 5])
    for coarse, fine in (("utc_3", "utc_5"), ("utc_5", "utc_8")):
        table = pd.crosstab(adata.obs[coarse], adata.obs[fine])
        assert ((table > 0).sum() == 1).all()
        largest = table.to_numpy().argmax(axis=1)
        colors = {name: np.array(adata.uns[f"{name}_colors"]) for name in (coarse, fine)}
        np.testing.assert_array_equal(colors[coarse], colors[fine][largest])
    assert len(set(adata.uns["utc_8_colors"])) == 8
    assert adata.uns["utc"]["tree"].shape == (7, 4)


def test_one_number_leaves_colors_to_scanpy():
    adata = make_groups()
    scutc.tl.utc(adata, 3)
    assert "utc_colors" not in adata.uns
    assert adata.uns["utc"]["tree"].shape == (2, 4)
    scutc.tl.utc(adata, 1)
    assert "tree" not in adata.uns["utc"]


def small_clusters_said(adata, n_clusters, **settings):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        scutc.tl.utc(adata, n_clusters, **settings)
    return [each for each in record if "fewer than 3 cells" in str(each.message)]


def test_clusters_of_fewer_than_three_cells_are_warned_of_once():
    adata = make_groups((20, 15, 10))
    (warning,) = small_clusters_said(adata, [3, 40, 44])
    small = {column: (adata.obs[column].value_counts() < 3).sum() for column in ("utc_40", "utc_44")}
    words = ", ".join(f"{n} of {column[4:]} in adata.obs[{column!r}]" for column, n in small.items())
    assert str(warning.message).startswith(f"Clusters of fewer than 3 cells: {words}. ")
    assert warning.filename == __file__


def test_clusters_of_three_cells_and_small_ones_of_other_labels_are_not_warned_of():
    adata = make_groups((20, 15, 3))
    assert not small_clusters_said(adata, 3)
    assert adata.obs["utc"].value_counts().min() == 3
    adata.obs["known"] = ["lonely", "lonely", *["rest"] * 36]
    assert not small_clusters_said(adata, 2, restrict_to=("known", ["rest"]))
