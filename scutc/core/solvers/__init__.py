"""From affinities to an embedding. A new solver is a new file here and a line in :data:`SOLVERS`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .base import Solution
from .spectral import solve_spectral

if TYPE_CHECKING:
    from collections.abc import Callable

SOLVERS: dict[str, Callable[..., Solution]] = {
    "spectral": solve_spectral,
}

__all__ = ["SOLVERS", "Solution"]
