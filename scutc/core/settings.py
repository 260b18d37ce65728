"""The choices that a run is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .parallel import no_progress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from .parallel import Progress


@dataclass(frozen=True)
class Settings:
    """What the user's parameters, declared in :class:`scutc.UTC`, mean: checked, nothing left open.

    Every step reads the ones that concern it.
    """

    n_clusters: int | None
    orders: tuple[int, ...]
    metric: str
    screen_genes: bool
    n_splits: int | str
    n_neighbors: int
    n_landmarks: int | str | None
    n_anchors: int | str | None
    n_pairs: int | str | None
    sharpness: float
    effective_rank: float
    affinity: str
    cosine: str
    weights: Mapping[int, float]
    solver: str
    solver_params: Mapping[str, float]
    seed: int
    n_jobs: int | None
    report: Callable[[str], object]
    progress: Progress

    def without_company(self) -> Settings:
        """The choices alone, without how this run is to work and whom it tells."""
        return replace(self, n_jobs=None, report=no_report, progress=no_progress)

    def weight(self, order: int) -> float:
        """Weight of an order, 1 if it was not given."""
        return self.weights.get(order, 1.0)


def no_report(message: str) -> None:
    """Say nothing of the stages."""
