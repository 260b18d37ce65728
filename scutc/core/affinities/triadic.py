"""Order 3: two cells are similar when a third sees them in the same direction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..normalization import safe_inverse
from ..tensors import TripleTensor
from .base import Affinity
from .contraction import sum_normalized_slices
from .neighborhoods import Neighborhoods

if TYPE_CHECKING:
    from numpy.typing import NDArray

COSINES = ("absolute", "signed")

# Signed cosines may cancel to a degree of nearly 0, or to rounding noise, and what is divided by it would drown all
# else. So a degree is at least this part of the sum of the absolute values.
MIN_PART_OF_ABSOLUTE = 0.01


class TriadicAffinity(Affinity):
    """T₃[i,j,k] = |⟨x_i − x_j, x_k − x_j⟩| / (d_ij d_jk): the angle at the anchor j between its directions to i and k.

    The absolute value sees that i and k lie on one line with j also when they lie on its two sides; ``cosine="signed"``
    leaves it out. Tuples in which a cell coincides with the anchor are 0.
    """

    @property
    def anchors(self) -> NDArray[np.intp]:
        """The cells from which the others are looked at."""
        return self._sample(self.geometry.n_cells, self.settings.n_anchors, stream=3)

    def contract(self) -> NDArray[Any]:
        """A₃[i,k] = Σ_j T₃[i,j,k] / t_j over the anchors j, t_j the sum of that anchor's slice.

        Of signed cosines the negative ones count as 0: an affinity below 0 has no degree to be divided by.
        """
        signed = self.settings.cosine == "signed"
        anchors, gram = self.anchors, self.geometry.gram
        # ⟨x_i − x_j, x_k − x_j⟩ = gram[i, k] − offset[j, i] − offset[j, k]
        offsets = gram[anchors] - np.diag(gram)[anchors, None] / 2
        inverses = safe_inverse(self.geometry.distances[anchors])
        scaled_offsets = offsets * inverses

        def fill(values: NDArray[Any], slices: slice, row: int, columns: slice) -> NDArray[Any]:
            np.subtract(gram[row, columns], offsets[slices, row, None], out=values)
            values *= inverses[slices, columns]
            values -= scaled_offsets[slices, columns]
            np.maximum(values, 0, out=values) if signed else np.abs(values, out=values)
            return inverses[slices, row]

        return sum_normalized_slices(
            fill, (len(anchors), *gram.shape), gram.dtype, self.geometry.n_jobs, symmetric=True
        )

    def tensor(self) -> TripleTensor:
        """L₃[i,j,k] = T₃[i,j,k] / ((t_i t_k)^¼ t_j^½), i and k among the nearest ``n_neighbors`` of the anchor j."""
        gram, n_cells = self.geometry.gram, self.geometry.n_cells
        neighborhoods = self.geometry.once(Neighborhoods, self.settings.n_neighbors)
        anchors, neighbors = np.arange(n_cells)[:, None], neighborhoods.neighbors
        # ⟨x_i − x_j, x_k − x_j⟩ = gram[i, k] − offset[j, i] − offset[j, k]
        offsets = gram[anchors, neighbors] - np.diag(gram)[:, None] / 2
        inverses = safe_inverse(self.geometry.distances[anchors, neighbors])
        cosines = gram[neighbors[:, :, None], neighbors[:, None, :]] - offsets[:, :, None] - offsets[:, None, :]
        cosines *= inverses[:, :, None] * inverses[:, None, :]
        if self.settings.cosine == "absolute":
            np.abs(cosines, out=cosines)
        totals = np.maximum(cosines.sum(axis=(1, 2)), MIN_PART_OF_ABSOLUTE * np.abs(cosines).sum(axis=(1, 2)))
        fourth_roots = safe_inverse(totals**0.25)
        cosines *= fourth_roots[neighbors][:, :, None] * fourth_roots[neighbors][:, None, :]
        cosines *= (fourth_roots**2)[:, None, None]
        rows = neighborhoods.positions(neighbors[:, :, None], neighbors[:, None, :])
        columns = np.broadcast_to(anchors[:, :, None], rows.shape)
        unfolding = sparse.csr_array(
            (cosines.ravel(), (rows.ravel(), columns.ravel())), shape=(len(neighborhoods.pairs.first), n_cells)
        )
        return TripleTensor(neighborhoods.pairs, unfolding)
