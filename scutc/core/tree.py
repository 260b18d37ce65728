"""From views to labels: one tree of clusters, of which any number is a cut.

Every view votes on which cells belong together, at many numbers of clusters, and the tree counts the votes. Cut where
it has exactly k clusters it gives labels for any k, nested in each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from .views import Leaves, View, cut, roots

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from .solvers import Solution

# Numbers of clusters at which views vote, besides the one that the tree is for: evenly spread by their ratio, up to
# this many cells in each on average.
RESOLUTIONS = (2, 3, 4, 6, 8, 11, 16, 23)
MIN_MEAN_SIZE = 3
# A vote on half or twice as many clusters as are to be found counts by 2 to the power of −this: half.
FOCUS = 1.0
# Weight, next to the votes, of the tree of all orders together, which decides between cells on which no vote differs.
TIE_BREAK = 1e-6


@dataclass(frozen=True, eq=False)
class ClusterTree:
    """All clusterings at once: cells are merged until one cluster is left."""

    leaves: Leaves
    merges: NDArray[np.float64]
    """How leaves merge, in scipy's form; the distance rises with the part of the votes that separate two clusters."""
    views: Mapping[tuple[int, ...], View]
    """The embeddings that voted, by the orders that each knows of, all of them first."""

    def cut(self, n_clusters: int) -> NDArray[np.intp]:
        """Exactly ``n_clusters`` clusters, numbered by size."""
        if n_clusters > len(self.leaves):
            return number_by_size(cut(self._merges_of_cells, n_clusters))
        return number_by_size(cut(self.merges, n_clusters)[self.leaves.of_cells])

    def above(self, labels: NDArray[np.intp]) -> NDArray[np.float64]:
        """How the clusters of a cut merge, in scipy's form, where cluster i has the number i."""
        n_clusters = int(labels.max()) + 1
        merges, first = self._merges_of_cells, np.arange(len(labels))
        if n_clusters <= len(self.leaves):
            merges, first = self.merges, np.unique(self.leaves.of_cells, return_index=True)[1]
        n_below = len(merges) + 1 - n_clusters
        numbers = np.concatenate([labels[first], np.zeros(n_below, np.intp), np.arange(n_clusters, 2 * n_clusters - 1)])
        for node, child in enumerate(merges[:n_below, 0].astype(np.intp), len(first)):
            numbers[node] = numbers[child]
        tree = merges[n_below:].copy()
        tree[:, :2] = numbers[tree[:, :2].astype(np.intp)]
        n_merged = np.ones(2 * n_clusters - 1)
        for row, children in enumerate(tree[:, :2].astype(np.intp)):
            tree[row, 3] = n_merged[n_clusters + row] = n_merged[children].sum()
        return tree

    @cached_property
    def _merges_of_cells(self) -> NDArray[np.float64]:
        """The whole tree: inside a leaf, where no vote separates cells, they merge by Ward's criterion."""
        embedding = next(iter(self.views.values())).embedding
        n_cells, n_leaves = len(embedding), len(self.leaves)
        members = [np.flatnonzero(self.leaves.of_cells == leaf) for leaf in range(n_leaves)]
        inside = [linkage(pdist(embedding[cells]), "ward") if len(cells) > 1 else np.empty((0, 4)) for cells in members]
        owners = np.repeat(np.arange(n_leaves), [len(merges) for merges in inside])
        below = np.zeros((n_cells - n_leaves, 4))
        # Of each leaf the numbers that its cells, and then what they merge to, have in the whole tree.
        numbers = [list(cells) for cells in members]
        rows = [iter(merges) for merges in inside]
        for row, owner in enumerate(owners[np.argsort(np.concatenate([each[:, 2] for each in inside]), kind="stable")]):
            left, right, _, size = next(rows[owner])
            below[row] = numbers[owner][int(left)], numbers[owner][int(right)], 0.0, size
            numbers[owner].append(n_cells + row)
        tops = np.array([each[-1] for each in numbers])
        above = self.merges.copy()
        children = above[:, :2].astype(np.intp)
        above[:, :2] = np.where(
            children < n_leaves, tops[np.minimum(children, n_leaves - 1)], children + 2 * (n_cells - n_leaves)
        )
        return np.concatenate([below, above])


