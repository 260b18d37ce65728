"""Orders 3 and 4 made of order 2 alone: the decomposable twins, T₃ = S₂ * S₂ and T₄ = S₂ ⊗ S₂."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..normalization import normalize, root_degrees, safe_inverse
from ..tensors import KhatriRaoSquare, KroneckerSquare
from .base import Affinity
from .neighborhoods import scatter_rows
from .pairwise import pairwise_affinity


class DecomposableAffinity(Affinity):
    """What the two have in common: S₂, and the chance p(k | j) of a step from j to k on it."""

    def pairwise(self) -> Any:
        """S₂."""
        return self.geometry.once(pairwise_affinity, self.settings.n_neighbors)

    def steps(self) -> Any:
        """S₂ D₂⁻¹."""
        affinity = self.pairwise()
        return (affinity @ sparse.diags_array(safe_inverse(root_degrees(affinity)) ** 2)).tocsr()


class DecomposableTriadicAffinity(DecomposableAffinity):
    """T₃[i,j,k] = S₂[i,j] S₂[k,j]: the anchor j is near to both."""

    def contract(self) -> Any:
        """A₃[i,k] = Σ_j T₃[i,j,k] / t_j, where t_j is the squared degree of j."""
        steps = self.steps()
        return steps @ steps.T

    def tensor(self) -> KhatriRaoSquare:
        """L₂ * L₂ (Theorem 3.2)."""
        return KhatriRaoSquare(normalize(self.pairwise()))


class DecomposableTetradicAffinity(DecomposableAffinity):
    """T₄[i,j,k,l] = S₂[i,k] S₂[j,l]: i is near to k and j to l."""

    def contract(self) -> Any:
        """A₄[i,j] = Σ T₄[i,j,k,l] / t_kl over the pairs (k, l) of near neighbours, t_kl the product of degrees."""
        neighbors = self.geometry.nearest_neighbors(self.settings.n_neighbors)
        near = scatter_rows(neighbors, np.ones(neighbors.shape), len(neighbors))
        steps = self.steps()
        return steps @ near.maximum(near.T) @ steps.T

    def tensor(self) -> KroneckerSquare:
        """L₂ ⊗ L₂ (Theorem 2.2)."""
        return KroneckerSquare(normalize(self.pairwise()))
