"""Plots: what uniform tensor clustering found, and what it saw on the way."""

from ._affinity import affinity
from ._confusion import confusion
from ._convergence import convergence
from ._embedding import embedding
from ._genes import genes
from ._orders import orders
from ._spectrum import spectrum

__all__ = ["affinity", "confusion", "convergence", "embedding", "genes", "orders", "spectrum"]
