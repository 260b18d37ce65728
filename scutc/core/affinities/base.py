"""What a solver may ask of an affinity, whatever its order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry import Geometry
    from ..settings import Settings
    from ..tensors import Tensor

# "auto" samples as many anchors or pairs as keep to this many tuples, which take a fraction of a second, but not fewer
# than the minimum: every cell is seen from all of them, and what a sample misses averages out over many cells.
MAX_TUPLES = 20_000_000
MIN_SAMPLE = 32


class Affinity(ABC):
    """An affinity of tuples of cells."""

    def __init__(self, geometry: Geometry, settings: Settings) -> None:
        self.geometry = geometry
        self.settings = settings

    @abstractmethod
    def contract(self) -> Any:
        """What this order says about a pair of cells, the other modes summed out.

        Returns
        -------
        An n × n array, dense or sparse, symmetric up to rounding, with no negative entry.
        """

    @abstractmethod
    def tensor(self) -> Tensor:
        """The normalised tensor itself, restricted to cells that are near neighbours."""

    def _sample(self, n_items: int, n_wanted: int | str | None, stream: int) -> NDArray[np.intp]:
        """Sorted positions of a sample without replacement, from a random stream that is this order's own."""
        if isinstance(n_wanted, str):  # "auto"
            n_wanted = max(MIN_SAMPLE, MAX_TUPLES // self.geometry.n_cells**2)
        if n_wanted is None or n_wanted >= n_items:
            return np.arange(n_items)
        rng = np.random.default_rng([self.settings.seed, stream])
        return np.sort(rng.choice(n_items, size=n_wanted, replace=False))
