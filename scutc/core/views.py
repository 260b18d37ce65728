"""Clusters in one embedding, for any number of them and without a random start.

Every embedding of the cells is a view: by all orders together, by one order alone, or by a half of the genes. Views are
compared with each other, so nothing in their clusters may be left to chance.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

from .affinities.neighborhoods import scatter_rows
from .mixture import Cells, fit_mixture
from .sampling import evenly_spread

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Columns of an embedding that trees see. They are the same for every number of clusters, so that the trees are.
N_DIRECTIONS = 20
# Number of small clusters whose common covariance is taken for that of larger ones, fewer of few cells.
N_SMALL, MIN_MEAN_SIZE_OF_SMALL = 12, 4
# Beyond so many cells groups of near ones are clustered in their place: time grows with the square of the number.
MAX_LEAVES = 500
# Steps of the k-means that makes these groups. They need not be the best ones.
MAX_GROUPING_STEPS = 10


@dataclass(frozen=True, eq=False)
class Leaves:
    """Groups of cells that lie close to each other and stay together; where cells are few, each is one by itself."""

    of_cells: NDArray[np.intp]
    """The leaf of each cell."""
    sizes: NDArray[np.float64]
    """Number of cells in each leaf."""

    @classmethod
    def of(cls, embedding: NDArray[np.float64], n_leaves: int | None = None) -> Leaves:
        """At most so many leaves of the cells of an embedding."""
        n_cells, n_leaves = len(embedding), n_leaves or MAX_LEAVES
        if n_cells <= n_leaves:
            return cls(np.arange(n_cells), np.ones(n_cells))
        # Here, since its import would take a tenth of the time in which a few hundred cells are clustered.
        from sklearn.cluster import KMeans

        points = embedding[:, :N_DIRECTIONS]
        along_the_first = np.argsort(points[:, 0], kind="stable")
        start = points[along_the_first[evenly_spread(n_cells, n_leaves)]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of fewer places than leaves
            groups = KMeans(n_leaves, init=start, n_init=1, max_iter=MAX_GROUPING_STEPS).fit_predict(points)
        _, of_cells, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        return cls(of_cells, sizes.astype(np.float64))

    def __len__(self) -> int:
        return len(self.sizes)

    def means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean of the rows of each leaf's cells."""
        if len(self) == len(values):
            return values
        members = scatter_rows(self.of_cells[:, None], np.ones((len(values), 1)), len(self))
        return members.T @ values / self.sizes[:, None]


