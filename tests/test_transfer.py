from __future__ import annotations

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse
from sklearn.metrics import adjusted_rand_score

import scutc
from conftest import make_groups, snapshot
from scutc.tl._transfer import _choose_speakers


@pytest.fixture(scope="module")
def computed() -> tuple[AnnData, AnnData]:
    adata = make_groups((40, 30, 20))
    adata.var_names = [f"gene{i}" for i in range(adata.n_vars)]
    reference, new = adata[::2].copy(), adata[1::2].copy()
    scutc.tl.utc(reference, 3)
    return new, reference


@pytest.fixture
def halves(computed: tuple[AnnData, AnnData]) -> tuple[AnnData, AnnData]:
    """New cells, and a clustered reference with cells of the same groups; genes have names."""
    new, reference = computed
    return new.copy(), reference.copy()


def is_right(new: AnnData, reference: AnnData, column: str = "utc") -> bool:
    """Whether every new cell has the label that the reference's cells of its group have."""
    names = reference.obs.groupby("group", observed=True)[column].first()
    return new.obs[column].astype(str).tolist() == [str(names[group]) for group in new.obs["group"]]


def test_new_cells_get_label_confidence_embedding_and_description(halves):
    new, reference = halves
    before = snapshot(reference)
    assert scutc.tl.transfer(new, reference) is None
    assert snapshot(reference) == before
    assert is_right(new, reference)
    assert new.obs["utc"].dtype == reference.obs["utc"].dtype
    confidence = new.obs["utc_confidence"]
    assert ((confidence > 0) & (confidence <= 1 + 1e-12)).all()
    assert confidence.mean() > 0.9
    assert new.obsm["X_utc"].shape == (45, 3)
    assert new.uns["utc"]["params"] == {
        "key": "utc",
        "labels": "utc",
        "metric": "correlation",
        "n_neighbors": 15,
    }
    assert new.uns["utc"]["n_shared_genes"] == 60
    assert len(new.uns["utc"]["missing_genes"]) == 0


def test_transfer_is_what_the_estimator_predicts(halves):
    new, reference = halves
    model = scutc.UTC(3).fit(reference.X)
    scutc.tl.transfer(new, reference)
    np.testing.assert_array_equal(new.obs["utc"].cat.codes, model.predict(new.X))
    np.testing.assert_allclose(new.obsm["X_utc"], model.transform(new.X), atol=1e-9)


def test_new_cells_without_raw_values_are_told_what_to_do(halves):
    new, reference = halves
    reference.raw = reference
    scutc.tl.utc(reference, 3, use_raw=True)
    with pytest.raises(ValueError, match=r"adata_new.raw is missing: .* set adata_new.raw = adata_new"):
        scutc.tl.transfer(new, reference)
    new.raw = new
    scutc.tl.transfer(new, reference)
    assert is_right(new, reference)


def test_confidence_is_lower_between_groups(halves):
    new, reference = halves
    first, second = (reference.X[reference.obs["group"] == group].mean(axis=0) for group in ("0", "1"))
    new.X[0] = (first + second) / 2
    scutc.tl.transfer(new, reference)
    assert new.obs["utc_confidence"].iloc[0] < 0.8 < new.obs["utc_confidence"].iloc[1:].median()


@pytest.mark.parametrize("n_landmarks", [None, 25])
def test_cells_of_the_reference_get_their_own_labels(halves, n_landmarks):
    _, reference = halves
    scutc.tl.utc(reference, 5, n_landmarks=n_landmarks)
    again = AnnData(reference.X.copy(), var=reference.var)
    scutc.tl.transfer(again, reference)
    assert again.obs["utc"].tolist() == reference.obs["utc"].tolist()
    np.testing.assert_allclose(again.obs["utc_confidence"], 1.0, atol=1e-9)
    np.testing.assert_allclose(again.obsm["X_utc"], reference.obsm["X_utc"], atol=1e-9)


def test_genes_may_be_in_another_order(halves):
    new, reference = halves
    permuted = new[:, np.random.default_rng(0).permutation(new.n_vars)].copy()
    for adata in (new, permuted):
        scutc.tl.transfer(adata, reference)
    assert new.var_names.tolist() != permuted.var_names.tolist()
    assert new.obs["utc"].tolist() == permuted.obs["utc"].tolist()
    np.testing.assert_allclose(new.obsm["X_utc"], permuted.obsm["X_utc"], atol=1e-9)


