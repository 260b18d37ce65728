"""Summing a tensor's slices, each divided by its own sum, without ever holding the tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..parallel import map_row_blocks, row_blocks, symmetric_from_upper

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

# A slice's sum is a mere weight: above this many cells it is taken over this many rows, evenly spaced.
MAX_ROWS_IN_SUM = 100
# Entries that are computed at once, of one row in some slices: so few that they and what they are made of stay in the
# cache from one step to the next.
ENTRIES_AT_ONCE = 1 << 17


class Fill(Protocol):
    """Writes a row of some n × n slices, from some column on, up to a factor for each slice, which it returns."""

    def __call__(self, values: NDArray[Any], slices: slice, row: int, columns: slice) -> NDArray[Any] | float:
        """Fill ``values``, slices × columns."""


def sum_normalized_slices(
    fill: Fill, shape: tuple[int, int, int], dtype: DTypeLike, n_jobs: int | None, *, symmetric: bool
) -> NDArray[Any]:
    """Σ_s T_s / t_s over the slices T_s of a tensor, t_s the sum of T_s.

    Parameters
    ----------
    fill
        How to compute rows of the slices.
    shape
        Number of slices, and the shape of each.
    dtype
        Precision of the sum.
    n_jobs
        Number of threads.
    symmetric
        Whether every slice is.
    """
    n_slices, n_cells, _ = shape
    some_slices = row_blocks(n_slices, n_cells, ENTRIES_AT_ONCE)
    rows_in_sum = np.arange(0, n_cells, math.ceil(n_cells / MAX_ROWS_IN_SUM))

    def sums(block: slice) -> NDArray[Any]:
        totals = np.zeros(n_slices)
        for slices in some_slices:
            values = np.empty((slices.stop - slices.start, n_cells), dtype=dtype)
            for row in rows_in_sum[block]:
                totals[slices] += fill(values, slices, row, slice(None)) * values.sum(axis=1)
        return totals

    totals = np.sum(map_row_blocks(sums, len(rows_in_sum), n_cells, n_jobs), axis=0)
    weights = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0).astype(dtype)

    def weighted_sum(rows: slice) -> NDArray[Any]:
        columns = slice(rows.start if symmetric else 0, n_cells)
        result = np.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=dtype)
        for slices in some_slices:
            values = np.empty((slices.stop - slices.start, result.shape[1]), dtype=dtype)
            for row, row_of_result in zip(range(rows.start, rows.stop), result, strict=True):
                row_of_result += (fill(values, slices, row, columns) * weights[slices]) @ values
        return result

    if symmetric:
        return symmetric_from_upper(weighted_sum, n_cells, dtype, n_jobs)
    return np.concatenate(map_row_blocks(weighted_sum, n_cells, n_cells, n_jobs))
