"""Plots: what uniform tensor clustering found, and what it saw on the way."""

from ._affinity import affinity
from ._confusion import confusion
from ._convergence import convergence
from ._embedding import embedding
from ._genes import genes
from ._n_clusters import n_clusters
from ._orders import orders
from ._spectrum import spectrum
from ._stability import stability
from ._tree import tree

__all__ = [
    "affinity",
    "confusion",
    "convergence",
    "embedding",
    "genes",
    "n_clusters",
    "orders",
    "spectrum",
    "stability",
    "tree",
]
