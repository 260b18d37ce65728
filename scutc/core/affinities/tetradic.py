"""Order 4: two cells are similar when, next to a tight pair far away, they are a tight pair too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..normalization import normalize
from ..parallel import map_row_blocks, symmetric_from_upper
from ..tensors import QuadrupleTensor
from .base import Affinity
from .contraction import sum_normalized_slices
from .neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry import Geometry

# ε of the formula, as a part of the mean distance, so that the unit of the data does not matter.
RELATIVE_EPSILON = 1e-3


class TetradicAffinity(Affinity):
    """T₄[i,j,k,l] = exp(−σ (d_ij + d_kl) / (d_ik + d_jl + ε)): two pairs, each tight, that lie far from each other.

    σ is ``sharpness``. The reference pairs (k, l) are pairs of near neighbours.
    """

    @property
    def reference_pairs(self) -> NDArray[np.intp]:
        """The pairs of near neighbours, or a sample of them."""
        pairs = near_pairs(self.geometry, self.settings.n_neighbors)
        return pairs[self._sample(len(pairs), self.settings.n_pairs, stream=4)]

    def contract(self) -> NDArray[Any]:
        """A₄[i,j] = Σ T₄[i,j,k,l] / t_kl over the reference pairs in both directions, t_kl the sum of that slice."""
        distances, n_jobs = self.geometry.distances, self.geometry.n_jobs
        sharpness = self.settings.sharpness
        first, second = self.reference_pairs.T
        tightness = sharpness * distances[first, second]
        to_first = -distances[first]
        to_second = -distances[second] - distances.dtype.type(epsilon(self.geometry))

        def fill(values: NDArray[Any], slices: slice, row: int, columns: slice) -> float:
            apart = to_second[slices, columns] + to_first[slices, row, None]
            np.add(sharpness * distances[row, columns], tightness[slices, None], out=values)
            values /= apart
            np.exp(values, out=values)
            return 1.0

        shape = (len(first), *distances.shape)
        one_way = sum_normalized_slices(fill, shape, distances.dtype, n_jobs, symmetric=False)
        # The pair (l, k) says of (j, i) what (k, l) says of (i, j).
        return symmetric_from_upper(
            lambda rows: one_way[rows, rows.start :] + one_way[rows.start :, rows].T,
            len(one_way),
            one_way.dtype,
            n_jobs,
        )

    def tensor(self) -> QuadrupleTensor:
        """L₄ = D₄^-½ T₄ D₄^-½ as a matrix of pairs, of all four cells in one neighbourhood of a cell."""
        neighborhoods = self.geometry.once(Neighborhoods, self.settings.n_neighbors)
        first, second = neighborhoods.pairs.first, neighborhoods.pairs.second
        affinity = neighborhoods.shared_pairs()
        distances, smallest = self.geometry.distances, epsilon(self.geometry)

        def fill(block: slice) -> None:
            stored = slice(affinity.indptr[block.start], affinity.indptr[block.stop])
            rows = np.repeat(np.arange(block.start, block.stop), np.diff(affinity.indptr[block.start : block.stop + 1]))
            i, j, k, l = first[rows], second[rows], first[affinity.indices[stored]], second[affinity.indices[stored]]  # noqa: E741
            ratios = (distances[i, j] + distances[k, l]) / (distances[i, k] + distances[j, l] + smallest)
            affinity.data[stored] = np.exp(-self.settings.sharpness * ratios)

        map_row_blocks(fill, len(first), affinity.nnz // len(first), self.geometry.n_jobs)
        return QuadrupleTensor(neighborhoods.pairs, normalize(affinity))


def near_pairs(geometry: Geometry, n_neighbors: int) -> NDArray[np.intp]:
    """The pairs k < l of which one is among the nearest ``n_neighbors`` of the other, as rows."""
    neighbors = geometry.nearest_neighbors(n_neighbors)
    n_cells = len(neighbors)
    cells, others = np.repeat(np.arange(n_cells), neighbors.shape[1]), neighbors.ravel()
    # A number for each pair, which is much faster to sort than rows are.
    codes = np.unique(np.minimum(cells, others) * n_cells + np.maximum(cells, others))
    return np.column_stack(np.divmod(codes, n_cells))


def epsilon(geometry: Geometry) -> float:
    """ε in the unit of the distances."""
    return RELATIVE_EPSILON * (float(geometry.distances.mean()) or 1.0)
