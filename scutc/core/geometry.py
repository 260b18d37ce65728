"""Inner products and distances of cells: all that the affinities need to know of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .metric import METRICS
from .parallel import map_row_blocks, symmetric_from_upper

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    from .metric import StandardRows

T = TypeVar("T")

# Up to this many cells everything is float64. Above it inner products, distances and values of tuples are float32: half
# the memory, half the time and, as numpy has no vectorised float64 exponential on most machines, a fifth of it for
# tuples. Sampling anchors costs more accuracy, unless groups lie hundreds of times as far apart as they are wide.
MAX_CELLS_FLOAT64 = 500
# Where no squared length is larger than so many times their median.
LARGEST_IN_FLOAT32 = 1e3

# Two cells coincide when their squared distance is rounding noise next to their squared lengths.
COINCIDENT = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 4e-6}

# Entries of a block of inner products: taller ones than fill the cache keep BLAS busier.
ENTRIES_OF_PRODUCTS = 1 << 19


@dataclass(frozen=True, eq=False)
class Geometry:
    """Inner products of cells as a metric has them, and the distances that belong to these."""

    gram: NDArray[Any]
    n_jobs: int | None = None

    @classmethod
    def of_rows(cls, rows: StandardRows, n_jobs: int | None = None) -> Geometry:
        """That of points."""
        return cls(inner_products(rows, _precision(rows), n_jobs), n_jobs)

    @classmethod
    def of(cls, cells: Any, metric: str, n_jobs: int | None = None) -> Geometry:
        """That of the rows of a dense or CSR matrix under a metric."""
        return cls.of_rows(METRICS[metric].of(cells).standardize(cells), n_jobs)

    @property
    def n_cells(self) -> int:
        """Number of cells."""
        return len(self.gram)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision in which affinities of tuples are computed."""
        return self.gram.dtype

    @cached_property
    def squared_distances(self) -> NDArray[Any]:
        """Squared distances between all cells, exactly 0 for cells that coincide."""
        lengths = np.diag(self.gram)
        negligible = COINCIDENT[self.dtype] * lengths
        squared = np.empty_like(self.gram)

        def fill(rows: slice) -> None:
            block = squared[rows]
            np.add(lengths[rows, None], lengths, out=block)
            block -= 2 * self.gram[rows]
            block[block <= np.maximum(negligible[rows, None], negligible)] = 0.0

        map_row_blocks(fill, self.n_cells, self.n_cells, self.n_jobs)
        np.fill_diagonal(squared, 0.0)
        return squared

    @cached_property
    def distances(self) -> NDArray[Any]:
        """Distances between all cells."""
        return np.sqrt(self.squared_distances)

    def nearest_neighbors(self, n_neighbors: int) -> NDArray[np.intp]:
        """Each cell's nearest other cells, nearest first."""
        return self.once(_nearest_neighbors, min(n_neighbors, self.n_cells - 1))

    def once(self, function: Callable[[Geometry, int], T], argument: int) -> T:
        """``function(self, argument)``, computed when it is first asked for: for what several orders need."""
        key = (function, argument)
        if key not in self._computed:
            self._computed[key] = function(self, argument)
        return self._computed[key]

    @cached_property
    def _computed(self) -> dict[Any, Any]:
        return {}


def _precision(rows: StandardRows) -> type[np.floating[Any]]:
    """Single precision for many points, unless some lie so far out that the others would coincide in it."""
    if rows.values.shape[0] <= MAX_CELLS_FLOAT64:
        return np.float64
    if rows.unit:
        return np.float32
    if not isinstance(rows.values, np.ndarray):
        return np.float64
    squares = np.einsum("ij,ij->i", rows.values, rows.values)
    return np.float32 if squares.max() <= LARGEST_IN_FLOAT32 * np.median(squares) else np.float64


def inner_products(rows: StandardRows, dtype: DTypeLike, n_jobs: int | None = None) -> NDArray[Any]:
    """Inner products of all points with each other."""
    # Sparse values are multiplied as they are, in double precision: what is taken off their products may be far larger
    # than what remains.
    if isinstance(rows.values, np.ndarray):
        rows = replace(rows, values=rows.values.astype(dtype, copy=False))
    gram = symmetric_from_upper(
        lambda block: rows.inner_products(block, slice(block.start, None)),
        rows.values.shape[0],
        dtype,
        n_jobs,
        ENTRIES_OF_PRODUCTS,
    )
    if rows.unit:  # without rounding, so that cells that are equally far stay so
        np.fill_diagonal(gram, 1.0)
    return gram


def _nearest_neighbors(geometry: Geometry, n_neighbors: int) -> NDArray[np.intp]:
    def nearest(rows: slice) -> NDArray[np.intp]:
        squared = geometry.squared_distances[rows].copy()
        squared[np.arange(len(squared)), np.arange(rows.start, rows.stop)] = np.inf
        found = np.argpartition(squared, n_neighbors - 1, axis=1)[:, :n_neighbors]
        order = np.argsort(np.take_along_axis(squared, found, axis=1), axis=1, kind="stable")
        return np.take_along_axis(found, order, axis=1)

    return np.concatenate(map_row_blocks(nearest, geometry.n_cells, geometry.n_cells, geometry.n_jobs))
