"""Halves of the genes as replicates: the same cells seen twice, with independent noise.

Few cells cannot be split to see whether a finding comes back, but their genes can.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .affinities.base import MIN_SAMPLE
from .genes import MIN_CELLS, MIN_GENES
from .geometry import Geometry
from .metric import METRICS, UndefinedCellsError
from .sampling import evenly_spread, halve
from .settings import no_report
from .solvers import solve_all_orders
from .views import Leaves, View

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from .settings import Settings

# "auto": so many times the genes are halved where the number of clusters is to be found, for which more than a few are
# needed lest it depend on how they fell, and where it is given.
SPLITS_TO_ESTIMATE, SPLITS_IF_GIVEN = 4, 1
# Of random numbers, other than that of the screening of genes.
STREAM = 1
# So many cells, evenly spread, tell what comes back.
MAX_CELLS = 1000


@dataclass(frozen=True, eq=False)
class Replicates:
    """The cells as halves of their genes show them."""

    cells: NDArray[np.intp]
    """Positions of the cells that were looked at: all, or those that stand for many."""
    halves: list[View]
    """How each half sees them, all orders together; two that follow each other are those of one split."""

    def partitions(self, n_clusters: int) -> list[NDArray[np.intp]]:
        """For each half the labels of its cells."""
        return [half.labels(n_clusters) for half in self.halves]


def number_of_splits(wanted: int | str, *, estimate: bool) -> int:
    """The number that ``"auto"`` stands for."""
    if wanted == "auto":
        return SPLITS_TO_ESTIMATE if estimate else SPLITS_IF_GIVEN
    return int(wanted)


def replicate(rows: Any, settings: Settings) -> Replicates | None:
    """Embed the rows of a dense or CSR matrix by halves of its columns; ``None`` where there are too few of either."""
    n_splits = number_of_splits(settings.n_splits, estimate=settings.n_clusters is None)
    n_genes = rows.shape[1]
    if not n_splits or n_genes < MIN_GENES:
        return None
    rng = np.random.default_rng([settings.seed, n_genes, STREAM])
    halves = [half for _ in range(n_splits) for half in halve(np.arange(n_genes), rng)]
    cells = comparable_cells(rows, halves, settings.metric)
    if len(cells) < MIN_CELLS:
        return None
    settings.report(f"{len(halves)} halves of the genes")
    # As few anchors and pairs as many cells have: twice as many gave no better numbers of clusters.
    of_a_half = replace(settings, n_anchors=MIN_SAMPLE, n_pairs=MIN_SAMPLE, report=no_report)
    some, views = rows[cells], []
    for half in settings.progress(halves):
        geometry = Geometry.of(some[:, half], settings.metric, settings.n_jobs)
        embedding = solve_all_orders(geometry, of_a_half).embedding
        views.append(View(embedding, Leaves.of(embedding)))
    return Replicates(cells, views)


def comparable_cells(rows: Any, halves: Sequence[NDArray[np.intp]], metric: str) -> NDArray[np.intp]:
    """Positions of evenly spread cells, without those that one of the halves says nothing of."""
    cells = evenly_spread(rows.shape[0], MAX_CELLS)
    for half in halves:
        try:
            part = rows[cells][:, half]
            METRICS[metric].of(part).standardize(part)
        except UndefinedCellsError as error:
            cells = np.delete(cells, error.positions)
            if len(cells) < MIN_CELLS:
                break
    return cells
