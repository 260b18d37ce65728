"""A matrix of cells × genes, wherever it lies, one block of rows after another.

In memory it is a numpy array or a scipy sparse matrix. Out of memory it is a Dask array, or anything with a shape that
gives such rows for a slice, as backed matrices do: h5py and zarr arrays, anndata's sparse datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse

from . import parallel
from .parallel import Progress, no_progress, one_blas_thread, row_blocks
from .warn import warn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

T = TypeVar("T")

# Every block has its price. So small chunks of a Dask array are read together, up to this part of the entries of other
# blocks: as a rule there remain more blocks than threads or workers.
PART_OF_CHUNKS = 0.25
# Seconds without any result, after which to see whether the cluster has workers at all.
PATIENCE = 30.0


def in_memory(matrix: Any) -> bool:
    """Whether it is a numpy array or a scipy sparse matrix."""
    return isinstance(matrix, np.ndarray) or sparse.issparse(matrix)


def is_dask(matrix: Any) -> bool:
    """Whether it is a Dask array, told without importing Dask."""
    return hasattr(matrix, "__dask_graph__") and hasattr(matrix, "to_delayed")


def is_backed(matrix: Any) -> bool:
    """Whether it lies in a file and gives rows for a slice."""
    # Views of an AnnData are in memory too, though their types are anndata's.
    library = type(matrix).__module__.partition(".")[0]
    elsewhere = library in {"anndata", "h5py", "zarr"} and not in_memory(matrix) and not is_dask(matrix)
    return isinstance(matrix, SelectedGenes) or elsewhere


def is_out_of_memory(matrix: Any) -> bool:
    """Whether it is a Dask array or lies in a file."""
    return is_dask(matrix) or is_backed(matrix)


def check_readable(matrix: Any, min_rows: int = 1) -> None:
    """Raise unless rows can be read from a Dask array or a backed matrix, and there are so many; else do nothing."""
    if not is_out_of_memory(matrix):
        return
    if len(matrix.shape) != 2:
        msg = f"Expected 2D array, got one of shape {matrix.shape}: cells × genes."
        raise ValueError(msg)
    if is_dask(matrix):
        _check_row_chunks(matrix)
    if getattr(matrix, "format", None) == "csc":
        msg = "The matrix lies in its file by genes (CSC), but cells are read: load it, or write it as CSR."
        raise NotImplementedError(msg)
    if matrix.dtype.kind not in "biuf":
        msg = f"The matrix holds {matrix.dtype}, not numbers."
        raise ValueError(msg)
    if matrix.shape[0] < min_rows:
        msg = f"Found array with {matrix.shape[0]} sample(s), but a minimum of {min_rows} is required."
        raise ValueError(msg)
    if matrix.shape[1] == 0:
        msg = f"Found array with 0 feature(s) (shape={matrix.shape}), but a minimum of 1 is required."
        raise ValueError(msg)


def check_unmasked(matrix: Any) -> None:
    """Raise on a numpy array some of whose values are masked: what lies under a mask is no value."""
    if np.ma.is_masked(matrix):
        msg = (
            "The matrix is a masked array with masked values, which cannot be clustered: fill them, for example with "
            ".filled(0), or remove their cells or genes."
        )
        raise ValueError(msg)


def _check_row_chunks(matrix: Any) -> None:
    """Raise unless every chunk of a Dask array holds whole rows, and it is known how many."""
    if np.isnan(matrix.shape).any():
        msg = f"The Dask array's shape is {matrix.shape}: call its compute_chunk_sizes() first."
        raise ValueError(msg)
    if matrix.numblocks[1] > 1:
        msg = (
            f"The Dask array is chunked by genes: {matrix.shape[1]} genes lie in {matrix.numblocks[1]} chunks. Cells "
            "are read whole: chunk it by rows, with .rechunk({0: 'auto', 1: -1})."
        )
        raise ValueError(msg)


class NonFiniteError(ValueError):
    """Some values are NaN or infinite, the first that of this cell, by its number in the data, and this gene."""

    def __init__(self, message: str, cell: int, gene: int) -> None:
        super().__init__(message)
        self.cell, self.gene = cell, gene

    def __reduce__(self) -> tuple[Any, ...]:  # it may come from another process
        return type(self), (str(self), self.cell, self.gene)


def check_finite(values: Any, numbers: NDArray[np.intp] | None = None) -> None:
    """Raise on NaN and infinite values, and say how many and where; ``numbers`` are the rows' numbers in the data."""
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype.kind != "f":
        return
    with np.errstate(over="ignore", invalid="ignore"):  # of a sum
        if np.isfinite(stored.sum(dtype=np.float64)):
            return
    n_nan, n_infinite = int(np.isnan(stored).sum()), int(np.isinf(stored).sum())
    if n_nan or n_infinite:
        if sparse.issparse(values):
            entries = values.tocoo()
            bad = ~np.isfinite(entries.data)
            rows, genes = entries.row[bad], entries.col[bad]
        else:
            rows, genes = np.nonzero(~np.isfinite(values))
        first = np.lexsort((genes, rows))[0]
        cell, gene = int(rows[first] if numbers is None else numbers[rows[first]]), int(genes[first])
        msg = (
            f"The matrix holds {n_nan} NaN and {n_infinite} infinite values, the first in cell {cell}, gene {gene} "
            "(counted from 0, genes among those that are used): impute or remove them."
        )
        raise NonFiniteError(msg, cell, gene)


