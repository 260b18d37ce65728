"""From cells that have an embedding and a label to any others: each is a weighted mean of the nearest of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .affinities.neighborhoods import scatter_rows
from .blocks import check_finite, map_blocks, stack
from .metric import Metric, UndefinedCellsError
from .parallel import Progress, no_progress, numpy_defaults, one_blas_thread, row_blocks
from .subspace import Subspace

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

# A landmark nearer than this, in squared distance next to that of the farthest that is counted, is the cell itself.
COINCIDENT = 1e-12
# What being a landmark of a label counts next to a share of the vote.
TIE_BREAK = 1e-9
# A cell farther out than so many times the farthest landmark is taken for one at that distance: squares of huge
# distances overflow, and from so far away its nearest landmarks are the same.
FARTHEST = 1e4


@dataclass(frozen=True, eq=False)
class Rule:
    """How a cell weighs its nearest landmarks, from where these lie: all that has to be sent to where blocks are read.

    Landmarks are the cells that speak, be they few that stand for many or all. Of a cell's m + 1 nearest, at squared
    distances d², the nearer m get weights ∝ (R² − d²) / d², where R² is that of the last. A cell that lies where a
    landmark does gets what that has; the weights have no jumps, since a landmark enters the nearest with weight 0; and
    a constant added to all large d², as in concentration, cancels.
    """

    subspace: Subspace
    landmarks: NDArray[np.float64]
    n_neighbors: int
    genes: NDArray[np.intp] | None = None
    """Positions of the genes that it looks at, if not all."""

    @classmethod
    @numpy_defaults
    @one_blas_thread
    def of(
        cls,
        landmarks: Any,
        metric: str,
        n_neighbors: int,
        n_jobs: int | None = None,
        numbers: NDArray[np.intp] | None = None,
        genes: NDArray[np.intp] | None = None,
    ) -> Rule:
        """The rule for the rows of a dense or CSR matrix; ``numbers`` are their numbers in the data, for errors.

        ``genes`` are the positions of their genes among those of the cells that it is for, if these have more.
        """
        subspace = Subspace.of(landmarks, metric, n_jobs, numbers)
        return cls(subspace, subspace.coordinates(landmarks, numbers), n_neighbors, genes)

    def __call__(self, cells: Any, first: int) -> sparse.csr_array:
        """Cells × landmarks, for a block of rows, the first of which has this number in the data."""
        numbers = np.arange(first, first + cells.shape[0])
        check_finite(cells, numbers)
        coordinates = self._coordinates(cells, numbers)
        coordinates *= _shrinkage(coordinates, self.landmarks)
        n_nearest = min(self.n_neighbors + 1, len(self.landmarks))
        search = NearestNeighbors(n_neighbors=n_nearest, algorithm="brute").fit(self.landmarks)
        distances, nearest = search.kneighbors(coordinates)
        weights = _weights(distances**2)
        return scatter_rows(nearest[:, : weights.shape[1]], weights, len(self.landmarks))

    def _coordinates(self, cells: Any, numbers: NDArray[np.intp]) -> NDArray[np.float64]:
        if self.genes is None:
            return self.subspace.coordinates(cells, numbers)
        part = cells[:, self.genes]
        try:
            return self.subspace.coordinates(part, numbers)
        except UndefinedCellsError as error:
            mute = error.positions
            self.subspace.metric.standardize(cells[mute], numbers[mute])  # raises if all genes say nothing of a cell
        # Only these genes do: then it lies in the middle.
        coordinates = np.zeros((cells.shape[0], self.landmarks.shape[1]))
        speaking = np.setdiff1d(np.arange(cells.shape[0]), mute)
        if len(speaking):
            coordinates[speaking] = self.subspace.coordinates(part[speaking], numbers[speaking])
        return coordinates

    @one_blas_thread
    def weights(self, matrix: Any, n_jobs: int | None = None, progress: Progress = no_progress) -> sparse.csr_array:
        """Cells × landmarks, rows add up to 1, for the rows of a matrix in memory or out of it."""
        return stack(map_blocks(self, matrix, n_jobs, progress))


def _shrinkage(coordinates: NDArray[np.float64], landmarks: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each cell the factor that brings it within reach, 1 for those that are."""
    largest = np.abs(coordinates).max(axis=1, keepdims=True)
    reach = FARTHEST * np.abs(landmarks).max(initial=0.0)
    return np.divide(reach, largest, out=np.ones_like(largest), where=largest > max(reach, np.finfo(float).tiny))