def test_genes_that_only_the_new_cells_have_do_not_matter(halves):
    new, reference = halves
    extra = AnnData(np.random.default_rng(0).random((45, 10)).astype(np.float32), obs=new.obs[[]])
    extra.var_names = [f"other{i}" for i in range(10)]
    more = anndata.concat([extra, new], axis=1, merge="first")
    for adata in (new, more):
        scutc.tl.transfer(adata, reference)
    np.testing.assert_allclose(new.obsm["X_utc"], more.obsm["X_utc"], atol=1e-9)
    assert more.uns["utc"]["n_shared_genes"] == 60
    assert len(more.uns["utc"]["missing_genes"]) == 0


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_missing_genes_are_left_out_and_reported(halves, container, monkeypatch):
    new, reference = halves
    lines = []
    monkeypatch.setattr("scanpy.logging.warning", lines.append)
    fewer = new[:, 9:].copy()
    fewer.X = container(fewer.X)
    before = snapshot(reference)
    scutc.tl.transfer(fewer, reference)
    assert snapshot(reference) == before
    assert is_right(fewer, reference)
    assert lines == ["9 of the reference's 60 genes are missing from the new cells: left out"]
    assert fewer.uns["utc"]["missing_genes"].tolist() == [f"gene{i}" for i in range(9)]
    assert fewer.uns["utc"]["n_shared_genes"] == 51
    # As if the reference did not have them either.
    slim = reference[:, 9:].copy()
    scutc.tl.transfer(new, slim)
    np.testing.assert_allclose(fewer.obsm["X_utc"], new.obsm["X_utc"], atol=1e-6)


def test_nothing_is_said_where_no_gene_is_missing(halves, monkeypatch):
    lines = []
    monkeypatch.setattr("scanpy.logging.warning", lines.append)
    scutc.tl.transfer(*halves)
    assert lines == []


def bad_pairs() -> dict[str, tuple]:
    """What is done to new and reference, the arguments, the error, and a part of its message."""

    def nothing(new, reference):
        pass

    def other_names(new, reference):
        new.var_names = [f"ENSG{i}" for i in range(60)]

    def few_genes(new, reference):
        new.var_names = [*reference.var_names[:29], *(f"x{i}" for i in range(31))]

    def twice_in_new(new, reference):
        new.var_names = ["gene0", *new.var_names[:-1]]

    def twice_in_reference(new, reference):
        reference.var_names = ["gene1", *reference.var_names[1:]]

    def no_result(new, reference):
        del reference.uns["utc"]

    def several(new, reference):
        scutc.tl.utc(reference, [2, 3])

    def unlabelled(new, reference):
        reference.obs["utc"] = pd.Categorical([np.nan] * 44 + ["0"])

    def late_nan(new, reference):
        new.X[44, 7] = np.nan

    def nan_in_reference(new, reference):
        reference.X[43, 5] = np.inf

    def flat(new, reference):
        new.X[40] = 0.0

    def by_genes(new, reference):
        new.X = da.from_array(new.X, chunks=(20, 20))

    def reference_by_genes(new, reference):
        reference.X = da.from_array(reference.X, chunks=(20, 20))

    def other_layer(new, reference):
        reference.layers["log"] = reference.X
        scutc.tl.utc(reference, 3, layer="log")

    def no_raw(new, reference):
        reference.raw = reference
        scutc.tl.utc(reference, 3, use_raw=True)

    return {
        "no shared genes": (other_names, {}, ValueError, "Only 0 of the reference's 60 .*gene0, .*ENSG0, .*same way"),
        "none at any threshold": (other_names, {"min_shared_genes": 1e-9}, ValueError, "Only 0 of the reference's 60"),
        "few genes": (few_genes, {}, ValueError, "Only 29 of the reference's 60 genes .*lower min_shared_genes=0.5"),
        "threshold": (few_genes, {"min_shared_genes": 0.0}, ValueError, "min_shared_genes=0.0 is not a number above 0"),
        "threshold above 1": (few_genes, {"min_shared_genes": 2}, ValueError, "min_shared_genes=2 is not .* at most 1"),
        "no threads": (few_genes, {"n_jobs": 0}, ValueError, "n_jobs=0 is no number of threads"),
        "no key": (few_genes, {"key_added": "a/b"}, ValueError, "key_added='a/b' is not"),
        "names twice in new": (twice_in_new, {}, ValueError, "adata_new share a name.*adata_new.var_names_make_unique"),
        "names twice in reference": (twice_in_reference, {}, ValueError, "Genes of adata_ref share a name"),
        "no result": (no_result, {}, KeyError, "key='utc' is no result of scutc.tl.utc"),
        "other key": (nothing, {"key": "x"}, KeyError, "key='x' is no result of scutc.tl.utc.* There: 'utc'"),
        "several": (several, {}, ValueError, "several clusterings: choose one with labels=. Valid: 'utc_2', 'utc_3'"),
        "no column": (nothing, {"labels": "celltype"}, KeyError, "labels='celltype' is not in adata.obs"),
        "no labels": (unlabelled, {}, ValueError, "1 cells of the reference are labelled: transfer needs at least 2"),
        "nan": (late_nan, {}, ValueError, "1 NaN and 0 infinite values, the first in cell 44, gene 7"),
        "nan in reference": (nan_in_reference, {}, ValueError, "1 infinite values, the first in cell 43, gene 5"),
        "flat cell": (flat, {}, ValueError, "the first of them is cell 40 "),
        "chunked by genes": (by_genes, {}, ValueError, "chunked by genes: 60 genes lie in 3 chunks"),
        "reference chunked by genes": (reference_by_genes, {}, ValueError, "chunked by genes: 60 genes lie in 3"),
        "no layer": (other_layer, {}, KeyError, "layer='log' is not in adata.layers"),
        "no raw": (no_raw, {}, ValueError, "adata_new.raw is missing"),
    }


