"""From cells that have an embedding and a label to any others.

Each is placed at a weighted mean of the nearest of them, and has one of their labels: that whose mean profile is most
like its own.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from .affinities.neighborhoods import scatter_rows
from .blocks import check_finite, map_blocks, stack
from .metric import UndefinedCellsError
from .parallel import Progress, no_progress, numpy_defaults, one_blas_thread, row_blocks
from .profiles import MeanProfiles, Typicality
from .subspace import Subspace

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy import sparse

    from .metric import StandardRows

# A landmark nearer than this, in squared distance next to that of the farthest that is counted, is the cell itself.
SAME_PLACE = 1e-12
# What being a landmark of a label counts next to a share of the vote.
TIE_BREAK = 1e-9
# A cell farther out than so many times the farthest landmark is taken for one at that distance: squares of huge
# distances overflow, and from so far away its nearest landmarks are the same.
FARTHEST = 1e4


@dataclass(frozen=True, eq=False)
class Standardized:
    """Cells as a metric sees them in some genes, but for those of which these genes say nothing."""

    rows: StandardRows
    speaking: NDArray[np.intp]
    """Positions of the cells that have a row."""
    n_cells: int

    def project(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner products of cells with directions, genes × directions; 0 of those of which nothing is known."""
        products = np.zeros((self.n_cells, directions.shape[1]))
        products[self.speaking] = self.rows.project(directions)
        return products

    def squared_lengths(self) -> NDArray[np.float64]:
        """Squared length of each cell; those of which nothing is known are infinitely far from all."""
        squares = np.full(self.n_cells, np.inf)
        squares[self.speaking] = self.rows.squared_lengths()
        return squares


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

    def standardize(self, cells: Any, first: int) -> Standardized:
        """A block of rows, the first of which has this number in the data, as the metric sees them."""
        numbers = np.arange(first, first + cells.shape[0])
        check_finite(cells, numbers)
        metric = self.subspace.metric
        everyone = np.arange(cells.shape[0])
        if self.genes is None:
            return Standardized(metric.standardize(cells, numbers), everyone, len(everyone))
        part = cells[:, self.genes]
        try:
            return Standardized(metric.standardize(part, numbers), everyone, len(everyone))
        except UndefinedCellsError as error:
            mute = error.positions
            metric.standardize(cells[mute], numbers[mute])  # raises if all genes say nothing of a cell
        speaking = np.delete(everyone, mute)
        return Standardized(metric.standardize(part[speaking], numbers[speaking]), speaking, len(everyone))

    def weigh(self, cells: Standardized) -> sparse.csr_array:
        """Cells × landmarks."""
        coordinates = np.zeros((cells.n_cells, self.landmarks.shape[1]))  # the middle, where nothing is known of a cell
        coordinates[cells.speaking] = cells.rows.project(self.subspace.directions) - self.subspace.center
        coordinates *= _shrinkage(coordinates, self.landmarks)
        n_nearest = min(self.n_neighbors + 1, len(self.landmarks))
        search = NearestNeighbors(n_neighbors=n_nearest, algorithm="brute").fit(self.landmarks)
        distances, nearest = search.kneighbors(coordinates)
        weights = _weights(distances**2)
        return scatter_rows(nearest[:, : weights.shape[1]], weights, len(self.landmarks))


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
    weights = (reach - nearer) / np.maximum(nearer, SAME_PLACE * reach + np.finfo(float).tiny)
    total = weights.sum(axis=1, keepdims=True)
    return np.where(total > 0, weights, 1.0) / np.where(total > 0, total, nearer.shape[1])


@dataclass(frozen=True, eq=False)
class Placed:
    """What cells have from those that speak for them."""

    weights: sparse.csr_array
    """Cells × those that speak."""
    labels: NDArray[np.intp]
    shares: NDArray[np.float64]
    """Of the vote, that the label of each cell got."""
    squared_distances: NDArray[np.float64]
    """Of each cell from the mean profile of its label."""


@dataclass(frozen=True, eq=False)
class Speakers:
    """Cells with labels, which they give to others."""

    rule: Rule
    labels: NDArray[np.intp]
    n_labels: int
    profiles: MeanProfiles

    @classmethod
    @numpy_defaults
    @one_blas_thread
    def of(cls, rule: Rule, cells: Any, labels: NDArray[np.intp], n_labels: int) -> Speakers:
        """The rows of the dense or CSR matrix that the rule was made of."""
        rows = rule.subspace.metric.standardize(cells)
        return cls(rule, labels, n_labels, MeanProfiles.of(rows, labels, n_labels))

    def typicality(self, cells: Any) -> Typicality:
        """How typical these cells, of which the rule was made, are of their labels, to compare others with."""
        return Typicality.of(self.profiles, self.rule.subspace.metric.standardize(cells), self.labels)

    def __call__(self, cells: Any, first: int) -> Placed:
        """For a block of rows, the first of which has this number in the data."""
        standardized = self.rule.standardize(cells, first)
        weights = self.rule.weigh(standardized)
        nearness, squared = self.profiles.compare(standardized)
        shares = vote(weights, self.labels, self.n_labels)
        labels = choose(shares, nearness, self.rule.n_neighbors)
        each = np.arange(len(labels))
        return Placed(weights, labels, shares[each, labels], squared[each, labels])

    @numpy_defaults
    @one_blas_thread
    def place(self, matrix: Any, n_jobs: int | None = None, progress: Progress = no_progress) -> Placed:
        """For the rows of a matrix in memory or out of it, which is read once."""
        blocks = map_blocks(self, matrix, n_jobs, progress)
        return Placed(*(stack([getattr(each, part.name) for each in blocks]) for part in fields(Placed)))


def choose(shares: NDArray[np.float64], nearness: NDArray[np.float64], n_neighbors: int) -> NDArray[np.intp]:
    """The label of each cell: of those that its landmarks name, the one whose mean profile is nearest.

    Landmarks know the shape of clusters and their means know all genes, which tells rare clusters from cells between
    frequent ones. A label is named where its share of the vote is at least that of one of so many equal landmarks. The
    larger share decides where means are equally near, as they are to cells of which nothing is known.
    """
    named = shares >= (1 - TIE_BREAK) / n_neighbors
    nearness = np.where(named, nearness, -np.inf)
    return np.where(nearness == nearness.max(axis=1, keepdims=True), shares, -1.0).argmax(axis=1)


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
