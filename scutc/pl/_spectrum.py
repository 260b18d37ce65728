"""How fast the eigenvalues fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._anndata import read_result
from ._shared import finish, panels

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes


def spectrum(adata: AnnData, *, key: str = "utc", ax: Axes | None = None, show: bool | None = None) -> Axes | None:
    """Spectrum of the fused operator with the number of clusters marked, and those of the single orders behind it.

    Each is divided by its largest value. The embedding takes as many of the leading directions as there are clusters: a
    fall at or just before the mark says that the data have about so many groups, a flat stretch that they do not tell.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`. All of its numbers of clusters are marked.
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
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> ax = scutc.pl.spectrum(adata, show=False)
    >>> [line.get_label() for line in ax.lines]
    ['order 2', 'order 3', 'order 4', 'fused', '3 clusters']
    """
    from matplotlib.ticker import MaxNLocator

    result = read_result(adata, key)
    (axes,) = panels(ax, 1, size=(5.0, 3.6))
    for order, values in sorted(result["order_spectra"].items()):
        axes.plot(*_relative(values), marker=".", lw=1, alpha=0.5, label=f"order {order}")
    axes.plot(*_relative(result["spectrum"]), marker="o", ms=4, color="black", label="fused")
    for n_clusters in np.ravel(result["n_clusters"]):
        axes.axvline(n_clusters, color="grey", ls="--", zorder=0, label=f"{n_clusters} clusters")
    iterates = "objective_history" in result
    axes.set(
        xlabel="column of the embedding" if iterates else "number of the eigenvalue",
        ylabel=f"{'objective' if iterates else 'eigenvalue'} / largest",
        ylim=(min(0.0, axes.get_ylim()[0]), None),
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return finish(axes, show)


def _relative(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    largest = np.max(np.abs(values), initial=0.0) or 1.0
    return np.arange(1, len(values) + 1), values / largest
