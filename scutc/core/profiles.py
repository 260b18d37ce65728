"""The mean profile of each label: which one a cell is nearest to, and how typical the cell is of its label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .geometry import COINCIDENT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .extension import Standardized
    from .metric import StandardRows


@dataclass(frozen=True, eq=False)
class MeanProfiles:
    """The mean of the cells of each label, as a metric sees them."""

    means: NDArray[np.float64]
    """Genes × labels; 0 for a label without cells."""
    sizes: NDArray[np.intp]
    """Number of cells of each label."""
    unit: bool
    """Whether cells have length 1."""

    @classmethod
    def of(cls, rows: StandardRows, labels: NDArray[np.intp], n_labels: int) -> MeanProfiles:
        """Those of rows with labels."""
        sizes = np.bincount(labels, minlength=n_labels)
        return cls(rows.combine(np.eye(n_labels)[labels]) / np.maximum(sizes, 1), sizes, rows.unit)

    @property
    def squares(self) -> NDArray[np.float64]:
        """Squared length of each."""
        return np.einsum("ij,ij->j", self.means, self.means)

    def compare(self, cells: Standardized | StandardRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Cells × labels, twice: how near cells are to each, and the squared distances.

        Where cells have length 1 the mean, which is shorter the more its cells differ, is made as long before it is
        said how near it is: else cells that are like none would be nearest to the shortest.
        """
        products, squares = cells.project(self.means), self.squares
        nearness = products - squares / 2
        if self.unit:
            nearness = products / np.sqrt(np.where(squares > 0, squares, 1.0))
        lengths = cells.squared_lengths()[:, None] + squares
        squared = lengths - 2 * products
        squared[squared < COINCIDENT[squared.dtype] * lengths] = 0.0
        return nearness, squared


@dataclass(frozen=True, eq=False)
class Typicality:
    """How far labelled cells lie from the mean of their label, to compare other cells with.

    The mean of n cells is itself off: squared distances from it are, of a cell that is not among them, 1 + 1 / n times
    as large as from what it estimates. They are divided by that, so that labels with few cells compare with others.
    """

    sizes: NDArray[np.intp]
    """Number of cells of each label."""
    own: NDArray[np.float64]
    """Squared distances of all these cells from the mean of their label's other ones, so divided, ascending."""

    @classmethod
    def of(cls, profiles: MeanProfiles, cells: StandardRows, labels: NDArray[np.intp]) -> Typicality:
        """That of the cells that the profiles are made of."""
        squared = profiles.compare(cells)[1][np.arange(len(labels)), labels]
        # From the mean of the n − 1 others a cell is n / (n − 1) times as far as from that of all.
        several = profiles.sizes[labels] > 1
        n = profiles.sizes[labels][several]
        return cls(profiles.sizes, np.sort(squared[several] * n / (n - 1)))

    def __call__(self, squared: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """For each cell the share of the labelled cells that lie as far from the mean of their label, it among them.

        ``squared`` are the squared distances from the mean of its label. If it is like one of these cells, the share is
        below any number with that probability at most (a conformal p-value). Missing, where no label has two cells.
        """
        if not len(self.own):
            return np.full(len(labels), np.nan)
        n = self.sizes[labels]
        n_nearer = np.searchsorted(self.own, squared * (n / (n + 1)))
        return (1 + len(self.own) - n_nearer) / (1 + len(self.own))
