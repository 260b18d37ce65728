"""What users pass in that is unusual: it works as usual, or the error says what is wrong and where."""

from __future__ import annotations

import pickle

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


@pytest.mark.parametrize("dtype", [np.float16, np.float32, ">f4", ">f8", np.longdouble])
def test_a_bad_value_is_found_in_numbers_of_any_kind(groups, dtype):
    X = groups.X.astype(dtype)
    X[7, 4], X[9, 1] = np.nan, np.inf
    for matrix in (X, np.asfortranarray(X), da.from_array(X, chunks=(10, -1))):
        with pytest.raises(ValueError, match="1 NaN and 1 infinite values, the first in cell 7, gene 4 "):
            UTC(3).fit(matrix)


@pytest.fixture
def with_names(groups) -> AnnData:
    adata = groups.copy()
    adata.obs_names = [f"cell_{i}" for i in range(adata.n_obs)]
    adata.var_names = [f"gene_{i}" for i in range(adata.n_vars)]
    return adata


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix, lambda X: da.from_array(X, chunks=(10, -1))])
@pytest.mark.parametrize("n_landmarks", [None, 8])
def test_the_cell_and_the_gene_of_a_bad_value_are_named(with_names, convert, n_landmarks):
    X = with_names.X.copy()
    X[37, 44] = np.nan
    mask = np.arange(60) >= 20
    with_names.layers["bad"] = convert(X)
    with pytest.raises(ValueError, match=r"cell 37, gene 44 .* called 'cell_37', this gene 'gene_44'\.$"):
        scutc.tl.utc(with_names, 3, layer="bad", n_landmarks=n_landmarks)
    with pytest.raises(ValueError, match=r"cell 37, gene 24 .* called 'cell_37', this gene 'gene_44'\.$"):
        scutc.tl.utc(with_names, 3, layer="bad", mask_var=mask, n_landmarks=n_landmarks)
    with_names.obsm["rep"] = convert(X)
    with pytest.raises(ValueError, match=r"cell 37, gene 44 .* This cell is called 'cell_37'\.$"):
        scutc.tl.utc(with_names, 3, use_rep="rep", n_landmarks=n_landmarks)


def test_genes_of_raw_are_named(with_names):
    X = with_names.X.copy()
    X[3, 4] = np.inf
    with_names.raw = AnnData(X, var=with_names.var.rename(index="raw_{}".format))
    with pytest.raises(ValueError, match=r"called 'cell_3', this gene 'raw_gene_4'\.$"):
        scutc.tl.utc(with_names, 3, use_raw=True)


@pytest.mark.parametrize("n_landmarks", [None, 8])
def test_a_cell_without_variation_is_named(with_names, n_landmarks):
    with_names.X[37] = 0.0
    with pytest.raises(ValueError, match=r"cell 37 .* This cell is called 'cell_37'\.$"):
        scutc.tl.utc(with_names, 3, n_landmarks=n_landmarks)


def test_a_cell_without_variation_among_many_is_numbered_right(monkeypatch):
    # Genes are judged by some of the cells.
    monkeypatch.setattr("scutc.core.genes.MAX_CELLS", 20)
    X = np.random.default_rng(0).poisson(1.0, size=(60, 250)).astype(float)
    X[::3] = 0.0
    X[[0, 3, 6, 9]] = 1 + np.arange(250)
    with pytest.raises(ValueError, match=r"the first of them is cell 12 "):
        UTC(3).fit(X)


@pytest.mark.parametrize("which", ["adata_new", "adata_ref"])
def test_bad_cells_and_genes_are_named_in_a_transfer(with_names, which):
    new, reference = with_names[:, ::-1].copy(), with_names.copy()
    reference.obs["some"] = reference.obs["group"].where(np.arange(reference.n_obs) % 2 == 1).astype("category")
    scutc.tl.utc(reference, 3, mask_var=np.arange(60) >= 20)
    adata = {"adata_new": new, "adata_ref": reference}[which]
    adata.X[7, 4 if which == "adata_new" else 55] = np.nan
    with pytest.raises(ValueError, match=rf"^{which}: .* called 'cell_7', this gene 'gene_55'\.$"):
        scutc.tl.transfer(new, reference, labels="some")
    adata.X[7] = 0.0
    with pytest.raises(ValueError, match=rf"^{which}: .* cell 7 .* This cell is called 'cell_7'\.$"):
        scutc.tl.transfer(new, reference, labels="some")


