"""How 2, 3 or 4 cells lie to each other: one file per order, and one for the orders that are made of order 2.

A solver sees an affinity through :class:`Affinity` alone. A new order is a new file here and a line in
:data:`AFFINITIES`.
"""

from __future__ import annotations

from .base import Affinity, AffinitySettings
from .decomposable import DecomposableTetradicAffinity, DecomposableTriadicAffinity
from .pairwise import PairwiseAffinity
from .tetradic import TetradicAffinity
from .triadic import COSINES, TriadicAffinity

AFFINITIES: dict[str, dict[int, type[Affinity]]] = {
    "indecomposable": {2: PairwiseAffinity, 3: TriadicAffinity, 4: TetradicAffinity},
    "decomposable": {2: PairwiseAffinity, 3: DecomposableTriadicAffinity, 4: DecomposableTetradicAffinity},
}

__all__ = ["AFFINITIES", "COSINES", "Affinity", "AffinitySettings", "PairwiseAffinity"]
