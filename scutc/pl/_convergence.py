"""The objective over the iterations of a solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._anndata import read_result
from ._shared import finish, panels

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes


def convergence(
    adata: AnnData,
    *,
    key: str = "utc",
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """Objective at the start and after each iteration, for the solvers that iterate: ``"ascent"`` and ``"admm"``.

    The dot is the solution that was taken, the one with the highest objective.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    figsize
        Width and height of the figure in inches; not together with ``ax``.
    ax
        Axes to draw on.
    show
        Show the figure; ``None`` follows ``scanpy.settings.autoshow``.

    Returns
    -------
    ``None``, or with ``show=False`` the Axes.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=100)
    >>> scutc.tl.utc(adata, n_clusters=3, solver="ascent", n_neighbors=5)
    >>> scutc.pl.convergence(adata, show=False).get_title()
    'ascent: converged after ... iterations'
    """
    from matplotlib.ticker import MaxNLocator

    result = read_result(adata, key)
    solver = result["params"]["solver"]
    if "objective_history" not in result:
        msg = (
            f"key={key!r} was solved by solver={solver!r}, which does not iterate: there is no convergence to show. "
            "solver='ascent' and solver='admm' iterate."
        )
        raise ValueError(msg)
    objective = result["objective_history"]
    best = int(np.argmax(objective))
    (axes,) = panels(ax, 1, size=(5.0, 3.6), figsize=figsize)
    axes.plot(objective, color="black")
    axes.plot(best, objective[best], marker="o", color="black")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    outcome = "converged" if result["converged"] else "not converged"
    axes.set(xlabel="iteration", ylabel="objective", title=f"{solver}: {outcome} after {result['n_iter']} iterations")
    return finish(axes, show)