@pytest.mark.parametrize(("change", "arguments", "error", "message"), bad_pairs().values(), ids=bad_pairs())
def test_bad_input_is_named_and_new_cells_untouched(halves, change, arguments, error, message):
    new, reference = halves
    change(new, reference)
    before = snapshot(new), snapshot(reference)
    with pytest.raises(error, match=message):
        scutc.tl.transfer(new, reference, **arguments)
    assert (snapshot(new), snapshot(reference)) == before


def test_half_of_the_genes_are_enough(halves):
    new, reference = halves
    scutc.tl.transfer(half := new[:, :30].copy(), reference)
    assert is_right(half, reference)
    scutc.tl.transfer(quarter := new[:, :15].copy(), reference, min_shared_genes=0.25)
    assert quarter.uns["utc"]["n_shared_genes"] == 15


def test_no_new_cells_and_one(halves):
    new, reference = halves
    with pytest.raises(ValueError, match="adata_new has 0 cells"):
        scutc.tl.transfer(new[:0].copy(), reference)
    for one in (new[3:4].copy(), chunked(new[3:4].copy(), 1)):
        scutc.tl.transfer(one, reference)
        assert is_right(one, reference)


def test_the_reference_itself_is_refused_and_keeps_its_result(halves):
    _, reference = halves
    before = snapshot(reference)
    with pytest.raises(ValueError, match="are the same object"):
        scutc.tl.transfer(reference, reference)
    assert snapshot(reference) == before


def test_a_clustering_of_the_new_cells_own_is_not_lost(halves):
    new, reference = halves
    scutc.tl.utc(new, 2)
    before = snapshot(new)
    with pytest.raises(ValueError, match=r"a clustering 'utc' of its own.*wrong order"):
        scutc.tl.transfer(new, reference)
    assert snapshot(new) == before
    scutc.tl.transfer(new, reference, key_added="mapped")
    assert new.obs["mapped"].nunique() == 3


def test_not_an_anndata(halves):
    with pytest.raises(TypeError, match="ndarray, not an AnnData"):
        scutc.tl.transfer(halves[0].X, halves[1])
    with pytest.raises(TypeError, match="ndarray, not an AnnData"):
        scutc.tl.transfer(halves[0], halves[1].X)


def test_names_that_were_given_to_clusters_are_transferred(halves):
    new, reference = halves
    reference.obs["utc"] = reference.obs["utc"].cat.rename_categories({"0": "T", "1": "B", "2": "NK"})
    scutc.tl.transfer(new, reference)
    assert new.obs["utc"].cat.categories.tolist() == ["T", "B", "NK"]
    assert is_right(new, reference)


