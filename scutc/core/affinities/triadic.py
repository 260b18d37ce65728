"""Order 3: two cells are similar when a third sees them in the same direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .base import Affinity
from .contraction import sum_normalized_slices

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray


class TriadicAffinity(Affinity):
    """T₃[i,j,k] = |⟨x_i − x_j, x_k − x_j⟩| / (d_ij d_jk): the angle at the anchor j between its directions to i and k.

    The absolute value sees that i and k lie on one line with j also when they lie on its two sides. Tuples in which a
    cell coincides with the anchor are 0.
    """

    @property
    def anchors(self) -> NDArray[np.intp]:
        """The cells from which the others are looked at."""
        return self._sample(self.geometry.n_cells, self.settings.n_anchors, stream=3)

    def contract(self) -> NDArray[Any]:
        """A₃[i,k] = Σ_j T₃[i,j,k] / t_j over the anchors j, t_j the sum of that anchor's slice."""
        anchors = self.anchors
        dtype = self.geometry.tuple_dtype
        gram = self.geometry.gram
        # ⟨x_i − x_j, x_k − x_j⟩ = gram[i, k] − offset[j, i] − offset[j, k]
        offsets = (gram[anchors] - np.diag(gram)[anchors, None] / 2).astype(dtype)
        distances = self.geometry.distances[anchors]
        inverses = np.divide(1.0, distances, out=np.zeros_like(distances), where=distances > 0).astype(dtype)

        def slices(rows: Any, columns: slice) -> Iterator[NDArray[Any]]:
            block = gram[rows, columns].astype(dtype)
            values = np.empty_like(block)
            for offset, inverse in zip(offsets, inverses, strict=True):
                np.subtract(block, offset[rows, None], out=values)
                values -= offset[columns]
                values *= inverse[columns]
                values *= inverse[rows, None]
                yield np.abs(values, out=values)

        return sum_normalized_slices(slices, self.geometry.n_cells, self.geometry.n_jobs, symmetric=True)
