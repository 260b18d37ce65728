"""Clusters within clusters: some cells are clustered alone, and the others keep their labels."""

from __future__ import annotations

import anndata
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from matplotlib.colors import to_hex
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import scutc
from conftest import make_groups, snapshot


@pytest.fixture(autouse=True)
def _no_figures_left():
    yield
    plt.close("all")


@pytest.fixture
def adata():
    """Four groups, of which the column "coarse" makes three, in an order of its own; "other" has cells without."""
    adata = make_groups((16, 14, 12, 10), n_genes=80)
    adata.obs["coarse"] = pd.Categorical(
        adata.obs["group"].map({"0": "b", "1": "a", "2": "a", "3": "c"}), categories=["b", "a", "c"]
    )
    return adata


def inside(adata, *categories):
    return adata.obs["coarse"].isin(categories or ("a",)).to_numpy()


def test_some_cells_are_clustered_as_if_they_were_alone_and_the_others_keep_their_labels(adata):
    expected = adata[inside(adata)].copy()
    scutc.tl.utc(expected, 2)
    scutc.tl.utc(adata, 2, restrict_to=("coarse", ["a"]))
    labels = adata.obs["utc_R"]
    assert labels.cat.categories.tolist() == ["b", "a,0", "a,1", "c"]
    assert ("a," + expected.obs["utc"].astype(str)).tolist() == labels[inside(adata)].tolist()
    assert labels[~inside(adata)].tolist() == adata.obs["coarse"][~inside(adata)].tolist()
    assert adjusted_rand_score(adata.obs["group"], labels) == 1.0
    np.testing.assert_array_equal(adata.obsm["X_utc_R"][inside(adata)], expected.obsm["X_utc"])
    assert np.isnan(adata.obsm["X_utc_R"][~inside(adata)]).all()
    assert adata.obs["utc_R_confidence"].isna().tolist() == (~inside(adata)).tolist()
    np.testing.assert_array_equal(adata.obsm["utc_R_votes"][inside(adata)], expected.obsm["utc_votes"])
    assert (adata.obsm["utc_R_votes"][~inside(adata)] == -1).all()
    np.testing.assert_array_equal(adata.uns["utc_R"]["stability"], expected.uns["utc"]["stability"])
    assert adata.uns["utc_R"]["n_clusters"] == 2
    assert adata.uns["utc_R"]["params"]["restrict_to"]["key"] == "coarse"
    assert adata.uns["utc_R"]["params"]["restrict_to"]["categories"].tolist() == ["a"]


def test_several_categories_are_clustered_together_and_named_as_scanpy_does(adata):
    scutc.tl.utc(adata, 3, restrict_to=("coarse", ["c", "a"]), key_added="mine")
    assert adata.obs["mine"].cat.categories.tolist() == ["b", "c-a,0", "c-a,1", "c-a,2"]
    near = sparse.csr_matrix((np.corrcoef(adata.X) > 0.3).astype(float))
    sc.tl.leiden(adata, restrict_to=("coarse", ["c", "a"]), adjacency=near, flavor="igraph", n_iterations=2)
    assert {"b", "c-a,0"} <= set(adata.obs["leiden_R"])


def test_clusters_of_clusters_of_clusters(adata):
    scutc.tl.utc(adata, 2)
    parent = adata.obs["utc"].cat.categories[0]
    scutc.tl.utc(adata, 2, restrict_to=("utc", parent))  # one category without a list
    with pytest.raises(ValueError, match=r"overwrite adata\.obs\['utc_R'\], which is read here"):
        scutc.tl.utc(adata, 2, restrict_to=("utc_R", [f"{parent},0"]))
    scutc.tl.utc(adata, 2, restrict_to=("utc_R", [f"{parent},0"]), key_added="finest")
    assert adata.obs["finest"].cat.categories.tolist() == ["0,0,0", "0,0,1", "0,1", "1"]