@pytest.mark.parametrize("dtype", ["category", "object", "int"])
def test_another_column_is_transferred(halves, dtype):
    new, reference = halves
    reference.obs["celltype"] = reference.obs["group"].astype(int).add(5).astype(dtype)
    new.obs["celltype"] = "what is known"
    scutc.tl.transfer(new, reference, labels="celltype")
    assert (new.obs["utc"].astype(int) == new.obs["group"].astype(int) + 5).all()
    assert (new.obs["celltype"] == "what is known").all()
    assert new.uns["utc"]["params"]["labels"] == "celltype"


def test_the_result_is_written_under_another_key(halves):
    new, reference = halves
    scutc.tl.transfer(new, reference)
    scutc.tl.transfer(other := new.copy(), reference, key_added="mapped")
    assert other.obs["mapped"].tolist() == new.obs["utc"].tolist()
    np.testing.assert_array_equal(other.obsm["X_mapped"], new.obsm["X_utc"])
    assert {"mapped_confidence", "utc_confidence"} <= set(other.obs)
    assert other.uns["mapped"]["params"]["key"] == "utc"


def test_a_transferred_embedding_can_be_drawn_and_other_plots_say_why_not(halves):
    new, reference = halves
    scutc.tl.transfer(new, reference)
    axes = scutc.pl.embedding(new, show=False)
    assert axes.get_title() == "utc"
    with pytest.raises(KeyError, match="key='utc' was transferred to these cells"):
        scutc.pl.spectrum(new, show=False)


def test_a_column_of_numbers_is_no_label(halves):
    new, reference = halves
    reference.obs["score"] = np.linspace(0.0, 1.0, reference.n_obs)
    before = snapshot(new)
    with pytest.raises(ValueError, match="labels='score' holds numbers"):
        scutc.tl.transfer(new, reference, labels="score")
    assert snapshot(new) == before


def test_representations_of_other_width_are_refused(halves):
    new, reference = halves
    reference.obsm["X_rep"], new.obsm["X_rep"] = reference.X[:, :20], new.X[:, :12]
    scutc.tl.utc(reference, 3, use_rep="X_rep")
    with pytest.raises(ValueError, match="has 20 columns in adata_ref and 12 in adata_new"):
        scutc.tl.transfer(new, reference)


@pytest.mark.parametrize("which", ["adata_new", "adata_ref"])
@pytest.mark.parametrize(("value", "message"), [(np.nan, "1 NaN .* the first in cell 7, gene 4"), (0.0, "cell 7 ")])
def test_errors_say_whose_cell_is_bad(halves, which, value, message):
    new, reference = halves
    adata = {"adata_new": new, "adata_ref": reference}[which]
    adata.X[7, 4 if np.isnan(value) else slice(None)] = value
    with pytest.raises(ValueError, match=f"^{which}: .*{message}"):
        scutc.tl.transfer(new, reference)


def test_a_bad_cell_of_the_reference_is_named_by_its_own_number(halves):
    new, reference = halves
    reference.obs["celltype"] = reference.obs["group"].where(np.arange(reference.n_obs) % 2 == 1).astype("category")
    reference.X[7] = 0.0
    with pytest.raises(ValueError, match=r"^adata_ref: .*the first of them is cell 7 "):
        scutc.tl.transfer(new, reference, labels="celltype")


def test_one_of_several_clusterings_is_chosen(halves):
    new, reference = halves
    scutc.tl.utc(reference, [2, 3])
    scutc.tl.transfer(new, reference, labels="utc_3")
    assert (new.obs["utc"].cat.categories == reference.obs["utc_3"].cat.categories).all()
    assert adjusted_rand_score(new.obs["utc"], new.obs["group"]) == 1


def test_another_key_is_transferred_beside_the_first(halves):
    new, reference = halves
    scutc.tl.utc(reference, 2, key_added="two")
    scutc.tl.transfer(new, reference)
    before = new.obs["utc"].copy(), new.obsm["X_utc"].copy()
    scutc.tl.transfer(new, reference, "two")
    assert new.obs["two"].nunique() == new.obsm["X_two"].shape[1] == 2
    pd.testing.assert_series_equal(new.obs["utc"], before[0])
    np.testing.assert_array_equal(new.obsm["X_utc"], before[1])


