"""Order 4: two cells are similar when, next to a tight pair far away, they are a tight pair too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..normalization import normalize
from ..parallel import map_row_blocks
from ..tensors import QuadrupleTensor
from .base import Affinity
from .contraction import sum_normalized_slices
from .neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        dtype = self.geometry.tuple_dtype
        distances = self.geometry.distances.astype(dtype)
        sharpness = dtype(self.settings.sharpness)
        first, second = self.reference_pairs.T
        tightness = sharpness * distances[first, second]
        to_first = -distances[first]
        to_second = -distances[second] - dtype(epsilon(self.geometry))

        def slices(rows: Any, columns: slice) -> Iterator[NDArray[Any]]:
            block = sharpness * distances[rows, columns]
            values, denominator = np.empty_like(block), np.empty_like(block)
            for tight, near, far in zip(tightness, to_first, to_second, strict=True):
                np.add(near[rows, None], far[columns], out=denominator)
                np.add(block, tight, out=values)
                values /= denominator
                yield np.exp(values, out=values)

        one_way = sum_normalized_slices(slices, self.geometry.n_cells, self.geometry.n_jobs, symmetric=False)
        # The pair (l, k) says of (j, i) what (k, l) says of (i, j).
        return one_way + one_way.T

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
    cells = np.repeat(np.arange(len(neighbors)), neighbors.shape[1])
    return np.unique(np.sort(np.column_stack([cells, neighbors.ravel()]), axis=1), axis=0)


def epsilon(geometry: Geometry) -> float:
    """ε in the unit of the distances."""
    return RELATIVE_EPSILON * (float(geometry.distances.mean()) or 1.0)
