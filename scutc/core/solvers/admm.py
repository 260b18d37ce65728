"""The column form by the paper's Algorithm 1: alternating directions on V₁ and V₂ ≈ V₁ * V₁, with its errors mended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from ..tensors import Pairs
from .base import Iterations, Solution
from .column_form import (
    ColumnForm,
    polar,
    relative_gradient,
    riemannian_gradient,
    solution,
    starting_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..geometry import Geometry
    from ..parallel import Progress
    from ..settings import Settings

# Relative residual at which conjugate gradients stop: well below what an iteration of the outer loop changes.
CG_TOLERANCE = 1e-6
MAX_CG_STEPS = 1000
MAX_INNER_STEPS = 50
# A step along the gradient is accepted when it gains this part of what the gradient promises.
ARMIJO = 1e-4
SMALLEST_STEP = 1e-12
# A relative gradient up to this counts as stationary.
STATIONARY = 1e-2
# Those that the algorithm splits: 2 in V₁, 3 between V₁ and V₂, 4 in V₂.
SPLIT_ORDERS = (2, 3, 4)


def solve_admm(
    geometry: Geometry,
    settings: Settings,
    n_clusters: int,
    *,
    mu: float | None = None,
    rho: float = 1.1,
    mu_max: float = 10.0,
    tol: float = 1e-2,
    inner_tol: float = 1e-2,
    max_iter: int = 200,
) -> Solution:
    """Algorithm 1, from the leading eigenvectors of L₂, with V₁ kept orthonormal. The best V₁ seen counts.

    ``mu`` has to be above 2 w₄, twice the largest eigenvalue of w₄ L₄: below, the problem of V₂ has no minimum. It is 3
    times the larger of 1 and w₄ if not given, and never falls. The paper's ``mu_max`` of 100 freezes V₁ farther
    from a stationary point than 10 does.
    """
    unknown = set(settings.orders) - set(SPLIT_ORDERS)
    if unknown:
        msg = (
            f"solver='admm' is the paper's algorithm, for orders {SPLIT_ORDERS}: it does not know "
            f"{', '.join(map(str, sorted(unknown)))}. Use solver='ascent' or 'spectral'."
        )
        raise ValueError(msg)
    least = 2 * settings.weight(4) if 4 in settings.orders else 0.0
    if mu is None:
        mu = max(3.0, 1.5 * least)
    if mu <= least:
        msg = (
            f"solver_params: mu={mu!r} is not above {least:g}, twice the largest eigenvalue of the weighted order 4: "
            "the problem of V₂ would have no minimum. Give a larger one, or leave it out."
        )
        raise ValueError(msg)
    if rho < 1:
        msg = f"solver_params: rho={rho!r} is below 1, and mu would fall. Give 1 or more."
        raise ValueError(msg)
    form = ColumnForm.of(geometry, settings)
    start = starting_columns(geometry, settings.n_neighbors, form, n_clusters)
    settings.report("alternating directions")
    columns, iterations = alternate(
        form,
        start,
        mu=mu,
        rho=rho,
        mu_max=mu_max,
        tol=tol,
        inner_tol=inner_tol,
        max_iter=max_iter,
        progress=settings.progress,
    )
    return solution(form, columns, iterations, "admm")


def alternate(
    form: ColumnForm,
    columns: NDArray[np.float64],
    *,
    mu: float,
    rho: float,
    mu_max: float,
    tol: float,
    inner_tol: float,
    max_iter: int,
    progress: Progress,
) -> tuple[NDArray[np.float64], Iterations]:
    """Steps on V₁, V₂ and the multiplier in turn, until V₁ and V₂ stay, and V₁*V₁ = V₂, to ``tol``, relatively.

    That is where the paper stops. As μ grows the steps shrink, so it may be no stationary point, and then it is not
    called converged.
    """
    problem = SplitProblem(form, columns.shape[0])
    lifted = problem.lift(columns)
    multiplier = np.zeros_like(lifted)
    value, gradient = form.evaluate(columns)
    history = [value]
    best, best_gradient = columns, gradient
    remedy = "raise max_iter in solver_params or use 'ascent'"
    for _ in progress(range(max_iter)):
        new_columns = problem.update_columns(columns, lifted, multiplier, mu, inner_tol)
        new_lifted = problem.update_lifted(new_columns, lifted, multiplier, mu)
        gap = problem.lift(new_columns) - new_lifted
        multiplier = multiplier + mu * gap
        change = max(
            _largest(new_columns - columns) / _largest(new_columns),
            max(_largest(new_lifted - lifted), _largest(gap)) / (_largest(new_lifted) or 1.0),
        )
        columns, lifted, mu = new_columns, new_lifted, min(rho * mu, max(mu, mu_max))
        value, gradient = form.evaluate(columns)
        if value > max(history):
            best, best_gradient = columns, gradient
        history.append(value)
        if change <= tol:
            remedy = "it stopped moving before a stationary point, lower tol and rho in solver_params or use 'ascent'"
            break
    left = relative_gradient(best, best_gradient)
    return best, Iterations(np.array(history), left, left <= STATIONARY, remedy)


def _largest(values: NDArray[np.float64]) -> float:
    return float(np.abs(values).max(initial=0.0))


class SplitProblem:
    """The paper's augmented Lagrangian, and its minimisation in V₁ and in V₂.

    −⟨V₁, L₂V₁⟩ − ⟨V₂, L̂₃V₁⟩ − ⟨V₂, L̂₄V₂⟩ + ⟨Y, V₁*V₁ − V₂⟩ + μ/2 ‖V₁*V₁ − V₂‖²

    V₂ and Y have a row for each pair that occurs in L̂₃ or L̂₄: the objective reads no other. Where V₁ is orthonormal
    throughout, the multiplier and the penalty of that constraint have nothing to do.
    """

    def __init__(self, form: ColumnForm, n_cells: int) -> None:
        tensors: Mapping[int, Any] = form.tensors
        self._weights = form.weights
        self._unfoldings = {order: tensor.unfolding for order, tensor in tensors.items()}
        none = np.empty(0, dtype=np.intp)
        self._pairs: Pairs = next(
            (tensors[order].pairs for order in (3, 4) if order in tensors), Pairs(none, none, n_cells)
        )

    def lift(self, columns: NDArray[np.float64]) -> NDArray[np.float64]:
        """V₁ * V₁."""
        return self._pairs.lift(columns)

    def lagrangian(
        self,
        columns: NDArray[np.float64],
        lifted: NDArray[np.float64],
        multiplier: NDArray[np.float64],
        mu: float,
    ) -> tuple[float, NDArray[np.float64]]:
        """Its value, and its gradient in V₁."""
        value, gradient = self._part_of_columns(columns, lifted, multiplier, mu)
        if 4 in self._unfoldings:
            value -= self._weights[4] * float(np.sum(lifted * (self._unfoldings[4] @ lifted)))
        return value, gradient

    def _part_of_columns(
        self,
        columns: NDArray[np.float64],
        lifted: NDArray[np.float64],
        multiplier: NDArray[np.float64],
        mu: float,
    ) -> tuple[float, NDArray[np.float64]]:
        """The same without order 4, the costliest, which V₁ does not touch."""
        gap = self.lift(columns) - lifted
        value = float(np.sum(multiplier * gap) + mu / 2 * np.sum(gap**2))
        gradient = self._pairs.lift_gradient(columns, multiplier + mu * gap)
        if 2 in self._unfoldings:
            images = self._weights[2] * (self._unfoldings[2] @ columns)
            value -= float(np.sum(columns * images))
            gradient -= 2 * images
        if 3 in self._unfoldings:
            images = self._weights[3] * (self._unfoldings[3].T @ lifted)
            value -= float(np.sum(columns * images))
            gradient -= images
        return value, gradient

    def update_columns(
        self,
        columns: NDArray[np.float64],
        lifted: NDArray[np.float64],
        multiplier: NDArray[np.float64],
        mu: float,
        tol: float,
    ) -> NDArray[np.float64]:
        """Descend in V₁, each step retracted to orthonormal columns, until a step is at most ``tol``."""
        value, gradient = self._part_of_columns(columns, lifted, multiplier, mu)
        step = 1.0
        for _ in range(MAX_INNER_STEPS):
            direction = riemannian_gradient(columns, gradient)
            promised = ARMIJO * linalg.norm(direction) ** 2
            while True:
                candidate = polar(columns - step * direction)
                new_value, new_gradient = self._part_of_columns(candidate, lifted, multiplier, mu)
                if new_value <= value - step * promised:
                    break
                step /= 2
                if step < SMALLEST_STEP:
                    return columns
            change = _largest(candidate - columns)
            columns, value, gradient = candidate, new_value, new_gradient
            if change <= tol:
                break
            step *= 2
        return columns

    def update_lifted(
        self,
        columns: NDArray[np.float64],
        lifted: NDArray[np.float64],
        multiplier: NDArray[np.float64],
        mu: float,
    ) -> NDArray[np.float64]:
        """V₂ = (μ I − 2 L̂₄)⁻¹ (μ V₁*V₁ + L̂₃V₁ + Y), by conjugate gradients from the last V₂."""
        target = mu * self.lift(columns) + multiplier
        if 3 in self._unfoldings:
            target += self._weights[3] * (self._unfoldings[3] @ columns)
        if 4 not in self._unfoldings:
            return target / mu
        unfolding, weight = self._unfoldings[4], self._weights[4]
        operator = LinearOperator(
            unfolding.shape, matvec=lambda vector: mu * vector - 2 * weight * (unfolding @ vector), dtype=np.float64
        )
        return np.column_stack(
            [
                cg(operator, right, x0=start, rtol=CG_TOLERANCE, maxiter=MAX_CG_STEPS)[0]
                for right, start in zip(target.T, lifted.T, strict=True)
            ]
        )
