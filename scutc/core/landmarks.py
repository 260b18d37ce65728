"""Landmarks: cells that cover the data and stand for all of it, each with the mean profile of the cells around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from .affinities.neighborhoods import scatter_rows
from .blocks import check_finite, map_blocks, read_rows
from .parallel import Progress, map_row_blocks, no_progress
from .sampling import draw_in_turn
from .subspace import Subspace

if TYPE_CHECKING:
    from numpy.typing import NDArray

# "auto": up to so many cells each is looked at for itself. More would take over ten seconds, growing with the square.
MAX_EXACT_CELLS = 4000
DEFAULT_LANDMARKS = 2000
# Landmarks are chosen in a random sample of so many cells for each of them, and so many cells make up a profile.
SAMPLE_PER_LANDMARK = 10
# Cells whose principal directions the sample is looked at along.
CELLS_OF_SUBSPACE = 1000
# Halvings of the boxes' side; after 20 it is known to a millionth of the data's extent.
HALVINGS = 20


def number_of_landmarks(wanted: int | str | None, n_cells: int) -> int | None:
    """The number that ``"auto"`` stands for, and ``None`` where every cell is looked at for itself."""
    if wanted == "auto":
        wanted = DEFAULT_LANDMARKS if n_cells > MAX_EXACT_CELLS else None
    return None if wanted is None or int(wanted) >= n_cells else int(wanted)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The landmarks' numbers in the data, ascending, and their profiles, the mean of the cells around each."""

    cells: NDArray[np.intp]
    profiles: Any


def choose_landmarks(
    matrix: Any,
    n_landmarks: int,
    metric: str,
    seed: int,
    n_jobs: int | None = None,
    progress: Progress = no_progress,
) -> Landmarks:
    """Cells that cover the space that the data fill evenly, by geometric sketching.

    In a random sample, every cell is moved to the mean of its nearest cells, which takes most of its noise off. Where
    the cells lie then is cut into equal boxes, of such a size that there are as many boxes with cells in them as
    landmarks are wanted, and one cell is drawn from each: a group counts by its extent, be it rare or frequent.
    """
    rng = np.random.default_rng([seed, n_landmarks])
    n_cells = matrix.shape[0]
    n_sampled = min(n_cells, SAMPLE_PER_LANDMARK * n_landmarks)
    sampled = np.sort(rng.choice(n_cells, n_sampled, replace=False))
    sample = read_rows(matrix, sampled, n_jobs, progress)
    check_finite(sample, sampled)
    leaders = np.sort(rng.choice(n_sampled, min(n_sampled, CELLS_OF_SUBSPACE), replace=False))
    subspace = Subspace.of(sample[leaders], metric, n_jobs, sampled[leaders])

    def coordinates_of(cells: Any, first: int) -> NDArray[np.float64]:
        return subspace.coordinates(cells, sampled[first : first + cells.shape[0]])

    coordinates = np.concatenate(map_blocks(coordinates_of, sample, n_jobs))
    neighbors = _nearest(coordinates, max(1, round(n_sampled / n_landmarks)), n_jobs)
    landmarks = sketch(coordinates[neighbors].mean(axis=1), n_landmarks, rng)
    return Landmarks(sampled[landmarks], _mean_profiles(sample, neighbors[landmarks]))


def sketch(coordinates: NDArray[np.float64], n_landmarks: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Positions, ascending, of points that cover all of them evenly: a geometric sketch."""
    offsets = coordinates - coordinates.min(axis=0)
    # A box's number is a random combination of its place on each axis: two boxes share one almost never.
    keys = rng.integers(2**62, size=offsets.shape[1])

    def boxes(side: float) -> NDArray[np.intp]:
        return np.unique(np.floor(offsets / side).astype(np.int64) @ keys, return_inverse=True)[1]

    too_small, side = 0.0, (offsets.max() or 1.0) * 1.01
    for _ in range(HALVINGS):
        middle = (too_small + side) / 2
        if boxes(middle).max() >= n_landmarks:
            too_small = middle
        else:
            side = middle
    return draw_in_turn(boxes(side), n_landmarks, rng)


def _nearest(coordinates: NDArray[np.float64], n_neighbors: int, n_jobs: int | None) -> NDArray[np.intp]:
    """For each point the positions of its nearest ones, itself among them."""
    search = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(coordinates)

    def nearest(rows: slice) -> NDArray[np.intp]:
        return search.kneighbors(coordinates[rows], return_distance=False)

    return np.concatenate(map_row_blocks(nearest, len(coordinates), coordinates.shape[1], n_jobs))


def _mean_profiles(sample: Any, members: NDArray[np.intp]) -> Any:
    """Mean of the rows that each row of ``members`` names; dense, unless they name one each."""
    if members.shape[1] == 1:
        return sample[members[:, 0]]
    shares = np.full(members.shape, 1 / members.shape[1], dtype=np.result_type(sample.dtype, np.float32))
    profiles = scatter_rows(members, shares, sample.shape[0]) @ sample
    return profiles.toarray() if sparse.issparse(profiles) else profiles
