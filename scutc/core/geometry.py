"""From the data matrix to inner products and distances: all that the affinities need to know of the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .parallel import map_row_blocks, row_blocks, symmetric_from_upper

if TYPE_CHECKING:
    from numpy.typing import NDArray

METRICS = ("correlation", "euclidean")

# Two cells coincide when their squared distance is rounding noise next to their squared lengths.
COINCIDENT = 1e-12

# Up to this many cells everything is float64. Above it values of tuples are float32: half the memory and, as numpy
# has no vectorised float64 exponential on most machines, a fifth of the time. Sampling anchors costs more accuracy,
# unless groups lie ten thousand times as far apart as they are wide, where there is nothing left to find.
MAX_CELLS_FLOAT64 = 1000


@dataclass(frozen=True)
class Geometry:
    """Inner products of the cells, after what the metric asks to be done to them.

    Under ``"correlation"`` every cell is centred and scaled to unit length, under ``"euclidean"`` the cells are shifted
    by their mean and measured in units of the largest value. In both cases distances are the Euclidean ones that belong
    to these inner products.
    """

    gram: NDArray[np.float64]
    n_jobs: int | None = None

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.gram)

    @property
    def tuple_dtype(self) -> type[np.floating[Any]]:
        """Precision in which affinities of tuples are computed."""
        return np.float64 if self.n_cells <= MAX_CELLS_FLOAT64 else np.float32

    @cached_property
    def squared_distances(self) -> NDArray[np.float64]:
        """Squared distances between all cells, exactly 0 for cells that coincide."""
        lengths = np.diag(self.gram)
        squared = np.empty_like(self.gram)

        def fill(rows: slice) -> None:
            block = squared[rows]
            np.add(lengths[rows, None], lengths, out=block)
            block -= 2 * self.gram[rows]
            block[block <= COINCIDENT * np.maximum(lengths[rows, None], lengths)] = 0.0

        map_row_blocks(fill, self.n_cells, self.n_cells, self.n_jobs)
        np.fill_diagonal(squared, 0.0)
        return squared

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Distances between all cells."""
        return np.sqrt(self.squared_distances)

    def nearest_neighbors(self, n_neighbors: int) -> NDArray[np.intp]:
        """Each cell's nearest other cells, nearest first."""
        n_neighbors = min(n_neighbors, self.n_cells - 1)

        def nearest(rows: slice) -> NDArray[np.intp]:
            squared = self.squared_distances[rows].copy()
            squared[np.arange(len(squared)), np.arange(rows.start, rows.stop)] = np.inf
            found = np.argpartition(squared, n_neighbors - 1, axis=1)[:, :n_neighbors]
            order = np.argsort(np.take_along_axis(squared, found, axis=1), axis=1, kind="stable")
            return np.take_along_axis(found, order, axis=1)

        return np.concatenate(map_row_blocks(nearest, self.n_cells, self.n_cells, self.n_jobs))


def compute_geometry(matrix: Any, metric: str, n_jobs: int | None) -> Geometry:
    """Inner products of the rows of a dense or sparse matrix; a sparse one is never densified."""
    # Both metrics are free of scale; squares of very large or small values are not.
    largest = float(abs(matrix).max()) or 1.0
    if sparse.issparse(matrix):
        gram = _gram_of_sparse(matrix.astype(np.float64).tocsr() / largest, metric, n_jobs)
    else:
        gram = _gram_of_dense(np.asarray(matrix, dtype=np.float64) / largest, metric, n_jobs)
    return Geometry(gram, n_jobs)


def check_finite(values: Any, cells: NDArray[np.intp] | None = None) -> None:
    """Raise on NaN and infinite values, and say how many and where; ``cells`` are the rows' numbers in the data."""
    stored = values.data if sparse.issparse(values) else values
    if stored.dtype.kind != "f" or np.isfinite(stored.sum(dtype=np.float64)):
        return
    n_nan, n_infinite = int(np.isnan(stored).sum()), int(np.isinf(stored).sum())
    if n_nan or n_infinite:
        entries = sparse.coo_array(values)
        bad = ~np.isfinite(entries.data)
        rows, genes = entries.row[bad], entries.col[bad]
        first = np.lexsort((genes, rows))[0]
        msg = (
            f"The matrix holds {n_nan} NaN and {n_infinite} infinite values, the first in cell "
            f"{rows[first] if cells is None else cells[rows[first]]}, gene {genes[first]} (counted from 0, genes among "
            "those that are used): impute or remove them."
        )
        raise ValueError(msg)


def means_and_lengths(
    values: Any, cells: NDArray[np.intp] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean of each row of a dense or CSR matrix, and its length once that is taken off.

    Raises on cells that do not vary, which have no correlation; ``cells`` are the rows' numbers in the data.
    """
    n_cells, n_genes = values.shape
    means = np.asarray(values.mean(axis=1)).ravel()
    if sparse.issparse(values):
        flat = values.max(axis=1).toarray().ravel() == values.min(axis=1).toarray().ravel()
        # In two passes, since the sum of squares less n_genes * means² cancels where a cell varies little.
        n_stored = np.diff(values.indptr)
        deviations = values.data - np.repeat(means, n_stored)
        squares = sparse.csr_array((deviations**2, values.indices, values.indptr), shape=values.shape).sum(axis=1)
        lengths = np.sqrt(squares + (n_genes - n_stored) * means**2)
    else:
        lengths = np.concatenate(
            [_row_lengths(values[rows] - means[rows, None]) for rows in row_blocks(n_cells, n_genes)]
        )
        flat = lengths <= 1e-12 * _row_lengths(values)
    if flat.any():
        first = np.argmax(flat) if cells is None else cells[np.argmax(flat)]
        msg = (
            f"{np.count_nonzero(flat)} of {n_cells} cells have the same value in all genes (all-zero cells, for "
            f"example), the first of them is cell {first} (counted from 0): their correlation with other cells is "
            "undefined. Filter them or use metric='euclidean'."
        )
        raise ValueError(msg)
    return means, lengths


def _row_lengths(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Unlike numpy.linalg.norm without a copy of the values.
    return np.sqrt(np.einsum("ij,ij->i", values, values))


def _gram_of_dense(values: NDArray[np.float64], metric: str, n_jobs: int | None) -> NDArray[np.float64]:
    if metric == "correlation":
        means, lengths = means_and_lengths(values)
        values -= means[:, None]
        values /= lengths[:, None]
    else:
        values -= values.mean(axis=0)
    return symmetric_from_upper(lambda rows: values[rows] @ values[rows.start :].T, len(values), np.float64, n_jobs)


def _gram_of_sparse(values: Any, metric: str, n_jobs: int | None) -> NDArray[np.float64]:
    n_cells, n_genes = values.shape
    gram = symmetric_from_upper(
        lambda rows: (values[rows] @ values[rows.start :].T).toarray(), n_cells, np.float64, n_jobs
    )
    if metric == "euclidean":
        center = np.asarray(values.mean(axis=0)).ravel()
        projection = values @ center
        gram -= projection[:, None]
        gram -= projection[None, :]
        gram += center @ center
        return gram
    means, lengths = means_and_lengths(values)
    gram -= n_genes * np.outer(means, means)
    gram /= lengths[:, None]
    gram /= lengths[None, :]
    np.fill_diagonal(gram, 1.0)
    return gram
