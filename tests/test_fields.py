"""Which fields a result has: that files can hold them, and that nothing is overwritten that is not its own."""

from __future__ import annotations

import sys
from importlib.metadata import version
from types import ModuleType

import anndata
import numpy as np
import pandas as pd
import pytest
import scanpy as sc

import scutc
from conftest import make_groups, snapshot
from scutc._anndata import read_result
from scutc._fields import CLUSTERED, check_fields, check_key, fields_of, write_result

FAST = {"orders": (2,), "n_splits": 0}


@pytest.fixture
def few():
    return make_groups((6, 5), n_genes=20)


def fields(adata) -> set[str]:
    return {f"{part}/{name}" for part in ("obs", "obsm", "var", "uns") for name in getattr(adata, part)}


# Keys


GOOD_KEYS = ["__a.b é\n%2F*", " ", "index", "x" * 240]


@pytest.mark.filterwarnings("ignore:Writing zarr v2")
@pytest.mark.parametrize("kind", ["h5ad", "zarr"])
def test_every_key_that_is_accepted_survives_a_file(few, kind, tmp_path):
    labels, genes = few.obs["group"].astype("category").array, few.var.assign(informative=True, score=0.5)
    for key in GOOD_KEYS:
        check_key(key)
        check_fields(few, key, fields_of(key, [key], votes=True, genes=True), {})
        embedding = {f"X_{key}": np.ones((11, 2)), f"{key}_votes": np.ones((11, 2))}
        write_result(few, key, CLUSTERED, obs={key: labels}, obsm=embedding, uns={"n_clusters": 2}, var=genes)
    path = tmp_path / f"a.{kind}"
    getattr(few, f"write_{kind}")(path)
    read = getattr(anndata, f"read_{kind}")(path)
    assert fields(read) == fields(few)
    for key in GOOD_KEYS:
        assert read.obs[key].tolist() == labels.tolist()
        np.testing.assert_equal(dict(read_result(read, key)), few.uns[key])


BAD_KEYS = {
    "": "non-empty string",
    "a/b": "non-empty string without '/'",
    "a\\b": "non-empty string without '/'",
    "a\0b": "non-empty string without '/'",
    ".": "files use themselves",
    "..": "files use themselves",
    ".zgroup": "files use themselves",
    "zarr.json": "files use themselves",
    "_index": "files use themselves",
    "a\ud800": "no text that files can hold",
    "x" * 250: "is too long",
    "é" * 125: "is too long",
}


@pytest.mark.parametrize(("key", "message"), BAD_KEYS.items(), ids=ascii)
def test_keys_that_files_cannot_hold_are_refused_before_computing(few, key, message):
    before = snapshot(few)
    with pytest.raises(ValueError, match=message):
        scutc.tl.utc(few, 2, key_added=key, metric="unknown")
    assert snapshot(few) == before


@pytest.mark.parametrize(
    ("part", "name"), [("obs", "utc"), ("obs", "utc_confidence"), ("var", "utc_score"), ("var", "utc_informative")]
)
def test_the_name_of_an_index_is_no_name_for_a_column(few, part, name):
    getattr(few, part).index.name = name
    before = snapshot(few)
    with pytest.raises(ValueError, match=rf"adata\.{part}\['{name}'\], but that is the name of the index"):
        scutc.tl.utc(few, 2)
    assert snapshot(few) == before


# What is not ours


FOREIGN = {
    "labels": ("obs", "mine", pd.Categorical(["a"] * 11)),
    "confidence": ("obs", "mine_confidence", np.ones(11)),
    "embedding": ("obsm", "X_mine", np.ones((11, 2))),
    "votes": ("obsm", "mine_votes", np.ones((11, 2))),
    "score": ("var", "mine_score", np.ones(20)),
    "description": ("uns", "mine", {"params": {}, "spectrum": np.ones(2)}),
    "text": ("uns", "mine", "text"),
}


@pytest.mark.parametrize(("part", "name", "value"), FOREIGN.values(), ids=FOREIGN)
def test_what_scutc_did_not_write_is_not_overwritten(few, part, name, value):
    getattr(few, part)[name] = value
    before = snapshot(few)
    with pytest.raises(ValueError, match=rf"would overwrite adata\.{part}\['{name}'\], which scutc did not write"):
        scutc.tl.utc(few, 2, key_added="mine")
    assert snapshot(few) == before
    if part in ("obs", "obsm", "uns") and not name.endswith("_votes"):
        reference = make_groups((6, 5), n_genes=20, seed=1)
        scutc.tl.utc(reference, 2, **FAST)
        with pytest.raises(ValueError, match="which scutc did not write under this key"):
            scutc.tl.transfer(few, reference, key_added="mine")
        assert snapshot(few) == before


