"""The principal subspace of cells: what they have in common, not the noise of each one's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .eigen import fix_signs, leading_eigenpairs
from .geometry import inner_products
from .metric import METRICS, Metric
from .sampling import evenly_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

# As many directions as scanpy's default.
N_DIRECTIONS = 50
# The principal directions follow from the inner products of so many cells at most.
MAX_CELLS = 2000
# Directions with less than this part of the strongest one's variance are rounding noise.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True, eq=False)
class Subspace:
    """The principal directions of some cells, under a metric, and where cells lie along them."""

    metric: Metric
    directions: NDArray[np.float64]
    center: NDArray[np.float64]

    @classmethod
    def of(
        cls, cells: Any, metric: str, n_jobs: int | None = None, numbers: NDArray[np.intp] | None = None
    ) -> Subspace:
        """The principal directions of the rows of a dense or CSR matrix, of many from some that are evenly spread.

        ``numbers`` are the cells' numbers in the data, for errors.
        """
        n_cells = cells.shape[0]
        if n_cells > MAX_CELLS:
            some = evenly_spread(n_cells, MAX_CELLS)
            cells, numbers = cells[some], some if numbers is None else numbers[some]
        learned = METRICS[metric].of(cells)
        rows = learned.standardize(cells, numbers)
        gram = inner_products(rows, np.float64, n_jobs)
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1, keepdims=True)
        variances, vectors = leading_eigenpairs(gram, min(N_DIRECTIONS, max(1, len(gram) - 1)))
        # Boxes of a sketch depend on which way a direction points.
        vectors = fix_signs(vectors) * np.where(variances > NEGLIGIBLE * variances.max(), variances, np.inf) ** -0.5
        directions = rows.combine(vectors)
        return cls(learned, directions, rows.project(directions).mean(axis=0))

    def coordinates(self, cells: Any, numbers: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Where the rows of a dense or CSR matrix lie; ``numbers`` are their numbers in the data, for errors."""
        return self.metric.standardize(cells, numbers).project(self.directions) - self.center
