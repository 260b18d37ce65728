"""Order 4: two cells are similar when, next to a tight pair far away, they are a tight pair too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .base import Affinity
from .contraction import sum_normalized_slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

# ε of the formula, as a part of the mean distance, so that the unit of the data does not matter.
RELATIVE_EPSILON = 1e-3


class TetradicAffinity(Affinity):
    """T₄[i,j,k,l] = exp(−σ (d_ij + d_kl) / (d_ik + d_jl + ε)): two pairs, each tight, that lie far from each other.

    σ is ``sharpness``. The reference pairs (k, l) are pairs of near neighbours.
    """

    @property
    def reference_pairs(self) -> NDArray[np.intp]:
        """The pairs k < l of which one is among the nearest ``n_neighbors`` of the other, or a sample of them."""
        neighbors = self.geometry.nearest_neighbors(self.settings.n_neighbors)
        cells = np.repeat(np.arange(len(neighbors)), neighbors.shape[1])
        pairs = np.unique(np.sort(np.column_stack([cells, neighbors.ravel()]), axis=1), axis=0)
        return pairs[self._sample(len(pairs), self.settings.n_pairs, stream=4)]

    @property
    def epsilon(self) -> float:
        """ε in the unit of the distances."""
        return RELATIVE_EPSILON * (float(self.geometry.distances.mean()) or 1.0)

    def contract(self) -> NDArray[Any]:
        """A₄[i,j] = Σ T₄[i,j,k,l] / t_kl over the reference pairs in both directions, t_kl the sum of that slice."""
        dtype = self.geometry.tuple_dtype
        distances = self.geometry.distances.astype(dtype)
        sharpness = dtype(self.settings.sharpness)
        first, second = self.reference_pairs.T
        tightness = sharpness * distances[first, second]
        to_first = -distances[first]
        to_second = -distances[second] - dtype(self.epsilon)

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
