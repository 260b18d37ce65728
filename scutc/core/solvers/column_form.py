"""The paper's model: max Σ_j [w₂ L₂(v_j,v_j) + w₃ L₃(v_j,v_j,v_j) + w₄ L₄(v_j,v_j,v_j,v_j)], the v_j orthonormal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ..affinities import make_affinities, pairwise_affinity
from ..eigen import fix_signs
from ..fusion import decompose
from ..normalization import root_degrees
from ..warn import warn
from .base import Iterations, Solution

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..geometry import Geometry
    from ..settings import Settings
    from ..tensors import Tensor


class ColumnForm:
    """The objective."""

    def __init__(self, tensors: Mapping[int, Tensor], weights: Mapping[int, float]) -> None:
        self.tensors = tensors
        self.weights = weights

    @classmethod
    def of(cls, geometry: Geometry, settings: Settings) -> ColumnForm:
        """The objective for cells."""
        tensors = {}
        for order, affinity in make_affinities(geometry, settings).items():
            settings.report(f"order {order}: tensor of {geometry.n_cells} cells")
            tensors[order] = affinity.tensor()
        return cls(tensors, {order: settings.weight(order) for order in tensors})

    @property
    def odd_orders(self) -> list[int]:
        """The orders to which a column and its negative are not the same."""
        return [order for order in self.tensors if order % 2]

    def evaluate(self, columns: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Value and gradient."""
        value, gradient = 0.0, np.zeros_like(columns)
        for order, tensor in self.tensors.items():
            values, gradients = tensor.evaluate(columns)
            value += self.weights[order] * float(values.sum())
            gradient += self.weights[order] * gradients
        return value, gradient

    def terms(self, columns: NDArray[np.float64]) -> dict[int, NDArray[np.float64]]:
        """What each order, weighted, says of each column: all together they are the value."""
        return {order: self.weights[order] * tensor.evaluate(columns)[0] for order, tensor in self.tensors.items()}


def starting_columns(geometry: Geometry, n_neighbors: int, form: ColumnForm, n_columns: int) -> NDArray[np.float64]:
    """The leading eigenvectors of L₂, with the signs that the odd order likes better."""
    pairwise = geometry.once(pairwise_affinity, n_neighbors)
    trivial = root_degrees(pairwise)
    spectrum = decompose(pairwise, n_columns - 1)
    columns = fix_signs(np.column_stack([trivial / linalg.norm(trivial), spectrum.vectors]))
    if form.odd_orders:
        columns = columns * np.where(sum(form.terms(columns)[order] for order in form.odd_orders) < 0, -1.0, 1.0)
    # Polished, since eigenvectors of an iterative solver are orthonormal to its tolerance only.
    return polar(columns)


def polar(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """The orthonormal columns nearest to those of a matrix."""
    left, _, right = linalg.svd(matrix, full_matrices=False)
    return left @ right


def riemannian_gradient(columns: NDArray[np.float64], gradient: NDArray[np.float64]) -> NDArray[np.float64]:
    """The part of a gradient along which orthonormal columns can move."""
    product = columns.T @ gradient
    return gradient - columns @ (product + product.T) / 2


def relative_gradient(columns: NDArray[np.float64], gradient: NDArray[np.float64]) -> float:
    """How far from stationary columns are: 0 where they cannot move uphill."""
    return float(linalg.norm(riemannian_gradient(columns, gradient)) / (linalg.norm(gradient) or 1.0))


def solution(form: ColumnForm, columns: NDArray[np.float64], iterations: Iterations, name: str) -> Solution:
    """Columns by what they are worth, largest first; a warning where the solver did not converge."""
    if not iterations.converged:
        msg = (
            f"solver={name!r} did not converge in {iterations.n_iter} iterations (relative gradient "
            f"{iterations.relative_gradient:.1e}): {iterations.remedy}. The best columns seen are returned."
        )
        warn(msg, ConvergenceWarning)
    if not form.odd_orders:  # even ones do not see signs
        columns = fix_signs(columns)
    terms = form.terms(columns)
    totals = np.sum(list(terms.values()), axis=0)
    ranking = np.argsort(-totals, kind="stable")
    orders = tuple(form.tensors)
    # A picture needs two columns, also of one cluster.
    embedding = np.pad(columns[:, ranking], ((0, 0), (0, max(0, 2 - columns.shape[1]))))
    return Solution(
        orders=orders,
        embeddings={orders: embedding},
        spectrum=totals[ranking],
        order_spectra={order: values[ranking] for order, values in terms.items()},
        nested=False,
        iterations=iterations,
    )
