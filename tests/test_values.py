"""Raw counts are clustered, but not without a word."""

from __future__ import annotations

import warnings

import anndata
import dask.array as da
import numpy as np
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse

import scutc

COUNTS = "adata.X holds whole numbers, as raw counts are"


def counts(kind=np.float32) -> AnnData:
    rates = np.repeat([[1, 5] * 10, [5, 1] * 10], 8, axis=0)
    return AnnData(np.random.default_rng(0).poisson(rates).astype(kind))


def cluster(adata: AnnData, **arguments) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        scutc.tl.utc(adata, 2, orders=(2,), n_splits=0, **arguments)
    return [each for each in record if "holds" in str(each.message)]


KINDS = {
    "float": counts,
    "integer": lambda: counts(np.int64),
    "unsigned": lambda: counts(np.uint8),
    "csr": lambda: AnnData(sparse.csr_matrix(counts().X)),
    "csc": lambda: AnnData(sparse.csc_array(counts().X)),
    "dask": lambda: AnnData(da.from_array(counts().X, chunks=(5, -1))),
    "dask csr": lambda: AnnData(da.from_array(counts().X, chunks=(5, -1)).map_blocks(sparse.csr_matrix)),
}


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_counts_are_warned_of_with_the_lines_that_mend_it(make):
    (warning,) = cluster(make())
    assert str(warning.message).startswith(COUNTS)
    assert str(warning.message).endswith("\n    sc.pp.normalize_total(adata)\n    sc.pp.log1p(adata)")
    assert warning.filename == __file__


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("masked", [False, True])
def test_counts_in_a_file_are_warned_of(container, masked, tmp_path):
    adata = counts()
    adata.X = container(adata.X)
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    (warning,) = cluster(backed, mask_var=np.arange(20) < 15 if masked else None)
    assert str(warning.message).startswith(COUNTS)
    backed.file.close()


def test_it_says_which_matrix_holds_counts():
    adata = counts()
    adata.layers["raw"], adata.raw = adata.X, adata.copy()
    adata.X = np.log1p(adata.X)
    assert not cluster(adata)
    assert str(cluster(adata, layer="raw")[0].message).startswith("adata.layers['raw'] holds whole")
    assert str(cluster(adata, use_raw=True)[0].message).startswith("adata.raw.X holds whole")


def test_what_mends_counts_in_a_layer_leaves_them_and_x_alone():
    adata = counts()
    adata.layers["{raw}"], adata.X = adata.X.copy(), np.log1p(adata.X)
    layers, X = {"{raw}": adata.layers["{raw}"].copy()}, adata.X.copy()
    (warning,) = cluster(adata, layer="{raw}")
    lines = [line for line in str(warning.message).splitlines() if line.startswith("    ")]
    exec("\n".join(map(str.strip, lines)), {"adata": adata, "sc": sc})
    assert not cluster(adata, layer="{raw}_log_normalised", key_added="again")
    np.testing.assert_array_equal(adata.layers["{raw}"], layers["{raw}"])
    np.testing.assert_array_equal(adata.X, X)


def test_counts_in_raw_are_not_mended_in_x():
    adata = counts()
    adata.raw, adata.X = adata.copy(), np.log1p(adata.X)
    (warning,) = cluster(adata, use_raw=True)
    assert "sc.pp" not in str(warning.message)
    assert "Leave use_raw out" in str(warning.message)


def test_binary_data_have_words_of_their_own():
    for kind in (np.float32, bool):
        (warning,) = cluster(AnnData(sparse.csr_matrix((counts().X > 2).astype(kind))))
        assert "nothing but 0 and 1" in str(warning.message)
        assert "use_rep" in str(warning.message)


@pytest.mark.parametrize("change", [np.log1p, np.negative, lambda X: X - 2, lambda X: X / 2])
def test_other_values_are_not_warned_of(change):
    adata = counts()
    adata.X = change(adata.X)
    assert not cluster(adata)


def test_coordinates_may_be_whole_numbers():
    adata = counts()
    adata.obsm["grid"] = adata.X[:, :4]
    assert not cluster(adata, use_rep="grid")


def test_of_many_chunks_only_the_first_is_read_for_it():
    read = []

    def note(block):
        read.append(len(block))
        return block

    values = np.tile(counts().X, (40, 1))
    lazy = da.from_array(values, chunks=(160, -1)).map_blocks(note, meta=values[:0])
    with pytest.warns(UserWarning, match=COUNTS):
        scutc._values.warn_of_counts(lazy, "adata.X")
    assert read == [160]


def test_wrong_parameters_are_said_before_values_are_looked_at():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="metric='bogus' is unknown"):
            scutc.tl.utc(counts(), 2, metric="bogus")


def with_values(change) -> AnnData:
    adata = counts()
    adata.X = change(adata.X).astype(np.float32)
    return adata


SCALES = {
    "counts": lambda X: X,
    "binary": lambda X: X > 2,
    "signed": lambda X: X - X.mean(axis=0),
    "linear": lambda X: X * (1e4 / X.sum(axis=1, keepdims=True)),
    "log": np.log1p,
}
SAID = {
    "counts": "whole numbers, as raw counts are",
    "binary": "nothing but 0 and 1",
    "signed": "values below 0",
    "linear": "values above 30",
    "log": "values of the size of logarithms",
}


def transfer(new: AnnData, reference: AnnData, **settings) -> list[str]:
    """What is warned of, when new cells get the labels of a reference."""
    cluster(reference, **settings)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        scutc.tl.transfer(new, reference)
    assert all(each.filename == __file__ for each in record)
    return [str(each.message) for each in record]


@pytest.mark.parametrize("of_reference", SCALES)
@pytest.mark.parametrize("of_new", SCALES)
def test_new_cells_of_another_kind_of_values_than_the_reference_are_warned_of(of_new, of_reference):
    warned = transfer(with_values(SCALES[of_new]), with_values(SCALES[of_reference]))
    if of_new == of_reference:
        assert warned == []
    else:
        (message,) = warned
        ours, theirs = message.split(", adata_ref.X ")
        assert ours.startswith(f"adata_new.X holds {SAID[of_new]}")
        assert SAID[of_reference] in theirs


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, lambda X: da.from_array(X, chunks=(5, -1))])
def test_other_values_of_new_cells_are_warned_of_wherever_they_lie(container):
    new, reference = counts(), counts()
    new.layers["log"] = container(new.X)
    reference.layers["log"] = np.log1p(reference.X)
    (message,) = transfer(new, reference, layer="log")
    assert message.startswith("adata_new.layers['log'] holds whole numbers")
    assert "adata_ref.layers['log'] values of the size of logarithms" in message


def test_new_cells_without_any_value_say_nothing_of_their_kind():
    reference = with_values(SCALES["log"])
    empty = AnnData(np.zeros((3, 20), dtype=np.float32), var=reference.var)
    assert scutc._values.kind_of_values(empty.X) is None
    reference.obsm["grid"], empty.obsm["grid"] = reference.X[:, :4], np.ones((3, 4))
    assert transfer(empty, reference, use_rep="grid", metric="euclidean") == []
