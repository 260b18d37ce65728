"""The method from end to end on arrays: settings and a matrix in, a model out, which is cut and extended."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from .blocks import as_rows, check_finite, in_memory, read_rows
from .confidence import agree_beyond_chance, confidence, stability
from .extension import TIE_BREAK, Placed, Rule, Speakers, descend, elect, vote
from .genes import GeneScreen, screen_genes
from .geometry import Geometry
from .landmarks import choose_landmarks, number_of_landmarks
from .n_clusters import NClustersEstimate, estimate_n_clusters
from .parallel import Progress, no_progress, numpy_defaults, one_blas_thread
from .replicates import Replicates, replicate
from .solvers import SOLVERS, Solution, solve_spectral
from .tree import ClusterTree, grow_tree, make_views, number_by_size
from .warn import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .settings import Settings


@dataclass(frozen=True, eq=False)
class Embedded:
    """The cells that the solver embeds: all of them, or landmarks with the mean profile of the cells around each."""

    rows: Any
    """Dense or CSR, a row for each, a column for each gene that is kept."""
    screen: GeneScreen | None = None
    """How genes were judged, where they were."""
    landmarks: NDArray[np.intp] | None = None
    """Their numbers in the data, if they are landmarks."""
    rule: Rule | None = None
    """How landmarks speak for all other cells."""

    @property
    def genes(self) -> NDArray[np.intp] | None:
        """Positions of the genes that are kept, if not all."""
        return None if self.screen is None or self.screen.kept.all() else np.flatnonzero(self.screen.kept)


@dataclass(frozen=True, eq=False)
class Clustering:
    """One way to cut the embedding."""

    labels: NDArray[np.intp]
    """Cluster of each cell, numbered by decreasing size."""
    agreement: dict[int, float]
    """For each order the adjusted Rand index between its own clustering and the labels."""
    confidence: NDArray[np.float64]
    """How sure each cell's label is, from 0 to 1."""
    stability: NDArray[np.float64]
    """How well each cluster is found again in halves of the genes, or without these in single orders, from 0 to 1.

    Missing where there is but one view."""
    votes: NDArray[np.signedinteger[Any]]
    """Cells × views: the clusters that all orders together find, each order alone, and each half of the genes; −1 for
    cells that were not looked at."""
    tree: NDArray[np.float64]
    """How the clusters merge, in scipy's form."""
    labels_of_embedded: NDArray[np.intp]
    """The same clusters, of the cells that were embedded: the landmarks, if there are any."""


@dataclass(frozen=True, eq=False)
class Model:
    """What was found: an embedding that can be cut into any number of clusters and extended to new cells."""

    settings: Settings
    embedded: Embedded
    solution: Solution
    tree: ClusterTree
    n_clusters: int
    estimate: NClustersEstimate | None
    """How the number of clusters was found, where it was not given."""
    replicates: Replicates | None = None
    """What halves of the genes show, where there are enough of them."""
    placed: Placed | None = None
    """What all cells have from landmarks, if there are any: of the clusters that the tree was grown for."""

    @property
    def embedding(self) -> NDArray[np.float64]:
        """Where all cells lie, in at least two dimensions for a picture."""
        embedding = self._embedding_of_embedded
        return embedding if self.placed is None else self.placed.weights @ embedding

    @numpy_defaults
    @one_blas_thread
    def cut(self, n_clusters: int) -> Clustering:
        """So many clusters; a warning where halves of the genes agree on them no better than by chance."""
        halves = [] if self.replicates is None else self.replicates.partitions(n_clusters)
        estimated = self.estimate is not None and n_clusters == self.n_clusters
        if not estimated and not agree_beyond_chance(halves, n_clusters, self.settings.seed):
            msg = (
                f"{n_clusters} clusters are no more reproducible than in data whose genes are permuted one by one: two "
                "halves of the genes agree on them no better than by chance."
            )
            warn(msg)
        labels = labels_of_all = self.tree.cut(n_clusters)
        sure = confidence(self.tree.views.values(), labels, n_clusters)
        landmarks, placed = self.embedded.landmarks, self.placed
        if landmarks is not None and placed is not None:
            labels, labels_of_all = self._labels_of_all(labels, landmarks, placed)
            shares = vote(placed.weights, labels, n_clusters, sure)
            sure = shares[np.arange(len(shares)), labels_of_all]
        by_views = {orders: view.labels(n_clusters) for orders, view in self.tree.views.items()}
        alone = {orders[0]: found for orders, found in by_views.items() if len(orders) == 1}
        return Clustering(
            labels=labels_of_all,
            agreement={order: float(adjusted_rand_score(labels, found)) for order, found in alone.items()},
            confidence=sure,
            stability=self._stability(labels, list(alone.values()), halves),
            votes=self._votes(list(by_views.values()), halves, len(labels_of_all)),
            tree=self.tree.above(labels),
            labels_of_embedded=labels,
        )

    def extend(
        self, clustering: Clustering, matrix: Any, n_jobs: int | None = None, progress: Progress = no_progress
    ) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The embedding and the labels of new cells, the rows of a matrix."""
        n_clusters = int(clustering.labels.max()) + 1
        speakers = Speakers.of(self.rule, self.embedded.rows, clustering.labels_of_embedded, n_clusters)
        placed = speakers.place(matrix, n_jobs, progress)
        return placed.weights @ self._embedding_of_embedded, placed.labels

    @cached_property
    def rule(self) -> Rule:
        """How the embedded cells speak for others: made when it is first needed, as it takes a while for many cells."""
        return self.embedded.rule or make_rule(self.embedded, self.settings)

    def __getstate__(self) -> dict[str, Any]:
        # A model is the same whether it has been extended or not.
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def _labels_of_all(
        self, labels: NDArray[np.intp], landmarks: NDArray[np.intp], placed: Placed
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Labels of the landmarks and of all cells, from the former, numbered by the size of the latter.

        Fewer clusters are made of the fitted ones, and more are parts of them, so that they are nested for all cells.
        """
        n_clusters, fitted = int(labels.max()) + 1, self.tree.cut(self.n_clusters)
        elected = elect(placed.labels, vote(placed.weights, fitted, self.n_clusters), landmarks, fitted)
        if n_clusters <= self.n_clusters:
            coarser = np.empty(self.n_clusters, dtype=np.intp)
            coarser[fitted] = labels
            elected = coarser[elected]
        else:
            wholes = np.empty(n_clusters, dtype=np.intp)
            wholes[labels] = fitted
            shares = vote(placed.weights, labels, n_clusters) + TIE_BREAK
            shares *= wholes == elected[:, None]
            elected = elect(descend(shares, self.tree.above(labels)), shares, landmarks, labels)
        labels_of_all = number_by_size(elected)
        renumbered = np.empty(n_clusters, dtype=np.intp)
        renumbered[elected] = labels_of_all
        return renumbered[labels], labels_of_all

    def _stability(
        self, labels: NDArray[np.intp], alone: list[NDArray[np.intp]], halves: list[NDArray[np.intp]]
    ) -> NDArray[np.float64]:
        n_clusters = int(labels.max()) + 1
        if self.replicates is not None:
            return stability(labels[self.replicates.cells], halves, n_clusters)
        # A single view is the clustering itself, which says nothing of how stable it is.
        return stability(labels, alone, n_clusters) if len(alone) > 1 else np.full(n_clusters, np.nan)

    def _votes(
        self, views: list[NDArray[np.intp]], halves: list[NDArray[np.intp]], n_cells: int
    ) -> NDArray[np.signedinteger[Any]]:
        """Cells × views, the clusters of each numbered by size."""
        n_clusters = 1 + max(int(labels.max()) for labels in views)
        votes = np.full(
            (n_cells, len(views) + len(halves)),
            -1,
            dtype=np.int16 if n_clusters <= np.iinfo(np.int16).max else np.int32,
        )
        embedded = np.arange(n_cells) if self.embedded.landmarks is None else self.embedded.landmarks
        for column, labels in enumerate(views):
            votes[embedded, column] = number_by_size(labels)
        if self.replicates is not None:
            for column, labels in enumerate(halves, len(views)):
                votes[embedded[self.replicates.cells], column] = number_by_size(labels)
        return votes

    @property
    def _embedding_of_embedded(self) -> NDArray[np.float64]:
        return self.solution.embedding[:, : max(2, self.n_clusters)]