def test_cells_without_a_label_are_left_out(halves):
    new, reference = halves
    # All cells of one group but two have lost their label, and with it their voice.
    group = np.flatnonzero(reference.obs["group"] == "0")
    reference.obs["celltype"] = reference.obs["group"].astype("category")
    reference.obs.loc[reference.obs_names[group[2:]], "celltype"] = np.nan
    scutc.tl.transfer(new, reference, labels="celltype")
    assert not new.obs["utc"].isna().any()
    labelled = reference[reference.obs["celltype"].notna()].copy()
    scutc.tl.transfer(other := new.copy(), labelled, labels="celltype")
    assert other.obs["utc"].tolist() == new.obs["utc"].tolist()
    np.testing.assert_allclose(other.obsm["X_utc"], new.obsm["X_utc"], atol=1e-9)


def test_categories_without_cells_are_kept_and_given_to_none(halves):
    new, reference = halves
    reference.obs["utc"] = reference.obs["utc"].cat.set_categories(["2", "empty", "1", "0"])
    scutc.tl.transfer(new, reference)
    assert new.obs["utc"].cat.categories.tolist() == ["2", "empty", "1", "0"]
    assert is_right(new, reference)


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
@pytest.mark.parametrize("selector", [{"use_raw": True}, {"layer": "log"}, {"use_rep": "rep"}])
def test_new_cells_are_read_as_the_reference_was(halves, selector, metric):
    new, reference = halves
    expected = new.copy()
    scutc.tl.utc(reference, 3, metric=metric)
    scutc.tl.transfer(expected, reference)
    for adata in halves:
        adata.raw = adata
        adata.layers["log"] = adata.X
        adata.obsm["rep"] = adata.X
        adata.X = np.random.default_rng(0).random(adata.shape, dtype=np.float32)
    scutc.tl.utc(reference, 3, metric=metric, **selector)
    scutc.tl.transfer(new, reference)
    assert new.obs["utc"].tolist() == expected.obs["utc"].tolist()
    np.testing.assert_allclose(new.obsm["X_utc"], expected.obsm["X_utc"], atol=1e-6)


@pytest.mark.parametrize("by_name", [True, False])
def test_only_the_genes_of_the_reference_s_mask_count(halves, by_name):
    new, reference = halves
    mask = np.arange(60) % 4 != 0
    reference.var["chosen"] = mask
    scutc.tl.utc(reference, 3, mask_var="chosen" if by_name else mask)
    # The new cells know nothing of the mask, and have noise where it is False.
    new.X[:, ~mask] = 10 * np.random.default_rng(0).random((45, 15))
    new = new[:, ::-1].copy()
    scutc.tl.transfer(new, reference)
    assert new.uns["utc"]["n_shared_genes"] == 45
    assert is_right(new, reference)


def chunked(adata: AnnData, n_rows: int, *convert) -> AnnData:
    adata.X = da.from_array(adata.X, chunks=(n_rows, -1))
    for function in convert:
        adata.X = adata.X.map_blocks(function)
    return adata


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("kind", ["backed", "backed csr", "dask", "dask csr"])
def test_new_cells_out_of_memory_get_the_same(halves, kind, shuffled, tmp_path):
    new, reference = halves
    scutc.tl.transfer(new, reference)
    lazy = AnnData(new.X.copy(), obs=new.obs[["group"]], var=new.var)
    if shuffled:
        lazy = lazy[:, np.random.default_rng(0).permutation(60)].copy()
    if kind.startswith("dask"):
        chunked(lazy, 7, *([sparse.csr_matrix] if kind == "dask csr" else []))
    else:
        lazy.X = sparse.csr_matrix(lazy.X) if kind == "backed csr" else lazy.X
        lazy.write_h5ad(tmp_path / "new.h5ad")
        lazy = anndata.read_h5ad(tmp_path / "new.h5ad", backed="r")
    scutc.tl.transfer(lazy, reference)
    assert lazy.obs["utc"].tolist() == new.obs["utc"].tolist()
    np.testing.assert_allclose(lazy.obs["utc_confidence"], new.obs["utc_confidence"], atol=1e-6)
    np.testing.assert_allclose(lazy.obsm["X_utc"], new.obsm["X_utc"], atol=1e-6)
    if lazy.isbacked:
        lazy.file.close()


