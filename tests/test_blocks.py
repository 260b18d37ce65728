from __future__ import annotations

import os
import signal
import time
from threading import Lock, Timer
from typing import TYPE_CHECKING

import anndata
import dask.array as da
import numpy as np
import pytest
import scanpy as sc
import zarr
from anndata import AnnData
from scipy import sparse

import scutc
from conftest import make_groups, snapshot
from scutc import UTC
from scutc.core.blocks import check_finite, in_memory, is_backed, is_dask, map_blocks, read_rows, select_genes
from scutc.core.metric import METRICS

if TYPE_CHECKING:
    from pathlib import Path

SIZES = (90, 60, 30)
# Fewer than a tenth of the cells, so that some are not even in the sample that landmarks are chosen from.
N_LANDMARKS = 17


@pytest.fixture(scope="module", autouse=True)
def small_blocks():
    """Matrices that are not Dask arrays come in many blocks too, of 20 cells with 60 genes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("scutc.core.parallel.ENTRIES_TO_READ", 1200)
        yield


def dask_of(convert=None, chunks=25):
    def make(X, path):
        array = da.from_array(X, chunks=(chunks, -1))
        return array if convert is None else array.map_blocks(convert)

    return make


def backed_of(container=np.asarray):
    def make(X, path):
        AnnData(container(X)).write_h5ad(path / "x.h5ad")
        return anndata.read_h5ad(path / "x.h5ad", backed="r").X

    return make


def zarr_of(X, path):
    array = zarr.open_array(str(path / "x.zarr"), mode="w", shape=X.shape, chunks=(33, 20), dtype=X.dtype)
    array[:] = X
    return array


PLACES = {
    "dense": lambda X, path: X,
    "fortran": lambda X, path: np.asfortranarray(X),
    "csr_matrix": lambda X, path: sparse.csr_matrix(X),
    "csr_array": lambda X, path: sparse.csr_array(X),
    "csc_matrix": lambda X, path: sparse.csc_matrix(X),
    "csc_array": lambda X, path: sparse.csc_array(X),
    "backed": backed_of(),
    "backed csr": backed_of(sparse.csr_matrix),
    "zarr": zarr_of,
    "dask": dask_of(),
    "dask csr_matrix": dask_of(sparse.csr_matrix),
    "dask csr_array": dask_of(sparse.csr_array),
    "dask csc_matrix": dask_of(sparse.csc_matrix),
    "dask uneven": dask_of(chunks=(1, 100, 47, 32)),
    "dask uneven csr": dask_of(sparse.csr_matrix, chunks=(1, 100, 47, 32)),
    "dask one chunk": dask_of(chunks=180),
    "dask one chunk csr": dask_of(sparse.csr_matrix, chunks=180),
    "dask without cells in some": dask_of(chunks=(0, 100, 0, 80)),
    "dask csr without cells in some": dask_of(sparse.csr_matrix, chunks=(0, 100, 0, 80)),
}
OUT_OF_MEMORY = [name for name in PLACES if name.startswith(("backed", "zarr", "dask"))]


def dense(matrix) -> np.ndarray:
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


@pytest.fixture(scope="module")
def groups() -> AnnData:
    return make_groups(SIZES)


@pytest.fixture(scope="module")
def expected(groups) -> dict[tuple, UTC]:
    """What comes out for a matrix in memory, by metric and number of landmarks."""
    return {
        (metric, n_landmarks): UTC(4, metric=metric, n_landmarks=n_landmarks).fit(groups.X)
        for metric in METRICS
        for n_landmarks in (N_LANDMARKS, None)
    }


def assert_same(found: AnnData, model: UTC) -> None:
    np.testing.assert_array_equal(found.uns["utc"].get("landmarks"), model.landmarks_)
    np.testing.assert_array_equal(found.obs["utc"].cat.codes, model.labels_)
    np.testing.assert_allclose(found.obsm["X_utc"], model.embedding_, atol=1e-6)


@pytest.mark.parametrize("place", PLACES)
def test_blocks_put_together_are_the_matrix(place, tmp_path):
    X = np.random.default_rng(0).poisson(1.0, size=(180, 60)).astype(np.float32)
    matrix = PLACES[place](X, tmp_path)

    def look(rows, first):
        assert isinstance(rows, np.ndarray) or rows.format == "csr"
        np.testing.assert_array_equal(dense(rows), X[first : first + rows.shape[0]])
        return first, rows.shape[0]

    starts, heights = zip(*map_blocks(look, matrix), strict=True)
    assert list(starts) == np.cumsum([0, *heights[:-1]]).tolist()
    assert sum(heights) == 180
    assert (len(heights) > 1) == ("one chunk" not in place)
    assert in_memory(matrix) + is_dask(matrix) + is_backed(matrix) == 1


@pytest.mark.parametrize("place", PLACES)
def test_rows_are_read_in_the_order_asked_for(place, tmp_path):
    X = np.random.default_rng(0).poisson(1.0, size=(180, 60)).astype(np.float32)
    positions = np.random.default_rng(1).permutation(180)[:40]
    rows = read_rows(PLACES[place](X, tmp_path), positions)
    np.testing.assert_array_equal(dense(rows), X[positions])
    # All from one chunk: the others have none of them.
    np.testing.assert_array_equal(dense(read_rows(PLACES[place](X, tmp_path), np.array([3, 2]))), X[[3, 2]])


@pytest.mark.parametrize("place", PLACES)
def test_genes_are_selected_where_the_matrix_lies(place, tmp_path):
    X = np.random.default_rng(0).poisson(1.0, size=(180, 60)).astype(np.float32)
    genes = np.array([5, 2, 40])
    matrix = PLACES[place](X, tmp_path)
    chosen = select_genes(matrix, genes)
    assert chosen.shape == (180, 3)
    assert chosen.dtype == X.dtype
    assert not in_memory(chosen)  # nothing is copied until rows are read
    assert select_genes(matrix, np.arange(60)) is matrix
    np.testing.assert_array_equal(dense(read_rows(chosen, np.arange(180))), X[:, genes])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_more_blocks_are_in_memory_than_there_are_threads(n_jobs):
    class Slices:
        """A matrix in a file, that counts how many rows have been loaded and not yet been let go."""

        shape, dtype = (1000, 60), np.dtype(float)
        loaded = most = 0
        lock = Lock()

        def __getitem__(self, rows):
            with self.lock:
                self.loaded += rows.stop - rows.start
                self.most = max(self.most, self.loaded)
            return np.ones((rows.stop - rows.start, 60))

    matrix = Slices()

    def use(rows, first):
        time.sleep(0.002)  # long enough for the other thread to load its block
        with matrix.lock:
            matrix.loaded -= len(rows)
        return len(rows)

    assert sum(map_blocks(use, matrix, n_jobs)) == 1000
    assert matrix.most <= 20 * n_jobs


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_chunks_have_in_common_is_computed_once(n_jobs):
    loads = []

    def load(block):
        loads.append(len(block))
        return block

    X = np.random.default_rng(0).poisson(1.0, size=(180, 60)).astype(float)
    lazy = da.from_array(X, chunks=(30, -1)).map_blocks(load, dtype=float, meta=np.empty((0, 0)))
    loads.clear()
    centred = lazy - lazy.mean(axis=0)
    blocks = map_blocks(lambda rows, first: rows, centred, n_jobs)
    np.testing.assert_allclose(np.concatenate(blocks), X - X.mean(axis=0), atol=1e-12)
    assert len(loads) == 6


def placed(place: str, X: np.ndarray, path: Path, **fields) -> AnnData:
    """An AnnData whose X lies there."""
    if not place.startswith("backed"):
        return AnnData(PLACES[place](X, path), **fields)
    AnnData(sparse.csr_matrix(X) if place == "backed csr" else X, **fields).write_h5ad(path / "a.h5ad")
    return anndata.read_h5ad(path / "a.h5ad", backed="r")


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("place", PLACES)
def test_a_matrix_gives_the_same_wherever_it_lies(groups, expected, place, metric, tmp_path):
    adata = placed(place, groups.X, tmp_path)
    scutc.tl.utc(adata, 4, metric=metric, n_landmarks=N_LANDMARKS)
    assert_same(adata, expected[metric, N_LANDMARKS])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("place", ["backed", "backed csr", "zarr", "dask", "dask csr_matrix", "dask uneven csr"])
def test_cells_out_of_memory_are_clustered_without_landmarks_too(groups, expected, place, metric, tmp_path):
    adata = placed(place, groups.X, tmp_path)
    scutc.tl.utc(adata, 4, metric=metric, n_landmarks=None)
    assert_same(adata, expected[metric, None])


@pytest.mark.parametrize("place", ["csc_matrix", "backed", "backed csr", "zarr", "dask", "dask csr_array"])
def test_a_mask_selects_genes_wherever_they_lie(groups, place, tmp_path):
    mask = np.arange(60) % 3 != 1
    model = UTC(3, n_landmarks=N_LANDMARKS).fit(groups.X[:, mask])
    adata = placed(place, groups.X, tmp_path)
    adata.var["chosen"] = mask
    for mask_var in (mask, "chosen"):
        scutc.tl.utc(adata, 3, n_landmarks=N_LANDMARKS, mask_var=mask_var)
        assert_same(adata, model)


@pytest.mark.parametrize("dtype", [np.int32, np.float64])
@pytest.mark.parametrize("place", ["csr_matrix", "backed", "backed csr", "dask", "dask csr_matrix"])
def test_integers_and_doubles_give_the_same(groups, place, dtype, tmp_path):
    X = np.round(10 * groups.X)
    model = UTC(3, n_landmarks=N_LANDMARKS).fit(X.astype(float))
    adata = placed(place, X.astype(dtype), tmp_path)
    scutc.tl.utc(adata, 3, n_landmarks=N_LANDMARKS)
    assert_same(adata, model)


def test_layers_raw_and_representations_may_be_out_of_memory(groups, expected):
    adata = AnnData(np.zeros_like(groups.X), layers={"log": da.from_array(groups.X, chunks=(50, -1))})
    adata.obsm["rep"] = da.from_array(groups.X, chunks=(70, -1))
    for selector in ({"layer": "log"}, {"use_rep": "rep"}):
        scutc.tl.utc(adata, 4, n_landmarks=N_LANDMARKS, **selector)
        assert_same(adata, expected["euclidean" if "use_rep" in selector else "correlation", N_LANDMARKS])


def test_raw_of_a_backed_file(groups, expected, tmp_path):
    adata = groups.copy()
    adata.raw = adata
    adata.X = np.random.default_rng(0).random(adata.shape)
    adata.write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    scutc.tl.utc(backed, 4, use_raw=True, n_landmarks=N_LANDMARKS)
    assert_same(backed, expected["correlation", N_LANDMARKS])
    backed.file.close()


@pytest.mark.parametrize("place", ["dense", "csr_matrix", "csc_matrix", "dask", "dask csr_matrix"])
def test_views_give_the_same_as_copies(groups, place, tmp_path):
    adata = placed(place, groups.X, tmp_path)
    before = snapshot(adata)
    some = np.random.default_rng(0).permutation(180)[:150]
    for n_landmarks in (15, None):
        model = UTC(3, n_landmarks=n_landmarks).fit(groups.X[some])
        view = adata[some]
        assert view.is_view
        scutc.tl.utc(view, 3, n_landmarks=n_landmarks)
        assert_same(view, model)
    assert snapshot(adata) == before


def test_new_samples_may_be_out_of_memory(groups, tmp_path):
    model = UTC(3, n_landmarks=N_LANDMARKS).fit(groups.X)
    for place in OUT_OF_MEMORY:
        (tmp_path / place).mkdir()
        matrix = PLACES[place](groups.X, tmp_path / place)
        np.testing.assert_array_equal(model.predict(matrix), model.labels_)
        np.testing.assert_allclose(model.transform(matrix), model.embedding_, atol=1e-6)
    np.testing.assert_array_equal(model.predict(da.from_array(groups.X[:1], chunks=1).rechunk({1: -1})), [0])
    with pytest.raises(ValueError, match="X has 50 features, but UTC is expecting 60"):
        model.transform(da.from_array(groups.X[:, :50], chunks=(40, -1)))


@pytest.mark.parametrize("place", ["backed csr", "dask", "dask csr_matrix"])
def test_any_number_of_threads_gives_the_same_bits(groups, place, tmp_path):
    adata = placed(place, groups.X, tmp_path)
    for n_jobs in (1, 2):
        scutc.tl.utc(adata, 3, n_landmarks=N_LANDMARKS, n_jobs=n_jobs, key_added=f"jobs{n_jobs}")
    np.testing.assert_array_equal(adata.obsm["X_jobs1"], adata.obsm["X_jobs2"])
    assert adata.obs["jobs1"].tolist() == adata.obs["jobs2"].tolist()


PLACES_OF_ERRORS = ["dense", "csr_matrix", "backed", "backed csr", "zarr", "dask", "dask csr_matrix"]


@pytest.mark.parametrize("n_landmarks", [10, 40, None])
@pytest.mark.parametrize("place", PLACES_OF_ERRORS)
def test_a_bad_value_in_a_late_block_is_found_and_nothing_written(groups, place, n_landmarks, tmp_path):
    X = groups.X.copy()
    X[171, 33] = np.nan
    adata = placed(place, X, tmp_path, obs=groups.obs)
    before = snapshot(adata)
    message = "1 NaN and 0 infinite values, the first in cell 171, gene 33 "
    with pytest.raises(ValueError, match=message):
        scutc.tl.utc(adata, 3, n_landmarks=n_landmarks)
    assert snapshot(adata) == before


@pytest.mark.parametrize("n_landmarks", [10, 40, None])
@pytest.mark.parametrize("place", PLACES_OF_ERRORS)
def test_an_empty_cell_in_a_late_block_is_found_and_nothing_written(groups, place, n_landmarks, tmp_path):
    X = groups.X.copy()
    X[163] = 0.0
    adata = placed(place, X, tmp_path, obs=groups.obs)
    before = snapshot(adata)
    with pytest.raises(ValueError, match=r"1 of \d+ cells have the same value .* the first of them is cell 163 "):
        scutc.tl.utc(adata, 3, n_landmarks=n_landmarks)
    assert snapshot(adata) == before


def test_an_empty_cell_is_no_error_for_euclidean_distances(groups):
    X = groups.X.copy()
    X[163] = 0.0
    adata = placed("dask csr_matrix", X, None)
    scutc.tl.utc(adata, 3, n_landmarks=40, metric="euclidean")
    assert not adata.obs["utc"].isna().any()


def test_every_cell_is_looked_at_for_bad_values(groups):
    # Landmarks are chosen in a sample: the other cells are checked when they are placed.
    for cell in range(0, 180, 24):
        X = groups.X.copy()
        X[cell, 5] = -np.inf
        with pytest.raises(ValueError, match=f"0 NaN and 1 infinite values, the first in cell {cell}, gene 5 "):
            UTC(3, n_landmarks=10).fit(da.from_array(X, chunks=(40, -1)))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_the_first_bad_value_is_named_by_the_number_of_its_cell(container):
    values = np.ones((4, 5))
    values[2, 3] = values[1, 4] = values[3, 0] = np.nan
    values[2, 1] = np.inf
    with pytest.raises(ValueError, match="3 NaN and 1 infinite values, the first in cell 1, gene 4 "):
        check_finite(container(values))
    with pytest.raises(ValueError, match="first in cell 30, gene 4 "):
        check_finite(container(values), np.array([20, 30, 40, 50]))


def unreadable() -> dict[str, tuple]:
    """How to make X, the error, and a part of its message."""

    def unknown_chunks(X):
        array = da.from_array(X, chunks=(50, -1))
        return array[array[:, 0] >= 0]

    return {
        "chunked by genes": (
            lambda X: da.from_array(X, chunks=(50, 20)),
            ValueError,
            r"chunked by genes: 60 genes lie in 3 chunks.*rechunk",
        ),
        "unknown chunks": (unknown_chunks, ValueError, r"shape is \(nan, 60\): call its compute_chunk_sizes"),
        "text": (lambda X: da.from_array(X.astype(str), chunks=(50, -1)), ValueError, "not numbers"),
        "one cell": (lambda X: da.from_array(X[:1], chunks=(1, -1)), ValueError, "1 sample.* minimum of 2 is required"),
        "one dimension": (lambda X: da.from_array(X[0], chunks=20), ValueError, "Expected 2D array"),
    }


@pytest.mark.parametrize(("make", "error", "message"), unreadable().values(), ids=unreadable())
@pytest.mark.parametrize("n_landmarks", [30, None])
def test_a_dask_array_that_cannot_be_read_by_rows_is_refused(groups, make, error, message, n_landmarks):
    with pytest.raises(error, match=message):
        UTC(3, n_landmarks=n_landmarks).fit(make(groups.X))


def test_a_dask_array_chunked_by_genes_leaves_adata_untouched(groups):
    adata = AnnData(da.from_array(groups.X, chunks=(50, 20)), obs=groups.obs)
    before = snapshot(adata)
    with pytest.raises(ValueError, match="chunked by genes"):
        scutc.tl.utc(adata, 3)
    assert snapshot(adata) == before


@pytest.mark.parametrize("mask_var", [None, np.arange(60) < 40])
def test_a_backed_csc_matrix_is_refused(groups, mask_var, tmp_path):
    AnnData(sparse.csc_matrix(groups.X), obs=groups.obs).write_h5ad(tmp_path / "a.h5ad")
    backed = anndata.read_h5ad(tmp_path / "a.h5ad", backed="r")
    before = snapshot(backed)
    with pytest.raises(NotImplementedError, match=r"by genes \(CSC\).*write it as CSR"):
        scutc.tl.utc(backed, 3, mask_var=mask_var)
    assert snapshot(backed) == before
    backed.file.close()


@pytest.mark.parametrize("n_landmarks", [N_LANDMARKS, None])
@pytest.mark.parametrize(("verbosity", "shown"), [(2, False), (3, True)])
def test_blocks_show_a_progress_bar_from_verbosity_three_on(groups, verbosity, shown, n_landmarks, capsys, monkeypatch):
    monkeypatch.setattr("scutc.tl._progress.PATIENCE", 0)
    adata = AnnData(da.from_array(groups.X, chunks=(60, -1)))
    before = sc.settings.verbosity
    sc.settings.verbosity = verbosity
    try:
        scutc.tl.utc(adata, 3, n_landmarks=n_landmarks)
    finally:
        sc.settings.verbosity = before
    shown_text = capsys.readouterr().err
    assert ("utc:" in shown_text) == ("/3 [" in shown_text) == shown


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("pass_number", [1, 2])
@pytest.mark.parametrize("place", ["dask", "backed csr"])
def test_interruption_between_blocks_leaves_adata_untouched(groups, place, pass_number, n_jobs, tmp_path, monkeypatch):
    # The first pass reads the sample, the second places all cells.
    passes = []

    def interrupted(steps):
        passes.append(1)
        for number, step in enumerate(steps):
            if number == 2 and len(passes) == pass_number:
                raise KeyboardInterrupt
            yield step

    adata = placed(place, groups.X, tmp_path, obs=groups.obs)
    before = snapshot(adata)
    monkeypatch.setattr("scutc.tl._utc.progress_bar", lambda title: interrupted)
    with pytest.raises(KeyboardInterrupt):
        scutc.tl.utc(adata, 3, n_landmarks=N_LANDMARKS, n_jobs=n_jobs)
    assert len(passes) == pass_number
    assert snapshot(adata) == before


def test_small_chunks_are_read_together():
    X = np.random.default_rng(0).poisson(1.0, size=(60, 60)).astype(np.float32)
    for convert in (np.asarray, sparse.csr_matrix):
        matrix = da.from_array(X, chunks=((1,) * 10 + (0, 5, 20) + (1,) * 25, -1)).map_blocks(convert)
        blocks = map_blocks(lambda rows, first: (first, dense(rows)), matrix)
        # A quarter of 1200 entries are 5 cells; what is larger stays alone.
        assert [first for first, _ in blocks] == [0, 5, 10, 15, *range(35, 60, 5)]
        np.testing.assert_array_equal(np.concatenate([rows for _, rows in blocks]), X)


def test_progress_counts_the_blocks_that_chunks_are_read_in():
    counts = []
    matrix = da.ones((60, 60), chunks=(1, -1))
    blocks = map_blocks(lambda rows, first: first, matrix, progress=lambda steps: counts.append(len(steps)) or steps)
    assert counts == [len(blocks)] == [12]


@pytest.mark.parametrize("n_landmarks", [N_LANDMARKS, None])
@pytest.mark.parametrize("convert", [None, sparse.csr_matrix])
def test_chunks_of_one_cell_give_the_same(groups, expected, convert, n_landmarks):
    adata = AnnData(dask_of(convert, chunks=1)(groups.X, None))
    scutc.tl.utc(adata, 4, n_landmarks=n_landmarks)
    assert_same(adata, expected["correlation", n_landmarks])


def test_a_cluster_without_workers_is_waited_for_and_that_is_said_once(groups, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("scutc.core.blocks.PATIENCE", 0.1)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster),
    ):
        later = Timer(1.0, cluster.scale, [1])
        later.start()
        with pytest.warns(UserWarning, match="has no workers: waiting until there are some") as warned:
            heights = map_blocks(lambda rows, first: len(rows), da.from_array(groups.X, chunks=(60, -1)))
        later.join()
    assert heights == [60, 60, 60]
    assert len([warning for warning in warned if "no workers" in str(warning.message)]) == 1


@pytest.fixture(scope="module")
def client():
    """Two processes, as on a cluster."""
    distributed = pytest.importorskip("distributed")
    from distributed.deploy import SubprocessCluster

    # The scheduler has a process of its own, too: in this one a busy test could keep it until its workers give up.
    with (
        SubprocessCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        yield client


def test_a_fit_inside_a_task_does_not_wait_for_its_own_worker(client):
    X = make_groups(SIZES).X

    def fit(X):  # here, so that it is sent as it is: workers cannot import tests
        return UTC(3, n_landmarks=N_LANDMARKS).fit_predict(da.from_array(X, chunks=(60, -1)))

    there = client.submit(fit, X).result(timeout=120)
    np.testing.assert_array_equal(there, UTC(3, n_landmarks=N_LANDMARKS).fit_predict(X))


@pytest.mark.parametrize("metric", ["correlation", "euclidean"])
@pytest.mark.parametrize("place", ["dask", "dask csr_matrix", "dask csr without cells in some"])
def test_workers_of_a_cluster_give_the_same(groups, expected, place, metric, client):
    adata = placed(place, groups.X, None)
    scutc.tl.utc(adata, 4, metric=metric, n_landmarks=N_LANDMARKS)
    assert_same(adata, expected[metric, N_LANDMARKS])


def test_blocks_run_in_the_processes_of_the_cluster(groups, client):
    pids = set(map_blocks(lambda rows, first: os.getpid(), da.from_array(groups.X, chunks=(10, -1))))
    assert set() < pids <= set(client.run(os.getpid).values())
    assert os.getpid() not in pids


def test_cells_on_a_cluster_are_clustered_without_landmarks_too(groups, expected, client):
    adata = placed("dask", groups.X, None)
    scutc.tl.utc(adata, 4, n_landmarks=None)
    assert_same(adata, expected["correlation", None])


@pytest.mark.parametrize("n_landmarks", [10, 40])
def test_a_bad_value_on_a_worker_is_named_and_nothing_written(groups, n_landmarks, client):
    X = groups.X.copy()
    X[171, 33] = np.nan
    adata = placed("dask csr_matrix", X, None, obs=groups.obs)
    before = snapshot(adata)
    with pytest.raises(ValueError, match="1 NaN and 0 infinite values, the first in cell 171, gene 33 "):
        scutc.tl.utc(adata, 3, n_landmarks=n_landmarks)
    assert snapshot(adata) == before


def test_an_error_of_a_chunk_reaches_the_user(groups, client):
    def broken(block):
        if block.shape[0]:
            msg = "disk on fire"
            raise OSError(msg)
        return block

    matrix = da.from_array(groups.X, chunks=(60, -1)).map_blocks(broken, meta=np.empty((0, 0), np.float32))
    with pytest.raises(OSError, match="disk on fire"):
        UTC(3, n_landmarks=N_LANDMARKS).fit(matrix)


@pytest.mark.parametrize("n_before", [1, 10])
def test_a_worker_that_dies_half_way_does_not_matter(groups, expected, n_before, client, tmp_path):
    # In the second pass too: chunks are computed once in each of the two.
    counter, marker = tmp_path / "counter", tmp_path / "killed"

    def deadly(block):
        with counter.open("a") as file:
            file.write(".")
        if counter.stat().st_size > n_before and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    matrix = da.from_array(groups.X, chunks=(25, -1)).map_blocks(deadly, meta=np.empty((0, 0), np.float32))
    adata = AnnData(matrix)
    scutc.tl.utc(adata, 4, n_landmarks=N_LANDMARKS)
    assert marker.exists()
    assert_same(adata, expected["correlation", N_LANDMARKS])
