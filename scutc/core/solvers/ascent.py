"""The column form by monotone ascent: a generalised power method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from .base import Iterations, Solution, SolverSettings
from .column_form import ColumnForm, build, n_columns, polar, riemannian_gradient, solution, starting_columns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from ..affinities import Affinity

# The shift grows by this factor until the objective does not fall, and shrinks by it after each step.
SHIFT_FACTOR = 2.0
# With a shift so many times the gradient the columns do not move any more.
MAX_SHIFT = 1e8


def solve_ascent(
    affinities: Mapping[int, Affinity],
    settings: SolverSettings,
    *,
    max_iter: int = 1000,
    tol: float = 1e-5,
    n_starts: int = 1,
) -> Solution:
    """Ascend from the leading eigenvectors of L₂, and from random rotations of them for further starts.

    A stationary point is all that is promised: the model maximises a convex function. The best of the starts counts.
    """
    form = build(affinities, settings)
    first = next(iter(affinities.values()))
    start = starting_columns(affinities, form, n_columns(settings.n_clusters, first.geometry.n_cells))
    rng = np.random.default_rng(settings.seed)
    best: tuple[NDArray[np.float64], Iterations] | None = None
    for number in range(n_starts):
        if number:
            start = start @ linalg.qr(rng.standard_normal((start.shape[1],) * 2))[0]
        settings.report(f"ascent from start {number + 1} of {n_starts}")
        columns, iterations = ascend(form, start, max_iter=max_iter, tol=tol, settings=settings)
        if best is None or iterations.objective[-1] > best[1].objective[-1]:
            best = columns, iterations
    assert best is not None
    return solution(form, *best, "ascent")


def ascend(
    form: ColumnForm, columns: NDArray[np.float64], *, max_iter: int, tol: float, settings: SolverSettings
) -> tuple[NDArray[np.float64], Iterations]:
    """V ← polar(∇f(V) + s V), with s raised until f does not fall; done when the Riemannian gradient is small.

    Small means at most ``tol`` times the gradient.
    """
    value, gradient = form.evaluate(columns)
    history = [value]
    shift, converged = 0.0, False
    for _ in settings.progress(range(max_iter)):
        scale = linalg.norm(gradient)
        if linalg.norm(riemannian_gradient(columns, gradient)) <= tol * scale:
            converged = True
            break
        while True:
            candidate = polar(gradient + shift * columns)
            new_value, new_gradient = form.evaluate(candidate)
            if new_value >= value:
                break
            shift = max(shift * SHIFT_FACTOR, 1e-3 * scale)
            if shift > MAX_SHIFT * scale:
                return columns, Iterations(np.array(history), converged=False)
        columns, value, gradient = candidate, new_value, new_gradient
        history.append(value)
        shift /= SHIFT_FACTOR
    return columns, Iterations(np.array(history), converged)