@pytest.mark.parametrize("kind", ["backed", "dask"])
def test_the_reference_may_be_out_of_memory(halves, kind, tmp_path):
    new, reference = halves
    scutc.tl.transfer(expected := new.copy(), reference)
    if kind == "dask":
        chunked(reference, 7)
    else:
        reference.write_h5ad(tmp_path / "reference.h5ad")
        reference = anndata.read_h5ad(tmp_path / "reference.h5ad", backed="r")
    scutc.tl.transfer(new, reference)
    assert new.obs["utc"].tolist() == expected.obs["utc"].tolist()
    np.testing.assert_allclose(new.obsm["X_utc"], expected.obsm["X_utc"], atol=1e-6)
    if reference.isbacked:
        reference.file.close()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_a_view_becomes_an_object_of_its_own(halves, container, recwarn):
    new, reference = halves
    new.X = container(new.X)
    before = snapshot(new)
    view = new[::2]
    assert view.is_view
    scutc.tl.transfer(view, reference)
    assert not view.is_view
    assert is_right(view, reference)
    assert snapshot(new) == before
    assert not [w for w in recwarn if "view" in str(w.message).lower()]


def test_a_view_of_a_backed_file_is_refused_before_anything_is_read(halves, tmp_path):
    new, reference = halves
    new.write_h5ad(tmp_path / "new.h5ad")
    backed = anndata.read_h5ad(tmp_path / "new.h5ad", backed="r")
    for tool in (lambda view: scutc.tl.transfer(view, reference), lambda view: scutc.tl.utc(view, 3)):
        with pytest.raises(ValueError, match=r"view of a backed AnnData.*to_memory\(\)"):
            tool(backed[:20])
    backed.file.close()


def test_result_survives_a_file(halves, tmp_path):
    new, reference = halves
    reference.write_h5ad(tmp_path / "reference.h5ad")
    scutc.tl.transfer(new := new[:, 5:].copy(), anndata.read_h5ad(tmp_path / "reference.h5ad"))
    new.write_h5ad(tmp_path / "new.h5ad")
    read = anndata.read_h5ad(tmp_path / "new.h5ad")
    assert read.obs["utc"].tolist() == new.obs["utc"].tolist()
    assert read.uns["utc"]["missing_genes"].tolist() == [f"gene{i}" for i in range(5)]
    assert read.uns["utc"]["params"]["labels"] == "utc"
    np.testing.assert_array_equal(read.obsm["X_utc"], new.obsm["X_utc"])
    np.testing.assert_array_equal(read.obs["utc_confidence"], new.obs["utc_confidence"])


def test_any_number_of_threads_gives_the_same_bits(halves, monkeypatch):
    monkeypatch.setattr("scutc.core.parallel.ENTRIES_TO_READ", 300)
    new, reference = halves
    one, two = new.copy(), new.copy()
    scutc.tl.transfer(one, reference, n_jobs=1)
    scutc.tl.transfer(two, reference, n_jobs=2)
    np.testing.assert_array_equal(one.obsm["X_utc"], two.obsm["X_utc"])
    np.testing.assert_array_equal(one.obs["utc_confidence"], two.obs["utc_confidence"])


def test_a_large_reference_speaks_by_a_sample_with_cells_of_each_label(monkeypatch):
    monkeypatch.setattr("scutc.tl._transfer.MAX_REFERENCE_CELLS", 1000)
    codes = np.repeat([0, 1, 2, 3, -1], [6000, 3000, 60, 20, 500])
    labels = pd.Categorical.from_codes(np.random.default_rng(0).permutation(codes), categories=list("abcd"))
    chosen = _choose_speakers(labels, seed=0)
    assert (np.diff(chosen) > 0).all()
    counts = np.bincount(labels.codes[chosen], minlength=4)
    # In proportion, 1000 of 9080, but at least 50 of each label that has so many.
    np.testing.assert_array_equal(counts, [661, 331, 50, 20])
    np.testing.assert_array_equal(_choose_speakers(labels, seed=0), chosen)
    assert _choose_speakers(labels, seed=1).tolist() != chosen.tolist()


def test_a_sample_of_the_reference_finds_clear_groups(halves, monkeypatch):
    monkeypatch.setattr("scutc.tl._transfer.MAX_REFERENCE_CELLS", 20)
    monkeypatch.setattr("scutc.tl._transfer.MIN_CELLS_PER_LABEL", 3)
    new, reference = halves
    scutc.tl.transfer(new, reference)
    assert is_right(new, reference)


