"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Iterations:
    """What a solver that iterates did; nothing, by default."""

    objective: NDArray[np.float64] | None = None
    """Objective at the start and after each iteration."""
    relative_gradient: float | None = None
    """Length of the part of the gradient along which the answer could still move, next to the whole gradient's."""
    converged: bool = True
    remedy: str = ""
    """What to do if it did not converge."""

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return 0 if self.objective is None else len(self.objective) - 1


@dataclass(frozen=True, eq=False)
class Solution:
    """The embedding that a solver found, and what it is made of."""

    orders: tuple[int, ...]
    """The orders that were fused."""
    embeddings: dict[tuple[int, ...], NDArray[np.float64]]
    """Embeddings by the orders that they know of, all ``orders`` first: each is a view that votes on the labels."""
    spectrum: NDArray[np.float64]
    """Largest first: eigenvalues of the fused operator, or the objective's value of each column of the embedding."""
    order_spectra: dict[int, NDArray[np.float64]]
    """The same for each order alone."""
    nested: bool
    """Whether the leading columns are the embedding for fewer clusters. If not, all columns belong together."""
    iterations: Iterations = field(default_factory=Iterations)

    @property
    def embedding(self) -> NDArray[np.float64]:
        """The embedding that knows of all orders."""
        return self.embeddings[self.orders]
