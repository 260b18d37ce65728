"""Summing a tensor's slices, each divided by its own sum, without ever holding the tensor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..parallel import map_row_blocks, symmetric_from_upper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

# A slice's sum is a mere weight: above this many cells it is taken over this many rows, evenly spaced.
MAX_ROWS_IN_SUM = 100


def sum_normalized_slices(
    slices: Callable[[Any, slice], Iterator[NDArray[Any]]], n_cells: int, n_jobs: int | None, *, symmetric: bool
) -> NDArray[Any]:
    """Σ_s T_s / t_s, where ``slices(rows, columns)`` yields this part of one n × n slice T_s after the other.

    It may fill the same buffer again and again. ``symmetric`` says that every slice is.
    """
    rows_in_sum = np.arange(0, n_cells, math.ceil(n_cells / MAX_ROWS_IN_SUM))

    def sums(block: slice) -> NDArray[Any]:
        return np.array([values.sum() for values in slices(rows_in_sum[block], slice(None))])

    totals = np.sum(map_row_blocks(sums, len(rows_in_sum), n_cells, n_jobs), axis=0)
    weights = np.divide(1.0, totals, out=np.zeros_like(totals), where=totals > 0)

    def weighted_sum(rows: slice) -> NDArray[Any]:
        columns = slice(rows.start if symmetric else 0, n_cells)
        result = np.zeros((rows.stop - rows.start, columns.stop - columns.start), dtype=weights.dtype)
        for weight, values in zip(weights, slices(rows, columns), strict=True):
            values *= weight
            result += values
        return result

    if symmetric:
        return symmetric_from_upper(weighted_sum, n_cells, weights.dtype, n_jobs)
    return np.concatenate(map_row_blocks(weighted_sum, n_cells, n_cells, n_jobs))