@pytest.mark.parametrize(("verbosity", "shown"), [(2, False), (3, True)])
def test_blocks_show_a_progress_bar_from_verbosity_three_on(halves, verbosity, shown, capsys, monkeypatch):
    monkeypatch.setattr("scutc.tl._progress.PATIENCE", 0)
    before = sc.settings.verbosity
    sc.settings.verbosity = verbosity
    try:
        scutc.tl.transfer(*halves)
    finally:
        sc.settings.verbosity = before
    assert ("transfer:" in capsys.readouterr().err) == shown


def test_interruption_leaves_new_cells_untouched(halves, monkeypatch):
    def interrupted(steps):
        yield from list(steps)[:1]
        raise KeyboardInterrupt

    monkeypatch.setattr("scutc.core.parallel.ENTRIES_TO_READ", 300)
    monkeypatch.setattr("scutc.tl._transfer.progress_bar", lambda title: interrupted)
    before = snapshot(halves[0])
    with pytest.raises(KeyboardInterrupt):
        scutc.tl.transfer(*halves)
    assert snapshot(halves[0]) == before


def test_cells_of_a_type_that_the_reference_lacks_can_be_left_without_a_label(halves):
    new, reference = halves
    reference = reference[reference.obs["group"] != "2"].copy()
    scutc.tl.utc(reference, 2)
    scutc.tl.transfer(kept := new.copy(), reference)
    unknown = (new.obs["group"] == "2").to_numpy()
    assert not kept.obs["utc"].isna().any()
    assert (kept.obs["utc_typicality"][unknown] < 0.05).all()
    assert kept.obs["utc_typicality"][~unknown].median() > 0.3
    scutc.tl.transfer(new, reference, min_typicality=0.05)
    assert new.obs["utc"][unknown].isna().all()
    assert new.obs["utc"][~unknown].isna().mean() < 0.1
    assert new.obs["utc"].dtype == kept.obs["utc"].dtype
    np.testing.assert_array_equal(new.obs["utc_typicality"], kept.obs["utc_typicality"])
    np.testing.assert_array_equal(new.obsm["X_utc"], kept.obsm["X_utc"])
    assert new.uns["utc"]["params"]["min_typicality"] == 0.05


def test_cells_with_a_small_share_of_the_vote_can_be_left_without_a_label(halves):
    new, reference = halves
    first, second = (reference.X[reference.obs["group"] == group].mean(axis=0) for group in ("0", "1"))
    new.X[0] = (first + second) / 2
    scutc.tl.transfer(new, reference, min_confidence=0.8)
    doubtful = new.obs["utc_confidence"] < 0.8
    assert doubtful.iloc[0]
    assert new.obs["utc"].isna().tolist() == doubtful.tolist()


@pytest.mark.parametrize("name", ["min_confidence", "min_typicality"])
@pytest.mark.parametrize("value", [0, 1.5, "0.5", True])
def test_thresholds_are_shares(halves, name, value):
    with pytest.raises(ValueError, match=f"^{name}=.* is not a number above 0 and at most 1"):
        scutc.tl.transfer(*halves, **{name: value})


def test_typicality_is_the_same_wherever_new_cells_lie(halves):
    new, reference = halves
    lazy = chunked(new.copy(), 7, sparse.csr_matrix)
    shuffled = new[:, ::-1].copy()
    for adata in (new, lazy, shuffled):
        scutc.tl.transfer(adata, reference)
    np.testing.assert_allclose(lazy.obs["utc_typicality"], new.obs["utc_typicality"])
    np.testing.assert_allclose(shuffled.obs["utc_typicality"], new.obs["utc_typicality"])


def test_labels_that_are_missing_survive_a_file_and_are_drawn(halves, tmp_path):
    new, reference = halves
    scutc.tl.transfer(new, reference, min_typicality=0.3)
    assert new.obs["utc"].isna().any()
    new.write_h5ad(tmp_path / "new.h5ad")
    read = anndata.read_h5ad(tmp_path / "new.h5ad")
    assert read.obs["utc"].isna().tolist() == new.obs["utc"].isna().tolist()
    scutc.pl.embedding(read, show=False)
