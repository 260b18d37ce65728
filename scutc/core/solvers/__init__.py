"""From distances to an embedding. A new solver is a new file here and a line in :data:`SOLVERS`.

A solver is called with the geometry of the cells, the settings, the number of clusters, and keywords that are its own:
the user's ``solver_params``.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import TYPE_CHECKING

from .admm import solve_admm
from .ascent import solve_ascent
from .base import Iterations, Solution
from .spectral import solve_all_orders, solve_spectral

if TYPE_CHECKING:
    from collections.abc import Callable

SOLVERS: dict[str, Callable[..., Solution]] = {
    "spectral": solve_spectral,
    "ascent": solve_ascent,
    "admm": solve_admm,
}


def solver_defaults(solver: str) -> dict[str, float]:
    """The parameters that a solver has of its own, with their defaults."""
    parameters = signature(SOLVERS[solver]).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY}


__all__ = ["SOLVERS", "Iterations", "Solution", "solve_all_orders", "solve_spectral", "solver_defaults"]
