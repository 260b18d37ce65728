"""How fast the eigenvalues fall."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._anndata import read_result
from ._shared import finish, panels

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes

# Of more numbers of clusters the legend only has the first and the last.
MAX_NAMED = 5


def spectrum(
    adata: AnnData,
    *,
    key: str = "utc",
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """Spectrum of the fused operator with the number of clusters marked, and those of the single orders behind it.

    Each is divided by its largest value. The mark for k clusters is after eigenvalue k − 1: so many directions tell k
    groups apart, as two groups lie along one. (The first eigenvector, which only says how well connected a cell is, is
    not counted.) A fall at the mark says that the data have about so many groups, a flat stretch that they do not tell.
    For ``"ascent"`` and ``"admm"``, which use all columns of the embedding, it is what each column adds to the
    objective, and there is no mark.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc`.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`. All of its numbers of clusters are marked.
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
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> ax = scutc.pl.spectrum(adata, show=False)
    >>> [line.get_label() for line in ax.lines]
    ['order 2', 'order 3', 'order 4', 'fused', '3 clusters']
    """
    from matplotlib.ticker import MaxNLocator

    result = read_result(adata, key)
    (axes,) = panels(ax, 1, size=(5.4, 3.6), figsize=figsize)
    for order, values in sorted(result["order_spectra"].items()):
        axes.plot(*_relative(values), marker=".", lw=1, alpha=0.5, label=f"order {order}")
    axes.plot(*_relative(result["spectrum"]), marker="o", ms=4, color="black", label="fused")
    iterates = "objective_history" in result
    numbers = [] if iterates else np.unique(result["n_clusters"]).tolist()
    for number in numbers:
        label = _in_words(numbers) if number == numbers[0] else None
        axes.axvline(number - 0.5, color="grey", ls="--", lw=1, zorder=0, label=label)
    axes.set(
        xlabel="column of the embedding" if iterates else "number of the eigenvalue",
        ylabel=f"{'objective' if iterates else 'eigenvalue'} / largest",
        ylim=(min(0.0, axes.get_ylim()[0]), 1.05),
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    return finish(axes, show)


def _relative(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    largest = np.max(np.abs(values), initial=0.0) or 1.0
    return np.arange(1, len(values) + 1), values / largest


def _in_words(numbers: list[int]) -> str:
    if len(numbers) > MAX_NAMED:
        return f"{numbers[0]} to {numbers[-1]} clusters\n({len(numbers)} numbers)"
    *fewer, last = map(str, numbers)
    return f"{', '.join(fewer)} and {last} clusters" if fewer else f"{last} clusters"
