"""Which genes drove it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._anndata import read_result
from .._validation import check_positive_integer
from ._shared import finish, panels

if TYPE_CHECKING:
    from anndata import AnnData
    from matplotlib.axes import Axes

# Height of a name, in inches.
NAME = 0.15


def genes(
    adata: AnnData,
    *,
    key: str = "utc",
    n_names: int = 10,
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
) -> Axes | None:
    """Score of every gene, best first, against what noise would give, with the best ones named.

    The score is the part of a gene's variance that the structure of other genes explains. Genes that are informative,
    having more of it than chance would give, are dark; the dashed line is the score to be expected of noise. No line
    parts them: a gene that is loud in few cells scores higher by chance, and is informative only above that.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc` for which genes were screened.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    n_names
        Number of genes to name.
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
    >>> adata = scutc.datasets.syndata2(n_features=1000)
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> ax = scutc.pl.genes(adata, show=False)
    >>> len(ax.texts)
    10
    """
    result = read_result(adata, key)
    check_positive_integer("n_names", n_names)
    if f"{key}_score" not in adata.var or "score_of_noise" not in result:
        msg = (
            f"key={key!r} has no scores of genes: they are there after scutc.tl.utc with screen_genes=True, on enough "
            "genes and cells and not on use_rep."
        )
        raise ValueError(msg)
    scores = adata.var[f"{key}_score"].dropna().sort_values(ascending=False, kind="stable")
    informative = adata.var.loc[scores.index, f"{key}_informative"].to_numpy(dtype=bool)
    ranks = np.arange(1, len(scores) + 1)
    named = scores.iloc[:n_names]
    (axes,) = panels(ax, 1, size=(6.0, max(4.0, 1.0 + NAME * len(named))), figsize=figsize)
    for label, shown, color in (("others", ~informative, "0.75"), ("informative", informative, "black")):
        count = np.count_nonzero(shown)
        axes.scatter(ranks[shown], scores[shown], s=8, lw=0, color=color, label=f"{count} {label}")
    axes.axhline(result["score_of_noise"], color="grey", ls="--", zorder=0, label="mean of noise")
    # Names in a column, each with a line to its dot: the best ones lie too close to each other for names beside them.
    heights = np.linspace(0.98, max(0.98 - 0.07 * (len(named) - 1), 0.02), len(named))
    for rank, (name, score), height in zip(ranks, named.items(), heights, strict=False):
        axes.annotate(
            str(name),
            (rank, score),
            xytext=(1.02, height),
            textcoords="axes fraction",
            va="center",
            fontsize="small",
            arrowprops={"arrowstyle": "-", "color": "0.6", "lw": 0.5, "shrinkA": 2, "shrinkB": 2, "relpos": (0, 0.5)},
            zorder=1,
        )
    axes.set(xscale="log", xlabel="gene, by score", ylabel="variance explained by other genes", ylim=(0.0, None))
    axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    return finish(axes, show)
