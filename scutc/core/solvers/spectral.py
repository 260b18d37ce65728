"""The membership form: each order contracted to pairs of cells, then one eigenproblem with a global optimum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..affinities import make_affinities
from ..fusion import decompose, fuse
from .base import Solution

if TYPE_CHECKING:
    from ..geometry import Geometry
    from ..settings import Settings

# Eigenpairs kept of each order, or as many as there are clusters. What lies behind them does not reach the embedding.
MIN_EIGENPAIRS = 32
# With few cells an order cannot speak in many dimensions without telling noise.
MAX_RANK_PER_CELL = 0.25


def solve_spectral(geometry: Geometry, settings: Settings, n_clusters: int) -> Solution:
    """Maximise Σ_p w_p ⟨φ(A_p), V Vᵀ⟩, for all orders together and for each by itself.

    The latter cost next to nothing, since the orders are decomposed once, and they see different sides of the data:
    labels on which they agree are more reliable than labels from all together alone.
    """
    # Of a single order the two are the same.
    views = dict.fromkeys([settings.orders, *((order,) for order in settings.orders)])
    return _solve(geometry, settings, max(MIN_EIGENPAIRS, n_clusters), list(views))


def solve_all_orders(geometry: Geometry, settings: Settings) -> Solution:
    """The same for all orders together alone."""
    return _solve(geometry, settings, MIN_EIGENPAIRS, [settings.orders])


def _solve(geometry: Geometry, settings: Settings, n_components: int, views: list[tuple[int, ...]]) -> Solution:
    spectra = {}
    for order, affinity in make_affinities(geometry, settings).items():
        settings.report(f"order {order} of {geometry.n_cells} cells")
        spectra[order] = decompose(affinity.contract(), n_components)

    fused = {
        orders: fuse(
            [spectra[order] for order in orders],
            [settings.weight(order) for order in orders],
            min(settings.effective_rank, MAX_RANK_PER_CELL * geometry.n_cells),
            n_components,
        )
        for orders in views
    }
    return Solution(
        orders=settings.orders,
        embeddings={orders: embedding.points for orders, embedding in fused.items()},
        spectrum=fused[settings.orders].spectrum[:n_components],
        order_spectra={order: spectrum.values for order, spectrum in spectra.items()},
        nested=True,
    )
