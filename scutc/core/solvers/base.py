"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Solution:
    """The embedding that a solver found, and what it is made of."""

    orders: tuple[int, ...]
    """The orders that were fused."""
    embeddings: dict[tuple[int, ...], NDArray[np.float64]]
    """Embeddings by the orders that they know of, ``orders`` among them: each casts a vote on the labels."""
    spectrum: NDArray[np.float64]
    """Eigenvalues of the fused operator, largest first."""
    order_spectra: dict[int, NDArray[np.float64]]
    """Eigenvalues of each order's own operator, largest first."""

    @property
    def embedding(self) -> NDArray[np.float64]:
        """The embedding that knows of all orders."""
        return self.embeddings[self.orders]