def test_a_pca_is_safe_and_the_error_names_all_of_it(few):
    sc.pp.pca(few, n_comps=3)
    with pytest.raises(ValueError, match=r"overwrite adata\.obsm\['X_pca'\], adata\.uns\['pca'\], which scutc did not"):
        scutc.tl.utc(few, 2, key_added="pca")


def test_labels_for_a_number_belong_to_their_sequence(few):
    scutc.tl.utc(few, [2, 3], **FAST)
    with pytest.raises(ValueError, match=r"adata\.obs\['utc_2'\]"):
        scutc.tl.utc(few, 2, key_added="utc_2", **FAST)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"use_rep": "X_utc"}, "obsm"),
        ({"use_rep": "utc_votes"}, "obsm"),
        ({"use_rep": "utc_votes", "n_clusters": [2, 3]}, "obsm"),  # which would be removed
        ({"mask_var": "utc_informative"}, "var"),
    ],
)
def test_a_result_does_not_overwrite_what_it_is_made_of(few, arguments, part):
    scutc.tl.utc(few, 2, metric="euclidean", n_splits=0)
    few.var["utc_informative"] = True
    few.uns["utc"]["fields"]["var"] = np.array(["utc_informative"])
    before = snapshot(few)
    with pytest.raises(ValueError, match=rf"would overwrite adata\.{part}\['.+'\], which is read here"):
        scutc.tl.utc(few, **{"n_clusters": 2, **arguments}, metric="euclidean", n_splits=0)
    assert snapshot(few) == before
    scutc.tl.utc(few, **{"n_clusters": 2, **arguments}, key_added="other", metric="euclidean", n_splits=0)


def test_new_cells_keep_the_coordinates_that_they_are_placed_by():
    reference, new = make_groups((6, 5), n_genes=20), make_groups((6, 5), n_genes=20, seed=1)
    for adata in (reference, new):
        adata.obsm["X_shared"] = adata.X[:, :5]
    scutc.tl.utc(reference, 2, use_rep="X_shared", **FAST)
    with pytest.raises(ValueError, match=r"adata_new\.obsm\['X_shared'\], which is read here"):
        scutc.tl.transfer(new, reference, key_added="shared")


# What an earlier result wrote


def test_a_result_replaces_all_that_an_earlier_one_under_its_key_wrote(few):
    untouched = fields(few)
    scutc.tl.utc(few, [2, 3], **FAST)
    few.var["utc_score"], few.obs["utc_4"] = 1.0, "mine"
    few.uns["utc"]["fields"]["var"] = np.array(["utc_score"])
    sc.pl.embedding(few, "utc", color="utc_2", show=False)
    scutc.tl.utc(few, 2, screen_genes=False, **FAST)
    ours = {"obs/utc", "obs/utc_confidence", "obsm/X_utc", "obsm/utc_votes", "uns/utc"}
    assert fields(few) - untouched == ours | {"obs/utc_4"}
    scutc.tl.utc(few, [3], **FAST)
    ours = {"obs/utc_3", "obs/utc_3_confidence", "obsm/X_utc", "obsm/utc_3_votes", "uns/utc", "uns/utc_3_colors"}
    assert fields(few) - untouched == ours | {"obs/utc_4"}


def test_what_an_earlier_result_wrote_is_known_after_a_file(few, tmp_path):
    scutc.tl.utc(few, [2, 3], **FAST)
    few.write_h5ad(tmp_path / "a.h5ad")
    read = anndata.read_h5ad(tmp_path / "a.h5ad")
    scutc.tl.utc(read, 2, **FAST)
    assert "utc" in read.obs
    assert not {"utc_2", "utc_3", "utc_3_confidence"} & set(read.obs)


def test_an_earlier_result_does_not_take_what_another_wrote_in_its_place(few):
    scutc.tl.utc(few, [2, 3], **FAST)
    del few.obs["utc_3"], few.obs["utc_3_confidence"], few.obsm["utc_3_votes"]
    scutc.tl.utc(few, 3, key_added="utc_3", **FAST)
    scutc.tl.utc(few, 2, **FAST)
    assert {"utc", "utc_3", "utc_3_confidence"} <= set(few.obs)
    assert "utc_2" not in few.obs


def test_a_copy_of_a_description_owns_nothing(few):
    scutc.tl.utc(few, 2, **FAST)
    few.uns["before"] = dict(few.uns["utc"])
    scutc.tl.utc(few, 2, **FAST)
    few.obs["before"] = few.obs["utc"]
    with pytest.raises(ValueError, match=r"adata\.obs\['before'\], which scutc did not write under this key"):
        scutc.tl.utc(few, 2, key_added="before", **FAST)
    assert "utc" in few.obs


