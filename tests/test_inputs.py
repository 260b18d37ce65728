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
