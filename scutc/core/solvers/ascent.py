"""The column form by monotone ascent: a generalised power method."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from .base import Iterations, Solution
from .column_form import ColumnForm, polar, relative_gradient, solution, starting_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..geometry import Geometry
    from ..parallel import Progress
    from ..settings import Settings

# The shift grows by this factor until the objective does not fall, and shrinks by it after each step.
SHIFT_FACTOR = 2.0
# As parts of the gradient's length: the first shift tried, and one with which the columns do not move any more.
FIRST_SHIFT, MAX_SHIFT = 1e-3, 1e8


def solve_ascent(
    geometry: Geometry,
    settings: Settings,
    n_clusters: int,
    *,
    max_iter: int = 1000,
    tol: float = 1e-4,
    n_starts: int = 1,
) -> Solution:
    """Ascend from the leading eigenvectors of L₂, and from random rotations of them for further starts.

    A stationary point is all that is promised: the model maximises a convex function. The best of the starts counts.
    """
    form = ColumnForm.of(geometry, settings)
    start = starting_columns(geometry, settings.n_neighbors, form, n_clusters)
    rng = np.random.default_rng(settings.seed)
    runs = []
    for number in range(n_starts):
        if number:
            start = start @ linalg.qr(rng.standard_normal((start.shape[1],) * 2))[0]
        settings.report(f"ascent from start {number + 1} of {n_starts}")
        runs.append(ascend(form, start, max_iter=max_iter, tol=tol, progress=settings.progress))
    values = [form.evaluate(columns)[0] for columns, _ in runs]
    return solution(form, *runs[int(np.argmax(values))], "ascent")


def ascend(
    form: ColumnForm, columns: NDArray[np.float64], *, max_iter: int, tol: float, progress: Progress
) -> tuple[NDArray[np.float64], Iterations]:
    """V ← polar(∇f(V) + s V), with s raised until f does not fall; done when the Riemannian gradient is small.

    Small means at most ``tol`` times the gradient.
    """
    value, gradient = form.evaluate(columns)
    history = [value]
    shift, remedy = 0.0, "raise max_iter or tol in solver_params"
    for _ in progress(range(max_iter)):
        if relative_gradient(columns, gradient) <= tol:
            break
        step = _ascending_step(form, columns, value, gradient, shift)
        if step is None:
            remedy = "the objective rises no more in double precision, raise tol in solver_params"
            break
        columns, value, gradient, shift = step
        history.append(value)
        shift /= SHIFT_FACTOR
    left = relative_gradient(columns, gradient)
    return columns, Iterations(np.array(history), left, left <= tol, remedy)


def _ascending_step(
    form: ColumnForm, columns: NDArray[np.float64], value: float, gradient: NDArray[np.float64], shift: float
) -> tuple[NDArray[np.float64], float, NDArray[np.float64], float] | None:
    """The next columns, their value, gradient and shift, where the objective does not fall; or ``None``."""
    scale = linalg.norm(gradient)
    while shift <= MAX_SHIFT * scale:
        candidate = polar(gradient + shift * columns)
        new_value, new_gradient = form.evaluate(candidate)
        if new_value >= value:
            return candidate, new_value, new_gradient, shift
        shift = max(shift * SHIFT_FACTOR, FIRST_SHIFT * scale)
    return None