def test_errors_about_cells_come_back_from_other_processes():
    for X in (np.full((3, 4), np.nan), np.ones((3, 4))):
        with pytest.raises(ValueError, match="cell 0") as caught:
            UTC(2).fit(X)
        copy = pickle.loads(pickle.dumps(caught.value))
        assert (type(copy), str(copy), copy.cell) == (type(caught.value), str(caught.value), 0)


@pytest.mark.parametrize("empty", [np.empty((9, 0)), sparse.csr_matrix((9, 0)), da.zeros((9, 0), chunks=(3, -1))])
def test_a_matrix_without_genes_is_refused(empty):
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        UTC(2).fit(empty)
    adata = AnnData(np.ones((9, 2)), obsm={"rep": empty})
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        scutc.tl.utc(adata, 2, use_rep="rep")


@pytest.mark.parametrize("n_landmarks", [None, 15])
@pytest.mark.parametrize("wrong", [lambda block: block[1:], lambda block: block[:, 1:]], ids=["rows", "genes"])
def test_chunks_of_another_shape_than_they_say_are_refused(groups, wrong, n_landmarks):
    matrix = da.from_array(groups.X, chunks=(15, -1)).map_blocks(wrong, meta=groups.X[:0])
    with pytest.raises(ValueError, match=r"A chunk .* is of shape \(.*says \(15, 60\).*compute_chunk_sizes"):
        UTC(3, n_landmarks=n_landmarks).fit(matrix)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e-300, 1e300])
@pytest.mark.parametrize("metric", ["correlation", "spearman", "euclidean"])
def test_numbers_near_the_ends_of_the_range_are_clustered(groups, metric, scale, convert):
    X = np.round(groups.X.astype(np.float64))
    np.testing.assert_array_equal(
        UTC(3, metric=metric).fit(convert(scale * X)).labels_, UTC(3, metric=metric).fit(X).labels_
    )


@pytest.mark.parametrize("parameters", [{}, {"n_landmarks": 20, "n_jobs": 2}, {"solver": "ascent"}])
def test_users_may_have_numpy_raise(groups, parameters):
    for X in (groups.X, 1e-300 * groups.X.astype(np.float64), da.from_array(groups.X, chunks=(15, -1))):
        expected = UTC(3, **parameters).fit(X)
        with np.errstate(all="raise"):
            model = UTC(3, **parameters).fit(X)
            np.testing.assert_array_equal(model.labels_, expected.labels_)
            np.testing.assert_array_equal(model.predict(X), expected.predict(X))
            model.cut(2)
            assert set(np.geterr().values()) == {"raise"}


def test_a_transfer_does_not_mind_numpy_that_raises(groups):
    reference, new = groups.copy(), groups.copy()
    with np.errstate(all="raise"):
        scutc.tl.utc(reference, 3)
        scutc.tl.transfer(new, reference)
    assert new.obs["utc"].tolist() == reference.obs["utc"].tolist()


@pytest.mark.parametrize("n_jobs", ["2", 1.5, True, [1], 0])
def test_n_jobs_is_a_number(groups, n_jobs):
    for call in (
        lambda: UTC(3, n_jobs=n_jobs).fit(groups.X),
        lambda: scutc.tl.utc(groups.copy(), 3, n_jobs=n_jobs),
        lambda: scutc.tl.transfer(groups.copy(), groups, n_jobs=n_jobs),
    ):
        with pytest.raises(ValueError, match=r"^n_jobs=.* is no number of threads"):
            call()


@pytest.mark.parametrize("seed", ["42", 1.5, True, [1], -1, 2**32])
def test_what_is_no_seed_is_named(groups, seed):
    with pytest.raises(ValueError, match=r"^random_state=.* is not a seed: an integer"):
        UTC(3, random_state=seed).fit(groups.X)


@pytest.mark.parametrize("seed", ["42", 1.5, -1])
def test_what_is_no_generator_is_named(groups, seed):
    with pytest.raises(ValueError, match=r"^rng=.* is neither a seed nor a numpy generator"):
        scutc.tl.utc(groups.copy(), 3, rng=seed)


def test_a_generator_is_a_random_state(groups):
    first, again = (UTC(3, random_state=np.random.default_rng(7)).fit(groups.X) for _ in range(2))
    assert first.seed_ == again.seed_ != UTC(3, random_state=np.random.default_rng(8)).fit(groups.X).seed_
    scutc.tl.utc(adata := groups.copy(), 3, random_state=np.random.default_rng(7))
    scutc.tl.utc(other := groups.copy(), 3, rng=np.random.default_rng(7))
    assert adata.uns["utc"]["params"]["random_state"] == other.uns["utc"]["params"]["random_state"] == first.seed_
