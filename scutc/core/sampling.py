"""Drawing: evenly, in halves, and from groups, each in its turn or all in proportion but none left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def evenly_spread(n_items: int, n_wanted: int) -> NDArray[np.intp]:
    """Positions, ascending, of so many items at equal distances; of all if they are not more."""
    return np.linspace(0, n_items - 1, min(n_items, n_wanted)).astype(np.intp)


def halve(items: NDArray[np.intp], rng: np.random.Generator) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Two random halves, each ascending; of an odd number the first has one more."""
    shuffled = rng.permutation(items)
    middle = (len(items) + 1) // 2
    return np.sort(shuffled[:middle]), np.sort(shuffled[middle:])


def turns(groups: NDArray[np.intp]) -> NDArray[np.intp]:
    """For each item how many of its group stand before it."""
    by_group = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    turn = np.empty(len(groups), dtype=np.intp)
    turn[by_group] = np.arange(len(groups)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return turn


def draw_in_turn(groups: NDArray[np.intp], n_wanted: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Positions, ascending, of a random item of every group, then a second one where there is, until enough."""
    order = rng.permutation(len(groups))
    return np.sort(order[np.argsort(turns(groups[order]), kind="stable")[:n_wanted]])


def draw_in_proportion(
    groups: NDArray[np.intp], n_wanted: int, at_least: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Positions, ascending, of about so many random items, from each group in proportion but ``at_least`` so many.

    All of them if they are not more. Groups below 0 are left out.
    """
    grouped = np.flatnonzero(groups >= 0)
    if len(grouped) <= n_wanted:
        return grouped
    order = rng.permutation(grouped)
    sizes = np.bincount(groups[order])[groups[order]]
    return np.sort(order[turns(groups[order]) < np.maximum(at_least, sizes * (n_wanted / len(grouped)))])