def test_several_numbers_of_clusters_share_colors(adata):
    scutc.tl.utc(adata, [2, 4], restrict_to=("coarse", ["a"]))
    assert adata.obs["utc_R_4"].cat.categories.tolist() == ["b", "a,0", "a,1", "a,2", "a,3", "c"]
    table = pd.crosstab(adata.obs["utc_R_2"], adata.obs["utc_R_4"])
    assert ((table > 0).sum() == 1).all()
    colors = {n: np.array(adata.uns[f"utc_R_{n}_colors"]) for n in (2, 4)}
    np.testing.assert_array_equal(colors[2], colors[4][table.to_numpy().argmax(axis=1)])


def test_cells_without_a_label_stay_without(adata):
    adata.obs["coarse"] = adata.obs["coarse"].where(adata.obs["group"] != "3")
    for n_clusters in (2, [2, 3]):
        scutc.tl.utc(adata, n_clusters, restrict_to=("coarse", ["a"]))
        labels = adata.obs["utc_R" if n_clusters == 2 else "utc_R_2"]
        assert labels.isna().tolist() == (adata.obs["group"] == "3").tolist()
        assert labels.cat.categories.tolist() == ["b", "a,0", "a,1"]


def test_commas_in_names_do_no_harm(adata):
    adata.obs["named"] = adata.obs["coarse"].cat.rename_categories({"b": "a,b"})
    scutc.tl.utc(adata, 2, restrict_to=("named", ["a"]))
    assert adata.obs["utc_R"].cat.categories.tolist() == ["a,b", "a,0", "a,1", "c"]


def test_categories_may_be_numbers(adata):
    adata.obs["number"] = adata.obs["group"].astype(int)
    scutc.tl.utc(adata, 2, restrict_to=("number", [1, 2]))
    assert adata.obs["utc_R"].cat.categories.tolist() == ["0", "1-2,0", "1-2,1", "3"]


OUT_OF_MEMORY = {
    "dask": lambda X: da.from_array(X, chunks=(9, -1)),
    "dask csr": lambda X: da.from_array(X, chunks=(9, -1)).map_blocks(sparse.csr_matrix),
}


@pytest.mark.parametrize("n_landmarks", [None, 15])
@pytest.mark.parametrize("kind", ["csc", "backed", "backed csr", *OUT_OF_MEMORY])
def test_wherever_the_matrix_lies_the_same_is_found(adata, kind, n_landmarks, tmp_path):
    adata.X = adata.X.astype(np.float64)
    arguments = {"n_clusters": 2, "restrict_to": ("coarse", ["a"]), "n_landmarks": n_landmarks}
    expected = scutc.tl.utc(adata, **arguments, copy=True)
    if kind in OUT_OF_MEMORY:
        adata.X = OUT_OF_MEMORY[kind](adata.X)
    elif kind == "csc":
        adata.X = sparse.csc_matrix(adata.X)
    else:
        adata.X = sparse.csr_matrix(adata.X) if kind == "backed csr" else adata.X
        adata.write_h5ad(tmp_path / "a.h5ad")
        adata = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    scutc.tl.utc(adata, **arguments)
    assert adata.obs["utc_R"].tolist() == expected.obs["utc_R"].tolist()
    np.testing.assert_allclose(adata.obsm["X_utc_R"], expected.obsm["X_utc_R"], atol=1e-6)
    if n_landmarks:
        assert inside(adata)[adata.uns["utc_R"]["landmarks"]].all()
    if adata.isbacked:
        adata.file.close()


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_it_survives_a_file(adata, kind, tmp_path):
    scutc.tl.utc(adata, 2, restrict_to=("coarse", ["a"]))
    path = tmp_path / f"a.{kind}"
    getattr(adata, f"write_{kind}")(path)
    read = getattr(anndata, f"read_{kind}")(path)
    assert read.obs["utc_R"].tolist() == adata.obs["utc_R"].tolist()
    np.testing.assert_array_equal(read.obsm["X_utc_R"], adata.obsm["X_utc_R"])
    np.testing.assert_equal(dict(read.uns["utc_R"]), adata.uns["utc_R"])


