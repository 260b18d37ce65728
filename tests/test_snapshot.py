"""A test that says "untouched" is worth what its snapshot sees."""

from __future__ import annotations

import anndata
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from scipy import sparse

from conftest import snapshot


def make_full() -> AnnData:
    """Something in every part, each large enough that its middle is not printed."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 200))
    adata = AnnData(X.copy(), layers={"dense": X.copy(), "sparse": sparse.random(200, 200, 0.1, "csr", random_state=0)})
    adata.layers["dask"] = da.from_array(X, chunks=(50, -1))
    adata.obs["number"] = np.arange(200.0)
    adata.obs["text"] = pd.Series([f"text {i}" for i in range(200)], index=adata.obs_names, dtype=object)
    adata.obs["group"] = pd.Categorical(["a", "b"] * 100)
    adata.obs["missing"] = pd.array([1, None] * 100, dtype="Int64")
    adata.var["number"] = np.arange(200.0)
    adata.obsm["array"] = rng.random((200, 3))
    adata.obsm["frame"] = pd.DataFrame({"one": np.arange(200.0)}, index=adata.obs_names)
    adata.varm["array"] = rng.random((200, 3))
    adata.raw = adata[:, :150].copy()
    adata.obsp["sparse"] = sparse.random(200, 200, 0.1, "csr", random_state=1)
    adata.varp["array"] = rng.random((200, 200))
    table = np.array([(0.5, "a"), (1.5, "b")], dtype=[("score", "f8"), ("name", "O")])
    leaves = {"list": [1, {"leaf": 2.0}], "array": np.arange(3000), "nothing": None, "table": table}
    adata.uns["deep"] = {"down": leaves}
    return adata


# One change each, as a user or a tool would make it.
CHANGES = """
adata.X[100, 100] = 7
adata.X = adata.X.astype(np.float32)
adata.X = sparse.csr_matrix(adata.X)
adata.X = None
adata.layers["dense"][100, 100] = 7
adata.layers["dense"][100, 100] = np.nan
del adata.layers["dense"]
adata.layers["new"] = adata.X
adata.layers["sparse"].data[2000] = 7
adata.layers["sparse"].data[2000] = 0
adata.layers["sparse"].indices[2000] += 1
adata.layers["sparse"].indptr[100] += 1
adata.layers["sparse"] = sparse.csc_matrix(adata.layers["sparse"])
adata.layers["sparse"] = sparse.csr_array(adata.layers["sparse"])
adata.layers["dask"][100, 100] = 7
adata.layers["dask"] = adata.layers["dask"].rechunk((100, -1))
adata.layers["dask"] = adata.layers["dask"].compute()
adata.obs["number"].array[100] = 7
adata.obs["text"].array[100] = "7"
adata.obs["missing"].array[101] = 1
adata.obs["number"] = adata.obs["number"].astype(np.float32)
adata.obs["text"] = adata.obs["text"].astype("category")
adata.obs["group"] = adata.obs["group"].cat.reorder_categories(["b", "a"])
adata.obs["group"] = adata.obs["group"].cat.add_categories("c")
adata.obs["group"] = adata.obs["group"].cat.rename_categories({"a": "c"})
adata.obs["group"] = adata.obs["group"].cat.as_ordered()
adata.obs["group"].array[100] = "b"
adata.obs["new"] = 0
del adata.obs["number"]
adata.obs = adata.obs[list(adata.obs)[::-1]]
adata.obs_names = [*adata.obs_names[:100], "other", *adata.obs_names[101:]]
adata.obs.index.name = "cell"
adata.var["number"].array[100] = 7
adata.var_names = [*adata.var_names[:100], "other", *adata.var_names[101:]]
adata.obsm["array"][100, 1] = 7
adata.obsm["frame"]["one"].array[100] = 7
adata.varm["array"][100, 1] = 7
adata.obsp["sparse"].data[2000] = 7
adata.varp["array"][100, 100] = 7
adata.raw.X[100, 100] = 7
adata.raw.var["number"].array[100] = 7
adata.raw.varm["array"][100, 1] = 7
adata.raw = None
adata.uns["deep"]["down"]["list"][1]["leaf"] = 7
adata.uns["deep"]["down"]["list"][1]["leaf"] = 2
adata.uns["deep"]["down"]["list"] = tuple(adata.uns["deep"]["down"]["list"])
adata.uns["deep"]["down"]["array"][1500] = 7
adata.uns["deep"]["down"]["array"] = np.arange(3000, dtype=np.int32)
adata.uns["deep"]["down"]["table"]["score"][1] = 7
adata.uns["deep"]["down"]["nothing"] = 0
adata.uns["deep"]["down"]["new"] = None
del adata.uns["deep"]["down"]["nothing"]
""".strip().splitlines()


@pytest.mark.parametrize("change", CHANGES)
def test_any_change_is_seen(change):
    adata = make_full()
    before = snapshot(adata)
    exec(change, {"adata": adata, "np": np, "sparse": sparse})
    assert snapshot(adata) != before


def test_a_copy_and_a_second_look_are_the_same():
    adata = make_full()
    before = snapshot(adata)
    assert snapshot(adata) == before
    assert snapshot(adata.copy()) == before


def test_a_view_differs_from_what_it_becomes():
    view = make_full()[:100]
    before = snapshot(view)
    assert view.is_view
    assert snapshot(view) == before
    assert snapshot(view.copy()) == before | {"view": False}


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
def test_changes_of_a_backed_file_and_of_what_is_beside_it_in_memory_are_seen(container, tmp_path):
    adata = make_full()
    adata.X = container(adata.X)
    adata.uns.clear()  # a list with a dictionary cannot be written
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r+")
    before = snapshot(backed)
    assert snapshot(backed) == before
    stored = backed.file["X"]
    if container is np.asarray:
        stored[100, 100] = 7
    else:
        stored["data"][20_000] = 7
    changed = snapshot(backed)
    assert {part for part in changed if changed[part] != before[part]} == {"X", "file"}
    backed.obs["new"] = 0
    assert {part for part in changed if changed[part] != snapshot(backed)[part]} == {"obs"}
    backed.file.close()