def _weights(squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Weights of all but the last of the nearest landmarks, from squared distances that rise along each row."""
    if squared.shape[1] == 1:
        return np.ones_like(squared)
    reach = squared[:, -1:]
    nearer = squared[:, :-1]
    weights = (reach - nearer) / np.maximum(nearer, COINCIDENT * reach + np.finfo(float).tiny)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights, 1.0) / np.where(total > 0, total, nearer.shape[1])


@dataclass(frozen=True, eq=False)
class Likeness:
    """How far cells lie from the mean of each label's cells, and how far these cells do themselves.

    The mean of n cells is itself off: squared distances from it are, of a cell that is not among them, 1 + 1 / n times
    as large as from what it estimates. They are divided by that, so that labels with few cells compare with others.
    """

    metric: Metric
    means: NDArray[np.float64]
    """Of the labels' cells, as the metric sees them: genes × labels."""
    sizes: NDArray[np.intp]
    """Number of cells of each label."""
    own: NDArray[np.float64]
    """Squared distances of all these cells from the mean of their label's other ones, ascending."""
    genes: NDArray[np.intp] | None = None
    """Positions of the genes that it looks at, if not all."""

    @classmethod
    @numpy_defaults
    @one_blas_thread
    def of(
        cls, rule: Rule, cells: Any, labels: NDArray[np.intp], n_labels: int, numbers: NDArray[np.intp] | None = None
    ) -> Likeness:
        """That of the rows of a dense or CSR matrix, the cells that the rule was made of."""
        metric = rule.subspace.metric
        rows = metric.standardize(cells, numbers)
        sizes = np.bincount(labels, minlength=n_labels)
        means = rows.combine(np.eye(n_labels)[labels]) / np.maximum(sizes, 1)
        distances = _squared_distances(rows, means)[np.arange(len(labels)), labels]
        # The mean of the n − 1 others follows from that of all: from it a cell is n / (n − 1) times as far.
        several = sizes[labels] > 1
        n = sizes[labels][several]
        own = distances[several] * n / (n - 1)
        return cls(metric, means, sizes, np.sort(own), rule.genes)

    def __call__(self, cells: Any) -> NDArray[np.float64]:
        """Squared distances of the rows of a dense or CSR matrix from the labels' means."""
        part = cells if self.genes is None else cells[:, self.genes]
        distances = np.full((part.shape[0], self.means.shape[1]), np.inf)
        speaking = np.arange(part.shape[0])
        try:
            rows = self.metric.standardize(part)
        except UndefinedCellsError as error:  # these genes say nothing of some cells, which are like none
            speaking = np.delete(speaking, error.positions)
            if not len(speaking):
                return distances
            rows = self.metric.standardize(part[speaking])
        distances[speaking] = _squared_distances(rows, self.means)
        return distances

    def typicality(self, distances: NDArray[np.float64], labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """For each cell the share of the labelled cells that lie as far from the mean of their label, it among them.

        If it is like one of them, this is below any number with that probability at most (a conformal p-value).
        """
        n = self.sizes[labels]
        n_nearer = np.searchsorted(self.own, distances[np.arange(len(labels)), labels] * (n / (n + 1)))
        return (1 + len(self.own) - n_nearer) / (1 + len(self.own))


def _squared_distances(rows: Any, means: NDArray[np.float64]) -> NDArray[np.float64]:
    """Between standard rows and points, genes × points, exactly 0 where they coincide."""
    lengths = rows.squared_lengths()[:, None] + np.einsum("ij,ij->j", means, means)
    squared = lengths - 2 * rows.project(means)
    squared[squared <= COINCIDENT * lengths] = 0.0
    return squared


class Placed(NamedTuple):
    """What cells get from those that speak for them."""

    embedding: NDArray[np.float64]
    shares: NDArray[np.float64]
    """Of the vote, that each label has in each cell."""
    distances: NDArray[np.float64]
    """Squared, from the mean of each label's cells; without columns where they were not asked for."""


@dataclass(frozen=True, eq=False)
class Speakers:
    """Cells, with their embedding and labels, that give both to others."""

    rule: Rule
    embedding: NDArray[np.float64]
    labels: NDArray[np.intp]
    n_labels: int
    likeness: Likeness | None = None

    def __call__(self, cells: Any, first: int) -> tuple[sparse.csr_array, NDArray[np.float64]]:
        """Weights and distances for a block of rows, the first of which has this number in the data."""
        weights = self.rule(cells, first)
        return weights, np.empty((cells.shape[0], 0)) if self.likeness is None else self.likeness(cells)

    @numpy_defaults
    @one_blas_thread
    def place(self, matrix: Any, n_jobs: int | None = None, progress: Progress = no_progress) -> Placed:
        """What the rows of a matrix get, which is read once."""
        blocks = map_blocks(self, matrix, n_jobs, progress)
        weights, distances = map(stack, zip(*blocks, strict=True))
        return Placed(weights @ self.embedding, vote(weights, self.labels, self.n_labels), distances)


def vote(
    weights: sparse.csr_array,
    labels: NDArray[np.intp],
    n_labels: int,
    confidence: NDArray[np.float64] | float = 1.0,
) -> NDArray[np.float64]:
    """For each cell the share of its landmarks' weights that each label has, less where landmarks are less sure."""
    return np.minimum(weights @ (np.eye(n_labels)[labels].T * confidence).T, 1.0)  # of which rounding may make more


def descend(shares: NDArray[np.float64], tree: NDArray[np.float64]) -> NDArray[np.intp]:
    """The label of each cell, from the share of each: from the root of the labels' tree down to where most of it is.

    So a cell's labels for fewer clusters, which are nested in each other, contain those for more.
    """
    n_labels = shares.shape[1]
    children = tree[:, :2].astype(np.intp)
    labels = np.empty(len(shares), dtype=np.intp)
    for rows in row_blocks(len(shares), 2 * n_labels):
        of_nodes = np.zeros((rows.stop - rows.start, 2 * n_labels - 1))
        of_nodes[:, :n_labels] = shares[rows]
        for node, (left, right) in enumerate(children, n_labels):
            of_nodes[:, node] = of_nodes[:, left] + of_nodes[:, right]
        place = np.full(len(of_nodes), 2 * n_labels - 2)
        for node in range(2 * n_labels - 2, n_labels - 1, -1):
            left, right = children[node - n_labels]
            here = np.flatnonzero(place == node)
            place[here] = np.where(of_nodes[here, left] >= of_nodes[here, right], left, right)
        labels[rows] = place
    return labels


def elect(
    labels: NDArray[np.intp],
    shares: NDArray[np.float64],
    landmarks: NDArray[np.intp],
    labels_of_landmarks: NDArray[np.intp],
) -> NDArray[np.intp]:
    """Labels of all cells from those that each would have, but every label for one cell at least.

    A label that no cell would have goes to the cell with the largest share of it, or to one that is its landmark.
    """
    labels = labels.copy()
    for label in np.setdiff1d(np.arange(shares.shape[1]), labels):
        preference = shares[:, label].copy()
        preference[landmarks[labels_of_landmarks == label]] += TIE_BREAK
        alone = np.bincount(labels, minlength=shares.shape[1])[labels] == 1
        labels[np.argmax(np.where(alone, -1.0, preference))] = label
    return labels