def map_blocks(
    function: Callable[[Any, int], T], matrix: Any, n_jobs: int | None = None, progress: Progress = no_progress
) -> list[T]:
    """Call ``function(rows, first)`` on all blocks of rows, where ``first`` is the position of the first of them.

    Blocks of a Dask array are its chunks, small ones together; with a ``dask.distributed`` client they run on its
    workers. All else runs in threads, each of which loads its own block, so that no more blocks are in memory than
    there are threads.
    """
    if is_dask(matrix):
        groups = _group_chunks(matrix)
        client = _dask_client()
        if client is not None:
            return _map_on_workers(client, function, groups, progress)
        return _map_dask_in_threads(function, groups, n_jobs, progress)
    if sparse.issparse(matrix):
        matrix = as_rows(matrix)
    blocks = row_blocks(matrix.shape[0], matrix.shape[1], parallel.ENTRIES_TO_READ)
    results = Parallel(n_jobs=n_jobs, backend="threading", return_as="generator")(
        delayed(_run_on_slice)(function, matrix, rows) for rows in blocks
    )
    return [result for _, result in zip(progress(blocks), results, strict=True)]


def read_rows(
    matrix: Any, positions: NDArray[np.intp], n_jobs: int | None = None, progress: Progress = no_progress
) -> Any:
    """The rows at these positions, as a numpy array or in CSR format."""
    if in_memory(matrix):
        return as_rows(matrix)[positions]
    ascending = np.argsort(positions)
    rows = stack(map_blocks(partial(_take, positions=positions[ascending]), matrix, n_jobs, progress))
    return rows[np.argsort(ascending)]


def stack(blocks: Sequence[Any]) -> Any:
    """Blocks of rows put together again."""
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)


class SelectedGenes:
    """Some of the genes of a matrix; they are picked when rows are read."""

    def __init__(self, matrix: Any, genes: NDArray[np.intp]) -> None:
        self._matrix = matrix.tocsr() if sparse.issparse(matrix) else matrix
        self._genes = genes
        self.shape = (matrix.shape[0], len(genes))
        self.dtype = matrix.dtype
        self.format = getattr(self._matrix, "format", None)

    def __getitem__(self, rows: slice) -> Any:
        return as_rows(self._matrix[rows])[:, self._genes]


def select_genes(matrix: Any, genes: NDArray[np.intp]) -> Any:
    """The columns at these positions, to be read by rows: nothing is copied or loaded until then."""
    if np.array_equal(genes, np.arange(matrix.shape[1])):
        return matrix
    return matrix[:, genes] if is_dask(matrix) else SelectedGenes(matrix, genes)


def as_rows(matrix: Any) -> Any:
    """A matrix in memory as a numpy array, or in CSR format with each entry once and in order; it stays as it is."""
    check_unmasked(matrix)
    if not sparse.issparse(matrix):
        return np.asarray(matrix)
    rows = matrix.tocsr()
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def _take(block: Any, first: int, positions: NDArray[np.intp]) -> Any:
    start, stop = np.searchsorted(positions, [first, first + block.shape[0]])
    return block[positions[start:stop] - first]


def _run_on_slice(function: Callable[[Any, int], T], matrix: Any, rows: slice) -> T:
    return function(as_rows(matrix[rows]), rows.start)


