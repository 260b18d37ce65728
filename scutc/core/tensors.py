"""Normalised tensors as multilinear forms, for solvers that keep them whole: values, gradients, unfoldings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Pairs:
    """Ordered pairs of cells: the rows of the unfoldings of orders 3 and 4, and the columns of that of order 4."""

    first: NDArray[np.intp]
    second: NDArray[np.intp]
    n_cells: int

    @classmethod
    def all_of(cls, n_cells: int) -> Pairs:
        """All n² pairs, row by row."""
        cells = np.arange(n_cells)
        return cls(np.repeat(cells, n_cells), np.tile(cells, n_cells), n_cells)

    def lift(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """V * V, the Khatri–Rao product, in the rows of these pairs."""
        return columns[self.first] * columns[self.second]

    def lift_gradient(self, columns: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Gradient in V of ⟨weights, V * V⟩."""
        to_first, to_second = self._sums
        return to_first @ (weights * columns[self.second]) + to_second @ (weights * columns[self.first])

    @cached_property
    def _sums(self) -> tuple[Any, Any]:
        """Matrices that add up what stands in the rows of a cell's pairs."""
        rows = np.arange(len(self.first))
        ones = np.ones(len(rows))
        shape = (self.n_cells, len(rows))
        return sparse.csr_array((ones, (self.first, rows)), shape), sparse.csr_array((ones, (self.second, rows)), shape)


class Tensor(ABC):
    """A normalised tensor L."""

    @abstractmethod
    def evaluate(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """L(v, …, v) of every column v of V, and the gradients of these values, as columns."""


@dataclass(frozen=True, eq=False)
class PairTensor(Tensor):
    """Order 2: the matrix L₂."""

    unfolding: Any

    def evaluate(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """vᵀL₂v and 2 L₂v."""
        images = self.unfolding @ columns
        return np.sum(columns * images, axis=0), 2 * images


@dataclass(frozen=True, eq=False)
class TripleTensor(Tensor):
    """Order 3, by its sparse unfolding: a row per pair (i, k), a column per anchor j."""

    pairs: Pairs
    unfolding: Any

    def evaluate(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ L₃[i,j,k] v_i v_j v_k and its gradient."""
        lifted = self.pairs.lift(columns)
        images = self.unfolding @ columns
        gradient = self.unfolding.T @ lifted + self.pairs.lift_gradient(columns, images)
        return np.sum(lifted * images, axis=0), gradient


@dataclass(frozen=True, eq=False)
class QuadrupleTensor(Tensor):
    """Order 4, by its sparse unfolding, symmetric: a row per pair (i, j), a column per pair (k, l)."""

    pairs: Pairs
    unfolding: Any

    def evaluate(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ L₄[i,j,k,l] v_i v_j v_k v_l and its gradient."""
        lifted = self.pairs.lift(columns)
        images = self.unfolding @ lifted
        return np.sum(lifted * images, axis=0), 2 * self.pairs.lift_gradient(columns, images)


@dataclass(frozen=True, eq=False)
class KhatriRaoSquare(Tensor):
    """The decomposable order 3, L₂ * L₂, through L₂ alone."""

    matrix: Any

    def evaluate(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Σ_j v_j (L₂v)_j² and its gradient."""
        images = self.matrix @ columns
        return np.sum(columns * images**2, axis=0), images**2 + 2 * (self.matrix @ (columns * images))

    @property
    def pairs(self) -> Pairs:
        """All pairs."""
        return Pairs.all_of(self.matrix.shape[0])

    @property
    def unfolding(self) -> LinearOperator:
        """The map v ↦ L₂ diag(v) L₂, row by row, and its transpose M ↦ diag(L₂ M L₂)."""
        matrix, n_cells = self.matrix, self.matrix.shape[0]

        def apply(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            return (matrix @ sparse.diags_array(vector.ravel()) @ matrix).toarray().ravel()

        def apply_transposed(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            images = matrix @ vector.reshape(n_cells, n_cells)
            return np.asarray(matrix.multiply(images).sum(axis=1)).ravel()

        return LinearOperator((n_cells**2, n_cells), matvec=apply, rmatvec=apply_transposed, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class KroneckerSquare(Tensor):
    """The decomposable order 4, L₂ ⊗ L₂, through L₂ alone."""

    matrix: Any

    def evaluate(self, columns: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(vᵀL₂v)² and its gradient."""
        images = self.matrix @ columns
        forms = np.sum(columns * images, axis=0)
        return forms**2, 4 * forms * images

    @property
    def pairs(self) -> Pairs:
        """All pairs."""
        return Pairs.all_of(self.matrix.shape[0])

    @property
    def unfolding(self) -> LinearOperator:
        """The map M ↦ L₂ M L₂, row by row; symmetric."""
        matrix, n_cells = self.matrix, self.matrix.shape[0]

        def apply(vector: NDArray[np.float64]) -> NDArray[np.float64]:
            return (matrix @ (matrix @ vector.reshape(n_cells, n_cells)).T).T.ravel()

        return LinearOperator((n_cells**2, n_cells**2), matvec=apply, rmatvec=apply, dtype=np.float64)
