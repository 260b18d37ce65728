"""From the data matrix to inner products and distances: all that the affinities need to know of the data."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from .parallel import map_row_blocks, symmetric_from_upper

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
        gram, n_flat = _gram_of_sparse(matrix.astype(np.float64).tocsr() / largest, metric, n_jobs)
    else:
        gram, n_flat = _gram_of_dense(np.asarray(matrix, dtype=np.float64) / largest, metric, n_jobs)
    if n_flat:
        msg = (
            f"{n_flat} of {matrix.shape[0]} cells have the same value in all genes (all-zero cells, for example): "
            "their correlation with other cells is undefined. Filter them or use metric='euclidean'."
        )
        raise ValueError(msg)
    return Geometry(gram, n_jobs)


def _gram_of_dense(values: NDArray[np.float64], metric: str, n_jobs: int | None) -> tuple[NDArray[np.float64], int]:
    axis = 1 if metric == "correlation" else 0
    raw_lengths = np.linalg.norm(values, axis=1)
    values -= values.mean(axis=axis, keepdims=True)
    n_flat = 0
    if metric == "correlation":
        lengths = np.linalg.norm(values, axis=1)
        n_flat = int(np.sum(lengths <= 1e-12 * raw_lengths))
        values /= np.where(lengths > 0, lengths, 1.0)[:, None]
    gram = symmetric_from_upper(lambda rows: values[rows] @ values[rows.start :].T, len(values), np.float64, n_jobs)
    return gram, n_flat


def _gram_of_sparse(values: Any, metric: str, n_jobs: int | None) -> tuple[NDArray[np.float64], int]:
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
        return gram, 0
    flat = values.max(axis=1).toarray().ravel() == values.min(axis=1).toarray().ravel()
    means = np.asarray(values.mean(axis=1)).ravel()
    gram -= n_genes * np.outer(means, means)
    # In two passes, since gram[i, i] - n_genes * means[i]² cancels where a cell varies little.
    n_stored = np.diff(values.indptr)
    deviations = values.copy()
    deviations.data -= np.repeat(means, n_stored)
    squared_lengths = np.asarray(deviations.power(2).sum(axis=1)).ravel() + (n_genes - n_stored) * means**2
    lengths = np.sqrt(np.where(flat, 1.0, squared_lengths))
    gram /= lengths[:, None]
    gram /= lengths[None, :]
    np.fill_diagonal(gram, 1.0)
    return gram, int(np.sum(flat))
