"""Cells with their nearest neighbours, and the pairs of cells that share such a neighbourhood."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..tensors import Pairs

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry import Geometry


def scatter_rows(columns: NDArray[np.intp], values: NDArray[np.float64], n_columns: int) -> Any:
    """A sparse matrix that has, in each row, these values in these columns."""
    rows = np.repeat(np.arange(len(columns)), columns.shape[1])
    return sparse.csr_array((values.ravel(), (rows, columns.ravel())), shape=(len(columns), n_columns))


class Neighborhoods:
    """The neighbourhood of a cell is the cell itself and its nearest neighbours."""

    def __init__(self, geometry: Geometry, n_neighbors: int) -> None:
        self.neighbors = geometry.nearest_neighbors(n_neighbors)

    @cached_property
    def members(self) -> NDArray[np.intp]:
        """The cells of each neighbourhood, as rows."""
        return np.column_stack([np.arange(len(self.neighbors)), self.neighbors])

    @cached_property
    def _codes(self) -> NDArray[np.intp]:
        """A number for each pair of cells that occurs in a neighbourhood, ascending."""
        return np.unique(self.members[:, :, None] * len(self.members) + self.members[:, None, :])

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs of cells that occur in a neighbourhood, in both orders and with themselves."""
        return Pairs(*np.divmod(self._codes, len(self.members)), len(self.members))

    def positions(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where pairs of cells stand in ``pairs``."""
        return np.searchsorted(self._codes, first * len(self.members) + second)

    def shared_pairs(self) -> Any:
        """A sparse matrix of pairs with an entry wherever two pairs of cells lie in one neighbourhood."""
        positions = self.positions(self.members[:, :, None], self.members[:, None, :]).reshape(len(self.members), -1)
        occurs = scatter_rows(positions, np.ones(positions.shape), len(self._codes))
        # Half the memory of the 64-bit indices that scipy would carry over from the positions.
        occurs.indices, occurs.indptr = occurs.indices.astype(np.int32), occurs.indptr.astype(np.int32)
        return (occurs.T.tocsr() @ occurs).tocsr()