class View:
    """An embedding, and the clusters in it.

    Parameters
    ----------
    embedding
        Cells × directions, by falling length.
    leaves
        The groups of cells that are clustered; each cell by itself if they are not given.
    nested
        Whether fewer clusters are sought in fewer directions.
    """

    def __init__(self, embedding: NDArray[np.float64], leaves: Leaves | None = None, *, nested: bool = True) -> None:
        self.embedding = embedding
        self.leaves = Leaves.of(embedding, len(embedding)) if leaves is None else leaves
        self._nested = nested
        # Of columns that belong together none is left out.
        self._n_directions_of_trees = N_DIRECTIONS if nested else embedding.shape[1]
        self._points = self.leaves.means(embedding)
        self._scatter = embedding.T @ embedding
        self._lengths = np.append(np.sqrt(np.diag(self._scatter)), [0.0, 0.0])
        self._partitions: dict[int, NDArray[np.intp]] = {}

    def __getstate__(self) -> dict[str, Any]:
        # A view is the same whatever has been asked of it.
        return self.__dict__ | {"_partitions": {}}

    def n_directions(self, n_clusters: int) -> int:
        """Number of leading directions in which so many clusters are sought.

        In theory k clusters need k − 1 directions. One more, in case that one is spent on something else, measured
        better, unless more strength is lost after k − 1 directions than after k: a cut between equals is arbitrary.
        """
        if not self._nested:
            return self.embedding.shape[1]
        if n_clusters < 2 or n_clusters > self.embedding.shape[1]:
            return min(max(n_clusters, 1), self.embedding.shape[1])
        last, next_to, after = self._lengths[n_clusters - 2 : n_clusters + 1]
        return n_clusters - 1 if last - next_to > next_to - after else n_clusters

    def points(self, n_clusters: int) -> NDArray[np.float64]:
        """Where cells lie in the directions in which so many clusters are sought."""
        return self.embedding[:, : self.n_directions(n_clusters)]

    def labels(self, n_clusters: int) -> NDArray[np.intp]:
        """The likeliest so many clusters of the cells, some of which may not occur."""
        return self.partition(n_clusters)[self.leaves.of_cells]

    def partition(self, n_clusters: int) -> NDArray[np.intp]:
        """The same of the leaves, found once: the tree, the number of clusters and cuts all ask for it."""
        if n_clusters >= len(self.leaves):
            return np.arange(len(self.leaves))
        if n_clusters not in self._partitions:
            cells = self._cells(self.n_directions(n_clusters))
            mixtures = [fit_mixture(cells, cut(merges, n_clusters), n_clusters) for merges in self.trees]
            self._partitions[n_clusters] = max(mixtures, key=lambda mixture: mixture.likelihood).labels
        return self._partitions[n_clusters]

    @cached_property
    def trees(self) -> list[NDArray[np.float64]]:
        """Merges of the leaves to start from: to compact clusters, to distant ones, and to ones of any common shape.

        The last are merged by Ward's criterion in the common covariance of many small clusters.
        """
        distances = pdist(self._points[:, : self._n_directions_of_trees])
        compact, distant = (linkage(distances, method) for method in ("ward", "average"))
        n_small = min(N_SMALL, max(1, len(self.leaves) // MIN_MEAN_SIZE_OF_SMALL))
        cells = self._cells(self._n_directions_of_trees)
        small = fit_mixture(cells, cut(compact, n_small), n_small).labels
        shaped = linkage(pdist(cells.whitened(small)), "ward")
        return [compact, distant, shaped]

    def _cells(self, n_directions: int) -> Cells:
        scatter = self._scatter[:n_directions, :n_directions]
        return Cells(self._points[:, :n_directions], self.leaves.sizes, scatter)

    def separates(self, labels: NDArray[np.intp], n_clusters: int) -> bool:
        """Whether clusters of the leaves are tighter than if the cells were spread evenly.

        k parts of an even spread in d dimensions, each of the same shape as the whole, have k^(−2/d) of its variance.
        """
        n_directions = self.n_directions(n_clusters)
        points, sizes = self._points[:, :n_directions], self.leaves.sizes
        members = np.eye(n_clusters)[labels] * sizes[:, None]
        total = np.trace(self._scatter[:n_directions, :n_directions])
        of_clusters = members.sum(axis=0)
        centers = members.T @ points / np.maximum(of_clusters, 1.0)[:, None]
        within = total - (of_clusters @ centers**2).sum()
        around = total - ((sizes @ points / sizes.sum()) ** 2).sum() * sizes.sum()
        return bool(within < around * n_clusters ** (-2 / n_directions))


def cut(merges: NDArray[np.float64], n_clusters: int) -> NDArray[np.intp]:
    """Exactly ``n_clusters`` clusters, or as many as cells, by the first merges of a tree in scipy's form."""
    n_cells = len(merges) + 1
    return np.unique(roots(merges[: max(n_cells - n_clusters, 0)], n_cells), return_inverse=True)[1]


def roots(merges: NDArray[np.float64], n_cells: int) -> NDArray[np.intp]:
    """For each cell the number of the node that it belongs to after the first merges of a tree in scipy's form."""
    parents = np.arange(n_cells + len(merges))
    parents[merges[:, :2].astype(np.intp)] = np.arange(n_cells, len(parents))[:, None]
    while True:
        grandparents = parents[parents]
        if np.array_equal(grandparents, parents):
            return parents[:n_cells]
        parents = grandparents
