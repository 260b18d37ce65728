"""Row blocks in threads, with the same result for any number of threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from joblib import Parallel, delayed

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

T = TypeVar("T")

Progress = Callable[[Iterable[Any]], Iterable[Any]]
"""Wraps the steps of a long loop, for example in a progress bar."""

# Blocks of this many entries measured fastest: large enough for numpy, small enough for the cache.
BLOCK_ENTRIES = 1 << 18


def no_progress(steps: Iterable[Any]) -> Iterable[Any]:
    """Iterate without showing how far it is."""
    return steps


def row_blocks(n_rows: int, row_length: int, n_entries: int = BLOCK_ENTRIES) -> list[slice]:
    """Consecutive slices of rows with about so many entries each."""
    height = max(1, n_entries // max(row_length, 1))
    return [slice(start, min(start + height, n_rows)) for start in range(0, n_rows, height)]


def map_row_blocks(function: Callable[[slice], T], n_rows: int, row_length: int, n_jobs: int | None) -> list[T]:
    """Call ``function`` on consecutive slices of rows and return the results in order.

    The blocks depend on the shape alone, never on the number of threads, so that sums over blocks are the same to
    the last bit on every machine with the same BLAS.
    """
    blocks = row_blocks(n_rows, row_length)
    return Parallel(n_jobs=n_jobs, backend="threading")(delayed(function)(block) for block in blocks)


def symmetric_from_upper(
    upper_rows: Callable[[slice], NDArray[Any]], n_rows: int, dtype: DTypeLike, n_jobs: int | None
) -> NDArray[Any]:
    """Build a symmetric matrix from ``upper_rows(rows)``: these rows, from the column of the first of them on."""
    matrix = np.empty((n_rows, n_rows), dtype=dtype)

    def fill(rows: slice) -> None:
        upper = upper_rows(rows)
        matrix[rows, rows.start :] = upper
        matrix[rows.stop :, rows] = upper[:, rows.stop - rows.start :].T

    map_row_blocks(fill, n_rows, n_rows, n_jobs)
    return matrix