def make_views(solution: Solution) -> dict[tuple[int, ...], View]:
    """The views that a solution has of its cells, by the orders that each knows of, all of them first."""
    leaves = Leaves.of(solution.embedding)
    return {
        orders: View(embedding, leaves, nested=solution.nested) for orders, embedding in solution.embeddings.items()
    }


def grow_tree(views: Mapping[tuple[int, ...], View], n_clusters: int) -> ClusterTree:
    """The tree for which views vote, for so many clusters above all."""
    everything, *_ = views.values()
    return ClusterTree(everything.leaves, merge(views.values(), n_clusters), views)


def merge(views: Collection[View], n_clusters: int) -> NDArray[np.float64]:
    """Average linkage on the part of the votes that separate two leaves, in scipy's form.

    At each number of clusters those views vote whose clusters are separate, so that one that sees them is not outvoted
    by others that see nothing; all views, if none does. Which clusters there are is decided by the votes on as many as
    are asked for, or more, which say what cells are close. How these merge is decided by votes on fewer.
    """
    everything, *_ = views
    n_leaves = len(everything.leaves)
    if n_leaves < 2:
        return np.empty((0, 4))
    asked_for = min(n_clusters, n_leaves)
    numbers = {number for number in RESOLUTIONS if number * MIN_MEAN_SIZE <= n_leaves} | {max(asked_for, 2)}
    together = {number: votes_together(views, number) for number in sorted(numbers)}
    heights = cophenet(everything.trees[0])
    ties = TIE_BREAK * heights / (heights.max() or 1.0)
    finer = [number for number in together if number >= asked_for]
    weights = np.array([(asked_for / number) ** FOCUS for number in finer])
    votes = sum(weight * together[number] for weight, number in zip(weights, finer, strict=True)) / weights.sum()
    merges = linkage(np.maximum(squareform(1 - votes, checks=False), 0.0) + ties, "average")
    return merge_further(merges[: n_leaves - asked_for], together, squareform(ties))


def votes_together(views: Collection[View], n_clusters: int) -> NDArray[np.float64]:
    """For each two leaves the part of the views that put them together, of those that have so many clusters."""
    votes = [(view, view.partition(n_clusters)) for view in views]
    heard = [labels for view, labels in votes if view.separates(labels, n_clusters)] or [labels for _, labels in votes]
    members = np.hstack([np.eye(n_clusters)[labels] for labels in heard])
    return members @ members.T / len(heard)


def merge_further(
    merges: NDArray[np.float64], together: Mapping[int, NDArray[np.float64]], ties: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Go on with the first merges of a tree, by average linkage, on the votes about the number of clusters to come."""
    n_leaves = len(ties)
    nodes, labels, sizes = np.unique(roots(merges, n_leaves), return_inverse=True, return_counts=True)
    members = np.eye(len(nodes))[labels]
    layers = np.array([members.T @ layer @ members for layer in (*together.values(), -ties)]) / np.outer(sizes, sizes)
    numbers, rows = np.array(list(together)), list(merges)
    for n_clusters in range(len(nodes) - 1, 0, -1):
        weights = np.minimum(numbers / n_clusters, n_clusters / numbers) ** FOCUS
        closeness = np.tensordot(np.append(weights / weights.sum(), 1.0), layers, 1)
        np.fill_diagonal(closeness, -np.inf)
        kept, gone = np.unravel_index(np.argmax(closeness), closeness.shape)  # kept < gone
        height = max(1 - closeness[kept, gone], rows[-1][2] if rows else 0.0)
        n_merged = sizes[kept] + sizes[gone]
        rows.append(np.array([nodes[kept], nodes[gone], height, n_merged]))
        mean = (sizes[kept] * layers[:, kept] + sizes[gone] * layers[:, gone]) / n_merged
        layers[:, kept] = layers[:, :, kept] = mean
        nodes[kept], sizes[kept] = n_leaves + len(rows) - 1, n_merged
        nodes, sizes = np.delete(nodes, gone), np.delete(sizes, gone)
        layers = np.delete(np.delete(layers, gone, axis=1), gone, axis=2)
    return np.array(rows)


def number_by_size(labels: NDArray[np.intp]) -> NDArray[np.intp]:
    """Renumber labels 0, 1, … by decreasing size, ties by the first cell."""
    _, first, inverse, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    ranking = np.lexsort((first, -counts))
    return np.argsort(ranking)[inverse]
