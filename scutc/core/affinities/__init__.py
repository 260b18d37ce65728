"""How 2, 3 or 4 cells lie to each other: one file per order.

A solver sees an affinity through :class:`Affinity` alone. A new order is a new file here and a line in
:data:`AFFINITIES`.
"""

from __future__ import annotations

from .base import Affinity, AffinitySettings
from .pairwise import PairwiseAffinity
from .tetradic import TetradicAffinity
from .triadic import TriadicAffinity

AFFINITIES: dict[int, type[Affinity]] = {
    2: PairwiseAffinity,
    3: TriadicAffinity,
    4: TetradicAffinity,
}

__all__ = ["AFFINITIES", "Affinity", "AffinitySettings"]
