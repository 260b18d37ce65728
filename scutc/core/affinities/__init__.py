"""How 2, 3 or 4 cells lie to each other: one file per order, and one for the orders that are made of order 2.

A solver sees an affinity through :class:`Affinity` alone. A new order is a new file here and a line in
:data:`AFFINITIES`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Affinity
from .decomposable import DecomposableTetradicAffinity, DecomposableTriadicAffinity
from .pairwise import PairwiseAffinity, pairwise_affinity
from .tetradic import TetradicAffinity
from .triadic import COSINES, TriadicAffinity

if TYPE_CHECKING:
    from ..geometry import Geometry
    from ..settings import Settings

AFFINITIES: dict[str, dict[int, type[Affinity]]] = {
    "indecomposable": {2: PairwiseAffinity, 3: TriadicAffinity, 4: TetradicAffinity},
    "decomposable": {2: PairwiseAffinity, 3: DecomposableTriadicAffinity, 4: DecomposableTetradicAffinity},
}
ORDERS = tuple(AFFINITIES["indecomposable"])


def make_affinities(geometry: Geometry, settings: Settings) -> dict[int, Affinity]:
    """The orders that are to be fused."""
    kinds = AFFINITIES[settings.affinity]
    missing = [str(order) for order in settings.orders if order not in kinds]
    if missing:
        msg = (
            f"affinity={settings.affinity!r} has no order {', '.join(missing)}: leave it out, or take another affinity."
        )
        raise ValueError(msg)
    return {order: kinds[order](geometry, settings) for order in settings.orders}


__all__ = ["AFFINITIES", "COSINES", "ORDERS", "Affinity", "make_affinities", "pairwise_affinity"]
