"""Row blocks in threads, with the same result for any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

T = TypeVar("T")
P = ParamSpec("P")

Progress = Callable[[Iterable[Any]], Iterable[Any]]
"""Wraps the steps of a long loop, for example in a progress bar."""

# Entries of a block of an n × n matrix: measured fastest, large enough for numpy and small enough for the cache.
ENTRIES_IN_CACHE = 1 << 18
# Entries of a block that is read from a matrix of cells, 32 MB of float64: numpy is busy, memory hardly filled.
ENTRIES_TO_READ = 1 << 22


def one_blas_thread(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with one BLAS thread: with more of them BLAS sums in another order. We run blocks in threads."""

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with threadpool_limits(limits=1):
            return function(*args, **kwargs)

    return run


def numpy_defaults(function: Callable[P, T]) -> Callable[P, T]:
    """Run a function with numpy's own treatment of floating point errors: that exp(-1000) is 0 is none.

    Users who have it raise mean their own code. Threads that are started in it have numpy's own anyway.
    """

    @wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"):
            return function(*args, **kwargs)

    return run


def no_progress(steps: Iterable[Any]) -> Iterable[Any]:
    """Iterate without showing how far it is."""
    return steps


def row_blocks(n_rows: int, row_length: int, n_entries: int | None = None) -> list[slice]:
    """Consecutive slices of rows with about so many entries each, as many as the cache takes if it is not said."""
    height = max(1, (n_entries or ENTRIES_IN_CACHE) // max(row_length, 1))
    return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def map_row_blocks(
    function: Callable[[slice], T], n_rows: int, row_length: int, n_jobs: int | None, n_entries: int | None = None
) -> list[T]:
    """Call ``function`` on consecutive slices of rows and return the results in order.

    The blocks depend on the shape alone, never on the number of threads, so that sums over blocks are the same to
    the last bit on every machine with the same BLAS.
    """
    blocks = row_blocks(n_rows, row_length, n_entries)
    return Parallel(n_jobs=n_jobs, backend="threading")(delayed(function)(block) for block in blocks)


def symmetric_from_upper(
    upper_rows: Callable[[slice], NDArray[Any]],
    n_rows: int,
    dtype: DTypeLike,
    n_jobs: int | None,
    n_entries: int | None = None,
) -> NDArray[Any]:
    """Build a symmetric matrix from ``upper_rows(rows)``: these rows, from the column of the first of them on."""
    matrix = np.empty((n_rows, n_rows), dtype=dtype)

    def fill(rows: slice) -> None:
        upper = upper_rows(rows)
        matrix[rows, rows.start :] = upper
        matrix[rows.stop :, rows] = upper[:, rows.stop - rows.start :].T

    map_row_blocks(fill, n_rows, n_rows, n_jobs, n_entries)
    return matrix
