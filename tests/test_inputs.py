"""What users pass in that is unusual: it works as usual, or the error says what is wrong and where."""

from __future__ import annotations

import dask.array as da
import numpy as np
import pytest
from anndata import AnnData
from scipy import sparse

import scutc
from conftest import make_groups, snapshot
from scutc import UTC


@pytest.fixture(scope="module")
def groups() -> AnnData:
    return make_groups()


def masked(X: np.ndarray, n_masked: int = 1) -> np.ma.MaskedArray:
    """The same with masked values in the last cell, under which lies what a mask is for."""
    array = np.ma.masked_array(X.copy(), mask=np.zeros(X.shape, dtype=bool))
    array.data[-1, :n_masked] = 1e6
    array.mask[-1, :n_masked] = True
    return array


@pytest.mark.parametrize("n_landmarks", [None, 15])
@pytest.mark.parametrize("place", [lambda X: X, lambda X: da.from_array(X, chunks=(10, -1), asarray=False)])
def test_masked_values_are_refused(groups, place, n_landmarks):
    matrix = place(masked(groups.X))
    with pytest.raises(ValueError, match=r"masked values.*fill them"):
        UTC(3, n_landmarks=n_landmarks).fit(matrix)
    adata = AnnData(groups.X, layers={"masked": matrix})
    before = snapshot(adata)
    with pytest.raises(ValueError, match=r"masked values.*fill them"):
        scutc.tl.utc(adata, 3, layer="masked", n_landmarks=n_landmarks)
    assert snapshot(adata) == before
    with pytest.raises(ValueError, match=r"masked values.*fill them"):
        UTC(3).fit(groups.X).predict(matrix)


@pytest.mark.parametrize("bad", ["adata_new", "adata_ref"])
def test_masked_values_are_not_transferred(groups, bad):
    new, reference = groups.copy(), groups.copy()
    for adata in (new, reference):
        adata.layers["values"] = adata.X
    scutc.tl.utc(reference, 3, layer="values")
    adata = {"adata_new": new, "adata_ref": reference}[bad]
    adata.layers["values"] = masked(adata.X)
    with pytest.raises(ValueError, match=f"^{bad}: .*masked values"):
        scutc.tl.transfer(new, reference)


def test_a_masked_array_that_masks_nothing_is_an_array(groups):
    np.testing.assert_array_equal(UTC(3).fit(masked(groups.X, 0)).labels_, UTC(3).fit(groups.X).labels_)


def backwards(X: np.ndarray, n_twice: int = 0) -> sparse.csr_matrix:
    """The same in CSR format, each row's entries from the last to the first, and so many of them in two halves."""
    rows = sparse.coo_matrix(X)
    order = np.lexsort((-rows.col, rows.row))
    values, columns = rows.data[order], rows.col[order]
    values[:n_twice] /= 2
    starts = np.searchsorted(rows.row[order], np.arange(X.shape[0] + 1))
    twice = np.repeat(np.arange(len(values)), np.where(np.arange(len(values)) < n_twice, 2, 1))
    return sparse.csr_matrix((values[twice], columns[twice], np.searchsorted(twice, starts)), shape=X.shape)


def read_only(matrix):
    parts = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    for part in parts:
        part.flags.writeable = False
    return matrix


def in_a_file(X: np.ndarray, path):
    np.save(path / "x.npy", X)
    return np.load(path / "x.npy", mmap_mode="r")


READ_ONLY = {
    "unsorted": lambda X, path: read_only(backwards(X)),
    "duplicate entries": lambda X, path: read_only(backwards(X, 40)),
    "csc": lambda X, path: read_only(sparse.csc_matrix(X)),
    "dense": lambda X, path: read_only(X.copy()),
    "fortran": lambda X, path: read_only(np.asfortranarray(X)),
    "doubles": lambda X, path: read_only(X.astype(np.float64)),
    "memory-mapped": in_a_file,
}


@pytest.mark.parametrize("parameters", [{}, {"metric": "spearman"}, {"metric": "euclidean", "n_landmarks": 15}])
@pytest.mark.parametrize("kind", READ_ONLY)
def test_what_may_not_be_written_to_is_read_and_stays_as_it_is(groups, kind, parameters, tmp_path):
    def make() -> AnnData:
        return AnnData(READ_ONLY[kind](groups.X, tmp_path), var=groups.var)

    reference, new = make(), make()
    before = snapshot(reference)["X"]
    model = UTC(3, **parameters).fit(reference.X)
    np.testing.assert_array_equal(model.labels_, UTC(3, **parameters).fit(groups.X).labels_)
    np.testing.assert_array_equal(model.predict(new.X), model.labels_)
    scutc.tl.utc(reference, 3, **parameters)
    scutc.tl.utc(reference, 3, **parameters, mask_var=np.arange(60) < 50, key_added="some")
    scutc.tl.transfer(new, reference)
    assert new.obs["utc"].tolist() == reference.obs["utc"].tolist()
    assert snapshot(reference)["X"] == snapshot(new)["X"] == before
