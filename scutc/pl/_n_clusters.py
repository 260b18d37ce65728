"""How the number of clusters was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._anndata import read_result
from ._shared import finish, panels

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes


def n_clusters(
    adata: AnnData,
    *,
    key: str = "utc",
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """Score of every number of clusters that was tried, with the choice marked, and how much of each comes back.

    The score, black, is high where clusters come back in halves of the genes and lie apart; the band around it is one
    standard deviation over the halves to either side. Numbers whose bands overlap are told apart by little: look at
    each of them. Grey, on the axis to the right, is the part of the labels' information that comes back: 1 if halves of
    the genes find the same clusters, about 0 if they find others. Without halves single orders stand for them.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc` for which the number of clusters was estimated.
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
    ``None``, or with ``show=False`` the Axes of the score.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=1000)
    >>> scutc.tl.utc(adata)
    >>> scutc.pl.n_clusters(adata, show=False).get_title()
    '3 clusters'
    """
    from matplotlib.ticker import MaxNLocator

    result = read_result(adata, key)
    if "n_clusters_reproduced" not in result:
        msg = (
            f"key={key!r} has no scores of numbers of clusters (n_clusters_method={result['n_clusters_method']!r}): "
            "they are there after scutc.tl.utc with n_clusters=None, which estimates the number."
        )
        raise ValueError(msg)
    candidates, scores, spread, reproduced = (
        np.ravel(result[f"n_clusters_{name}"]) for name in ("candidates", "scores", "spread", "reproduced")
    )
    chosen = int(result["n_clusters"])
    (axes,) = panels(ax, 1, size=(5.0, 3.6), figsize=figsize)
    back = axes.twinx()
    back.plot(candidates, reproduced, color="0.7", marker=".", lw=1)
    back.set_ylim(min(0.0, reproduced.min()), max(1.0, reproduced.max()))
    back.set_ylabel("part that comes back", color="0.5")
    back.tick_params(axis="y", color="0.5", labelcolor="0.5")
    # A second axis lies over the first, where it would cover the score.
    back.patch.set_visible(True)
    axes.patch.set_visible(False)
    axes.set_zorder(back.get_zorder() + 1)

    axes.fill_between(candidates, scores - spread, scores + spread, color="black", alpha=0.15, lw=0)
    axes.plot(candidates, scores, color="black")
    if chosen in candidates:
        axes.axvline(chosen, color="grey", ls="--", zorder=0)
        axes.plot(chosen, scores[candidates == chosen], marker="o", color="black")
    if chosen > 1:
        title = f"{chosen} clusters"
    elif chosen in candidates:
        title = "one cluster: no other number was tried"
    else:
        title = "one cluster: too little comes back"
    axes.xaxis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1))
    axes.set(
        xlabel="number of clusters",
        ylabel="score ± standard deviation",
        xlim=(candidates[0] - 0.5, candidates[-1] + 0.5),
        title=title,
    )
    return finish(axes, show)
