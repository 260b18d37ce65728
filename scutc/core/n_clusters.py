"""How many clusters: as many as come back in halves of the genes and are separate in every order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import entropy

from .confidence import cross_table, silhouettes
from .genes import MIN_CELLS
from .tree import MIN_MEAN_SIZE
from .warn import warn

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from .replicates import Replicates
    from .settings import Settings
    from .solvers import Solution
    from .views import View

MAX_CLUSTERS = 20
ROUNDING = 1e-9
# What a silhouette of 1 is worth, in nats of information. Chosen on 40 labelled sets, with the same result (39 times)
# or one next to it whichever of them was left out; from 4 to 6 mean ARI differs by less than its standard error.
WORTH_OF_SEPARATION = 5.0
# Where there are clusters, so large a part of the labels' information comes back. A population that is cut in half
# along a gradient, such as the depth of its cells, keeps less.
MIN_REPRODUCED = 2 / 3
# And more comes back than does not, by as much as if a cluster of this part of the cells, or of this number if that is
# more, came back wholly: a few outliers, such as the shallowest cells, come back in any genes and are no population.
SMALLEST_PART, SMALLEST_NUMBER = 0.02, 5


@dataclass(frozen=True, eq=False)
class NClustersEstimate:
    """The chosen number, and what is known of every candidate."""

    n_clusters: int
    candidates: NDArray[np.intp]
    scores: NDArray[np.float64]
    """Of each candidate; the highest one is chosen."""
    spread: NDArray[np.float64]
    """Standard deviation of the score over the halves."""
    reproduced: NDArray[np.float64]
    """The part of the labels' information that comes back."""
    rule: str
    """How it was chosen."""


def estimate_n_clusters(
    solution: Solution, views: Mapping[tuple[int, ...], View], replicates: Replicates | None, settings: Settings
) -> NClustersEstimate:
    """The number of clusters with the highest I − (H − I) + b S.

    H is the information in the labels, their entropy, and I the part of it that comes back in halves of the genes: what
    both show counts for a number, what only one shows against it. S is the mean silhouette, in each order by itself.
    One cluster where at every number too little comes back. Without halves the single orders stand for them; they share
    the noise of the genes, and so cannot tell that there is nothing.
    """
    n_cells = len(solution.embedding)
    candidates = range(2, min(MAX_CLUSTERS, n_cells // MIN_MEAN_SIZE) + 1)
    if not candidates or not solution.spectrum[0] > 0:
        if candidates:
            warn("One cluster, since the cells do not differ.")
        else:
            warn(
                f"One cluster, since {n_cells} cells (or landmarks) are too few to estimate a number: give n_clusters."
            )
        nothing = np.zeros(1)
        return NClustersEstimate(1, np.array([1]), nothing, nothing, nothing, "no structure, or too few cells")
    settings.report(f"number of clusters: {candidates[0]} to {candidates[-1]}")
    orders = [views[order,] for order in solution.orders]
    cells = np.arange(n_cells)
    if replicates:
        cells, others = replicates.cells, replicates.halves
        rule = "what comes back in halves of the genes, and separation"
    elif len(orders) > 1:
        others, rule = orders, "what single orders share, and separation"
    else:
        others, rule = [], "separation"
    if not replicates:
        few = f"{n_cells} cells are too few" if n_cells < MIN_CELLS else "there are no genes, too few, or n_splits is 0"
        msg = f"Halves of the genes were not compared ({few}): whether there are any clusters cannot be told."
        warn(msg)
    for number in settings.progress(candidates):  # which takes the time: views keep what they find
        for view in (views[solution.orders], *others):
            view.partition(number)
    labels = {number: views[solution.orders].labels(number) for number in candidates}
    shown = {number: labels[number][cells] for number in candidates}
    entropies = np.array([entropy(np.bincount(shown[number])) for number in candidates])
    information = np.array([[mutual_information(shown[k], view.labels(k)) for k in candidates] for view in others])
    if not others:  # nothing to compare with: as much speaks for a number as against it
        information = entropies[None] / 2
    separation = [
        np.mean([silhouettes(order.embedding[:, :number], labels[number], number) for order in orders])
        for number in candidates
    ]
    surplus = 2 * information - entropies
    scores = surplus + WORTH_OF_SEPARATION * np.array(separation)
    reproduced = np.divide(information.mean(axis=0), entropies, out=np.zeros(len(candidates)), where=entropies > 0)
    n_clusters = candidates[np.argmax(scores.mean(axis=0))]
    enough = (reproduced >= MIN_REPRODUCED) & (surplus.mean(axis=0) >= least_surplus(len(cells)))
    if replicates and not enough.any():
        msg = (
            "Too little is the same in halves of the genes for there to be clusters: one cluster. Give n_clusters to "
            "divide the cells all the same."
        )
        warn(msg)
        n_clusters = 1
    return NClustersEstimate(
        n_clusters, np.array(candidates), scores.mean(axis=0), scores.std(axis=0), reproduced, rule
    )


def least_surplus(n_cells: int) -> float:
    """The nats that must come back beyond those that do not, among so many cells, for there to be clusters."""
    part = max(SMALLEST_PART, SMALLEST_NUMBER / n_cells)
    by_chance = 1 / (2 * n_cells)  # of two clusters, which is taken off what comes back
    return float(entropy([part, 1 - part])) - 2 * by_chance - ROUNDING


def mutual_information(labels: NDArray[np.intp], others: NDArray[np.intp]) -> float:
    """What labels say about others, in nats, less what they are expected to say by chance (Miller and Madow)."""
    counts = cross_table(labels, others)
    sums = counts.sum(axis=1), counts.sum(axis=0)
    by_chance = np.prod([np.count_nonzero(each) - 1 for each in sums]) / (2 * len(labels))
    return float(entropy(sums[0]) + entropy(sums[1]) - entropy(counts.ravel()) - by_chance)