@numpy_defaults
@one_blas_thread
def fit(matrix: Any, settings: Settings) -> Model:
    """Embed the cells, the rows of a matrix in memory or out of it, and find how many clusters there are."""
    embedded = choose_embedded(matrix, settings)
    settings.report(f"distances between {embedded.rows.shape[0]} cells")
    geometry = Geometry.of(embedded.rows, settings.metric, settings.n_jobs)
    replicates = replicate(embedded.rows, settings)
    n_clusters, estimate, solution = settings.n_clusters, None, None
    solve = SOLVERS[settings.solver]
    if n_clusters is None:  # estimated from the spectral solution, whatever the solver
        solution = solve_spectral(geometry, settings, 1)
        views = make_views(solution)
        estimate = estimate_n_clusters(solution, views, replicates, settings)
        n_clusters = estimate.n_clusters
    if solution is None or solve is not solve_spectral:
        solution = solve(geometry, settings, n_clusters, **settings.solver_params)
        views = make_views(solution)
    tree = grow_tree(views, n_clusters)
    placed = None
    if embedded.rule is not None:
        settings.report(f"{matrix.shape[0]} cells from their nearest landmarks")
        speakers = Speakers.of(embedded.rule, embedded.rows, tree.cut(n_clusters), n_clusters)
        placed = speakers.place(matrix, settings.n_jobs, settings.progress)
    return Model(settings.without_company(), embedded, solution, tree, n_clusters, estimate, replicates, placed)


def choose_embedded(matrix: Any, settings: Settings) -> Embedded:
    """All cells where they are few, else landmarks and how they speak for all."""
    n_cells = matrix.shape[0]
    n_jobs, progress = settings.n_jobs, settings.progress
    n_landmarks = number_of_landmarks(settings.n_landmarks, n_cells)
    if n_landmarks is None:
        rows = as_rows(matrix) if in_memory(matrix) else read_rows(matrix, np.arange(n_cells), n_jobs, progress)
        check_finite(rows)
        return keep_genes(Embedded(rows), settings)
    settings.report(f"{n_landmarks} landmarks for {n_cells} cells")
    chosen = choose_landmarks(matrix, n_landmarks, settings.metric, settings.seed, n_jobs, progress)
    embedded = keep_genes(Embedded(chosen.profiles, landmarks=chosen.cells), settings)
    return replace(embedded, rule=make_rule(embedded, settings))


def keep_genes(embedded: Embedded, settings: Settings) -> Embedded:
    """Leave the genes out that only add noise."""
    if not settings.screen_genes:
        return embedded
    settings.report(f"structure in {embedded.rows.shape[1]} genes")
    embedded = replace(embedded, screen=screen_genes(embedded.rows, settings, embedded.landmarks))
    return embedded if embedded.genes is None else replace(embedded, rows=embedded.rows[:, embedded.genes])


def make_rule(embedded: Embedded, settings: Settings) -> Rule:
    """How the embedded cells speak for others."""
    return Rule.of(
        embedded.rows, settings.metric, settings.n_neighbors, settings.n_jobs, embedded.landmarks, embedded.genes
    )
