"""From cells that have been embedded and labelled to any others: each is a weighted mean of the nearest of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, eigsh
from sklearn.neighbors import NearestNeighbors

from .affinities.neighborhoods import scatter_rows
from .blocks import map_blocks, stack
from .fusion import fix_signs
from .geometry import check_finite, compute_geometry, means_and_lengths
from .parallel import Progress, no_progress

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Directions in which near cells are sought: those that cells share, not the noise of each cell's own. As scanpy's.
N_DIRECTIONS = 50
# Their principal directions follow from the inner products of so many cells at most.
MAX_CELLS = 2000
# Directions with less than this part of the strongest one's variance are rounding noise.
NEGLIGIBLE = 1e-10
# A landmark nearer than this, in squared distance next to that of the farthest that is counted, is the cell itself.
COINCIDENT = 1e-12
# What being a landmark of a label counts next to a share of the vote.
TIE_BREAK = 1e-9
# Up to this many cells a dense eigensolver is as fast as an iterative one, and always converges.
MAX_CELLS_DENSE = 500


@dataclass(frozen=True)
class Subspace:
    """The principal directions of some cells, under a metric, and where cells lie along them."""

    metric: str
    scale: float
    directions: NDArray[np.float64]
    center: NDArray[np.float64]

    @classmethod
    def of(cls, cells: Any, metric: str, n_jobs: int | None = None) -> Subspace:
        """The principal directions of the rows of a dense or CSR matrix, of many from some that are evenly spread."""
        n_cells = cells.shape[0]
        if n_cells > MAX_CELLS:
            cells = cells[np.linspace(0, n_cells - 1, MAX_CELLS).astype(np.intp)]
        gram = compute_geometry(cells, metric, n_jobs).gram
        gram -= gram.mean(axis=0)
        gram -= gram.mean(axis=1, keepdims=True)
        variances, vectors = _leading_eigenpairs(gram, min(N_DIRECTIONS, max(1, len(gram) - 1)))
        # Boxes of a sketch depend on which way a direction points.
        vectors = fix_signs(vectors) * np.where(variances > NEGLIGIBLE * variances.max(), variances, np.inf) ** -0.5
        # The directions are the rows, as the metric has them, times these vectors. Their mean does not matter, since
        # each vector sums to 0.
        scale = float(abs(cells).max()) or 1.0
        values = cells.astype(np.float64) / scale
        if metric == "correlation":
            means, lengths = means_and_lengths(values)
            vectors = vectors / lengths[:, None]
            directions = values.T @ vectors - means @ vectors
        else:
            directions = values.T @ vectors
        subspace = cls(metric, scale, directions, np.zeros(directions.shape[1]))
        return cls(metric, scale, directions, subspace.coordinates(cells).mean(axis=0))

    def coordinates(self, cells: Any, numbers: NDArray[np.intp] | None = None) -> NDArray[np.float64]:
        """Where the rows of a dense or CSR matrix lie; ``numbers`` are their numbers in the data, for errors."""
        values = cells.astype(np.float64) / self.scale
        along = values @ self.directions
        if self.metric == "correlation":
            means, lengths = means_and_lengths(values, numbers)
            along -= np.outer(means, self.directions.sum(axis=0))
            along /= lengths[:, None]
        return along - self.center


def _leading_eigenpairs(
    gram: NDArray[np.float64], n_directions: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n_cells = len(gram)
    if n_cells > MAX_CELLS_DENSE:
        start = np.random.default_rng(0).standard_normal(n_cells)
        try:
            return eigsh(gram, k=n_directions, which="LA", v0=start)
        except ArpackError:  # no convergence, or nothing to find, as between identical cells
            pass
    return linalg.eigh(gram, subset_by_index=(n_cells - n_directions, n_cells - 1))


@dataclass(frozen=True)
class Rule:
    """How a cell weighs its nearest landmarks, from where these lie: all that has to be sent to where blocks are read.

    Of a cell's m + 1 nearest landmarks, at squared distances d², the nearer m get weights ∝ (R² − d²) / d², where R² is
    that of the last. A cell that lies where a landmark does gets what that has; the weights have no jumps, since a
    landmark enters the nearest with weight 0; and a constant added to all large d², as in concentration, cancels.
    """

    subspace: Subspace
    landmarks: NDArray[np.float64]
    n_neighbors: int

    def __call__(self, cells: Any, first: int) -> sparse.csr_array:
        """Cells × landmarks, for a block of rows, the first of which has this number in the data."""
        numbers = np.arange(first, first + cells.shape[0])
        check_finite(cells, numbers)
        coordinates = self.subspace.coordinates(cells, numbers)
        n_nearest = min(self.n_neighbors + 1, len(self.landmarks))
        search = NearestNeighbors(n_neighbors=n_nearest, algorithm="brute").fit(self.landmarks)
        distances, nearest = search.kneighbors(coordinates)
        weights = _weights(distances**2)
        return scatter_rows(nearest[:, : weights.shape[1]], weights, len(self.landmarks))


class Extension:
    """Leads from landmarks, the rows of a matrix, to any cells. What it needs for that is computed when it is used."""

    def __init__(self, landmarks: Any, metric: str, n_neighbors: int) -> None:
        self._landmarks = landmarks
        self._metric = metric
        self._n_neighbors = n_neighbors
        self._rule: Rule | None = None

    def weights(self, matrix: Any, n_jobs: int | None = None, progress: Progress = no_progress) -> sparse.csr_array:
        """Cells × landmarks, rows add up to 1, for the rows of a matrix in memory or out of it."""
        if self._rule is None:
            subspace = Subspace.of(self._landmarks, self._metric, n_jobs)
            self._rule = Rule(subspace, subspace.coordinates(self._landmarks), self._n_neighbors)
        return stack(map_blocks(self._rule, matrix, n_jobs, progress))


def _weights(squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of all but the last of the nearest landmarks, from squared distances that rise along each row."""
    if squared.shape[1] == 1:
        return np.ones_like(squared)
    reach = squared[:, -1:]
    nearer = squared[:, :-1]
    weights = (reach - nearer) / np.maximum(nearer, COINCIDENT * reach + np.finfo(float).tiny)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights, 1.0) / np.where(total > 0, total, nearer.shape[1])


def vote(weights: sparse.csr_array, labels: NDArray[np.intp], n_labels: int) -> NDArray[np.float64]:
    """For each cell the share of its landmarks' weights that each label has."""
    return weights @ np.eye(n_labels)[labels]


def elect(
    shares: NDArray[np.float64], landmarks: NDArray[np.intp], labels_of_landmarks: NDArray[np.intp]
) -> NDArray[np.intp]:
    """The label with the largest share for each cell, but every label for one cell at least.

    A label that no cell votes for most goes to the cell with the largest share of it, or to one that is its landmark.
    """
    labels = shares.argmax(axis=1)
    for label in np.setdiff1d(np.arange(shares.shape[1]), labels):
        preference = shares[:, label].copy()
        preference[landmarks[labels_of_landmarks == label]] += TIE_BREAK
        alone = np.bincount(labels, minlength=shares.shape[1])[labels] == 1
        labels[np.argmax(np.where(alone, -1.0, preference))] = label
    return labels