@dataclass(frozen=True, eq=False)
class _Chunks:
    """Consecutive chunks of a Dask array, which make up a block."""

    lazy: list[Any]
    shapes: list[tuple[int, int]]
    """What the array says of them."""
    first: int
    """Position of their first row."""


def _group_chunks(matrix: Any) -> list[_Chunks]:
    """The chunks of a Dask array, small ones together."""
    n_genes = matrix.shape[1]
    max_rows = PART_OF_CHUNKS * parallel.ENTRIES_TO_READ / n_genes
    groups: list[_Chunks] = []
    first = n_rows = 0
    for chunk, height in zip(matrix.to_delayed().ravel(), matrix.chunks[0], strict=True):
        if not height:  # filtering cells leaves chunks without any
            continue
        if not groups or n_rows + height > max_rows:
            groups.append(_Chunks([], [], first))
            n_rows = 0
        groups[-1].lazy.append(chunk)
        groups[-1].shapes.append((height, n_genes))
        n_rows += height
        first += height
    return groups


def _run_on_chunks(
    function: Callable[[Any, int], T], chunks: Sequence[Any], shapes: Sequence[tuple[int, int]], first: int
) -> T:
    for chunk, shape in zip(chunks, shapes, strict=True):
        if chunk.shape != shape:
            msg = (
                f"A chunk of the Dask array is of shape {chunk.shape}, but the array says {shape}: what it was made by "
                "has other rows or genes than it was said to have. Call compute_chunk_sizes() on the array, or mend "
                "the function that was given to map_blocks."
            )
            raise ValueError(msg)
    rows = [as_rows(chunk) for chunk in chunks]
    return function(rows[0] if len(rows) == 1 else stack(rows), first)


def _map_dask_in_threads(
    function: Callable[[Any, int], T], groups: Sequence[_Chunks], n_jobs: int | None, progress: Progress
) -> list[T]:
    import dask
    from dask.delayed import delayed as lazily

    steps = iter(progress(groups))
    lock = Lock()

    def run(chunks: Sequence[Any], shapes: Sequence[tuple[int, int]], first: int) -> T:
        result = _run_on_chunks(function, chunks, shapes, first)
        with lock:
            next(steps)
        return result

    # All chunks at once: what they have in common, such as means of all cells, is then computed once.
    tasks = [lazily(run)(group.lazy, group.shapes, group.first) for group in groups]
    results = dask.compute(*tasks, scheduler="threads", num_workers=effective_n_jobs(n_jobs))
    for _ in steps:  # ends the progress bar
        pass
    return list(results)


def _dask_client() -> Any:
    """The ``dask.distributed`` client that the user has started, if any."""
    try:
        from distributed import get_client, get_worker
    except ImportError:
        return None
    try:
        get_worker()
    except ValueError:
        pass
    else:  # we are a task on a worker ourselves: to wait for others there could be to wait forever
        return None
    try:
        return get_client()
    except ValueError:
        return None


def _map_on_workers(
    client: Any, function: Callable[[Any, int], T], groups: Sequence[_Chunks], progress: Progress
) -> list[T]:
    from dask.delayed import delayed as lazily

    # A task of its own, so that it is sent once and not with each chunk, and made again if its worker dies.
    shared = lazily(_identity)(function)
    run = lazily(_run_on_worker)
    futures = client.compute([run(shared, group.lazy, group.shapes, group.first) for group in groups])
    try:
        for _, future in zip(progress(futures), _completed(client, futures), strict=True):
            if future.status == "error":
                future.result()
        return client.gather(futures)
    except BaseException:
        client.cancel(futures)
        raise


def _completed(client: Any, futures: Sequence[Any]) -> Iterator[Any]:
    """The futures as they are completed; a warning, once, where that takes long because there are no workers."""
    from distributed import as_completed

    waiting, warned = set(futures), False
    while waiting:
        try:
            for future in as_completed(list(waiting), timeout=PATIENCE):
                waiting.remove(future)
                yield future
        except TimeoutError:
            if not warned and not client.nthreads():
                warned = True
                msg = (
                    f"The cluster of {client!r} has no workers: waiting until there are some. Start workers, or "
                    "interrupt and close the client to work in threads."
                )
                warn(msg)


def _identity(value: T) -> T:
    return value


@one_blas_thread
def _run_on_worker(
    function: Callable[[Any, int], T], chunks: Sequence[Any], shapes: Sequence[tuple[int, int]], first: int
) -> T:
    return _run_on_chunks(function, chunks, shapes, first)