def test_a_transfer_replaces_an_earlier_one_and_a_clustering_a_transfer():
    reference, new = make_groups((6, 5), n_genes=20), make_groups((6, 5), n_genes=20, seed=1)
    scutc.tl.utc(reference, 2, **FAST)
    for _ in range(2):
        scutc.tl.transfer(new, reference)
    scutc.tl.utc(new, [2, 3], **FAST)
    assert not {"utc", "utc_confidence"} & set(new.obs)


@pytest.mark.parametrize("fails", ["utc", "utc_confidence"])
def test_a_result_that_cannot_be_written_leaves_the_earlier_one(few, fails, monkeypatch):
    scutc.tl.utc(few, [2, 3], **FAST)
    before = snapshot(few)
    write = pd.DataFrame.__setitem__

    def fail(frame, name, values):
        if name == fails:
            raise MemoryError
        write(frame, name, values)

    monkeypatch.setattr(pd.DataFrame, "__setitem__", fail)
    with pytest.raises(MemoryError):
        scutc.tl.utc(few, 2, **FAST)
    monkeypatch.undo()
    assert snapshot(few) == before


def test_a_result_is_known_by_its_mark(few):
    few.uns["other"] = {"spectrum": np.ones(2), "missing_genes": []}
    scutc.tl.utc(few, 2, **FAST)
    with pytest.raises(KeyError, match=r"key='other' is no result of scutc\.tl\.utc in adata\.uns\. There: 'utc'"):
        scutc.pl.spectrum(few, key="other", show=False)


def test_versions_of_what_the_numbers_depend_on_are_recorded(few):
    scutc.tl.utc(few, 2, **FAST)
    versions = few.uns["utc"]["versions"]
    assert set(versions) >= {"scutc", "numpy", "scipy", "scikit-learn"}
    assert versions == {name: version(name) for name in versions}


# Results that no longer fit


RECOMPUTED = [scutc.pl.orders, scutc.pl.affinity]
OTHER_GENES = {"fewer": slice(0, 50), "others": np.r_[1:60, 0], "reversed": slice(None, None, -1)}


@pytest.mark.parametrize("genes", OTHER_GENES.values(), ids=OTHER_GENES)
@pytest.mark.parametrize("plot", RECOMPUTED)
def test_plots_of_the_matrix_want_the_genes_of_the_result(adata, plot, genes):
    scutc.tl.utc(adata, 3)
    changed = adata[:, genes].copy()
    with pytest.raises(ValueError, match=rf"key='utc' is a result for 60 genes, and there are {changed.n_vars} now"):
        plot(changed, show=False)
    scutc.pl.embedding(changed, show=False)


@pytest.mark.parametrize("plot", RECOMPUTED)
def test_plots_of_the_matrix_say_that_cells_are_missing(adata, plot, recwarn):
    scutc.tl.utc(adata, 3)
    plot(adata, show=False)
    assert not [each for each in recwarn if "is a result for" in str(each.message)]
    fewer = adata[::2].copy()
    with pytest.warns(UserWarning, match="key='utc' is a result for 45 cells, and adata has 23 now") as record:
        plot(fewer, show=False)
    assert any(each.filename == __file__ for each in record)
    scutc.pl.embedding(fewer, show=False)


def test_masks_of_genes_are_not_applied_to_others(adata):
    mask = np.arange(60) % 4 != 0
    adata.var["chosen"] = mask
    scutc.tl.utc(adata, 3, mask_var=mask)
    scutc.tl.utc(adata, 3, mask_var="chosen", key_added="named")
    fewer = adata[:, mask].copy()
    with pytest.raises(ValueError, match="key='utc' is a result for 45 genes"):
        scutc.pl.affinity(fewer, show=False)
    scutc.pl.affinity(fewer, key="named", show=False)  # by its name the mask still selects the same genes


def test_kept_genes_of_a_reference_are_not_read_from_others(adata):
    scutc.tl.utc(adata, 3)
    adata.uns["utc"]["kept_genes"] = np.arange(60) % 2 == 0
    new = make_groups(seed=1)
    scutc.tl.transfer(new, adata)
    assert new.uns["utc"]["n_shared_genes"] == 30
    with pytest.raises(ValueError, match="key='utc' is a result for 60 genes, and there are 60 now, not the same"):
        scutc.tl.transfer(new, adata[:, ::-1].copy())


# What is no AnnData


def test_of_a_mudata_a_modality_is_asked_for(monkeypatch):
    module = ModuleType("mudata")
    monkeypatch.setitem(sys.modules, "mudata", module)
    kind = type("MuData", (), {"__module__": "mudata", "mod": {"rna": None, "atac": None}})
    for function in (scutc.tl.utc, scutc.pl.spectrum):
        with pytest.raises(TypeError, match=r"MuData: give one of its modalities.* mdata\[\"rna\"\].*'atac'"):
            function(kind())