BAD = {
    "no pair": ("coarse", ValueError, r"restrict_to='coarse' is not a column of adata\.obs and its categories"),
    "no column": (("fine", ["a"]), KeyError, r"restrict_to='fine' is not in adata\.obs\. Valid: 'group', 'coarse'"),
    "no such category": (
        ("coarse", ["a", "z"]),
        ValueError,
        r"not in adata\.obs\['coarse'\].*Valid: 'b', 'a', 'c'",
    ),
    "no category": (("coarse", []), ValueError, r"or none\. Valid: 'b', 'a', 'c'"),
    "one cell": (("single", ["x"]), ValueError, r"\('single', \['x'\]\) chooses 1 cells: clustering needs at least 2"),
    "too few cells": (("single", ["z"]), ValueError, r"n_clusters=3 is more than there are cells \(n_samples=2\)"),
    "taken": (("taken", ["a"]), ValueError, r"has categories \['a,0'\] already"),
}


@pytest.mark.parametrize(("restrict_to", "error", "message"), BAD.values(), ids=BAD)
def test_bad_restrictions_are_named_and_adata_untouched(adata, restrict_to, error, message):
    if restrict_to != "coarse" and restrict_to[0] in ("single", "taken"):
        adata.obs["single"] = ["x", "z", "z", *["y"] * 49]
        adata.obs["taken"] = ["a"] * 30 + ["a,0"] * 22
    before = snapshot(adata)
    with pytest.raises(error, match=message):
        scutc.tl.utc(adata, 3, restrict_to=restrict_to, metric="unknown")  # which is found later, by the computation
    assert snapshot(adata) == before


def test_errors_say_among_which_cells_they_count(adata):
    adata.X[20] = 0.0
    with pytest.raises(ValueError, match=r"Among the cells of restrict_to=\('coarse', \['a'\]\): 1 of 26 .* cell 4 "):
        scutc.tl.utc(adata, 2, restrict_to=("coarse", ["a"]))


# What is done with it


@pytest.fixture
def restricted(adata):
    scutc.tl.utc(adata, 3, key_added="whole")
    scutc.tl.utc(adata, [2, 3], restrict_to=("coarse", ["a"]), key_added="part")
    return adata


def test_plots_show_the_cells_that_were_clustered(restricted):
    arguments = {"key": "part", "color": "part_2", "show": False}
    for ax in scutc.pl.orders(restricted, **arguments):
        assert len(ax.collections[0].get_offsets()) == 26
        assert ax.get_title().endswith("26 of 52 cells")
    for ax in scutc.pl.affinity(restricted, **arguments):
        assert ax.images[0].get_array().shape == (26, 26)
    ax = scutc.pl.stability(restricted, **arguments)
    assert ax.images[0].get_array().shape == (26, 26)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    stability = restricted.uns["part"]["stability"]["2"]
    assert names == [f"a,{i} ({value:.2f})" for i, value in enumerate(stability)]
    axes = scutc.pl.embedding(restricted, key="part", show=False)
    assert [np.isfinite(ax.collections[0].get_offsets()).all(axis=1).sum() for ax in axes] == [26, 26]


def test_the_tree_is_that_of_the_clusters_that_were_found(restricted):
    ax = scutc.pl.tree(restricted, key="part", show=False)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2", "3"]
    widths = [patch.get_width() for patch in ax.patches[:3]]
    sizes = restricted.obs["part_3"].value_counts()[["a,0", "a,1", "a,2"]]
    np.testing.assert_allclose(sorted(widths), np.sort(sizes) / 26)
    colors = dict(zip(restricted.obs["part_3"].cat.categories, restricted.uns["part_3_colors"], strict=True))
    assert {to_hex(patch.get_facecolor()) for patch in ax.patches[:3]} == {colors[f"a,{i}"] for i in range(3)}


def test_labels_are_transferred_with_a_result_for_all_cells(restricted):
    new = make_groups((16, 14, 12, 10), n_genes=80, seed=1)
    with pytest.raises(ValueError, match="key='part' is a result for a part of the cells alone"):
        scutc.tl.transfer(new, restricted, "part", labels="part_2")
    scutc.tl.transfer(new, restricted, "whole", labels="part_2")
    assert adjusted_rand_score(new.obs["group"], new.obs["whole"]) > 0.9
    assert new.obs["whole"].cat.categories.tolist() == ["b", "a,0", "a,1", "c"]
