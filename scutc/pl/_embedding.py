"""The fused embedding in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._anndata import clusterings, read_result
from ._shared import check_figsize, embedded_cells, finish, widen_by_legend

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from matplotlib.axes import Axes

# In square points. scanpy's own size, 120 000 divided by the number of cells, makes blots of a hundred cells.
LARGEST_DOT = 120.0
# Width of a letter of a legend, in inches, and of what is beside the names.
LETTER, BESIDE = 0.08, 0.6


def embedding(
    adata: AnnData,
    *,
    color: str | Sequence[str] | None = None,
    key: str = "utc",
    dimensions: tuple[int, int] | Sequence[tuple[int, int]] = (0, 1),
    figsize: tuple[float, float] | None = None,
    ax: Axes | None = None,
    show: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Scatter plot of the fused embedding, by :func:`scanpy.pl.embedding`.

    Cells that the result says nothing of, as it was restricted to others, are not there.

    Parameters
    ----------
    adata
        Annotated data matrix with a result of :func:`scutc.tl.utc` or :func:`scutc.tl.transfer`.
    color
        Columns of ``adata.obs`` or genes to colour cells by; the clusters by default, with a panel for each number of
        clusters where there are several. ``color="utc_confidence"`` shows how sure each cell's label is, and
        ``color=["utc", "utc_confidence"]`` both side by side.
    key
        Key of the result, ``key_added`` of :func:`scutc.tl.utc`.
    dimensions
        The two columns of the embedding to show, counted from 0. It has as many as there are clusters, the ones that
        tell most first: look at further ones where there are many clusters.
    figsize
        Width and height of the figure in inches; not together with ``ax``.
    ax
        Axes to draw on, for a single panel.
    show
        Show the figure; ``None`` follows ``scanpy.settings.autoshow``.
    kwargs
        Further parameters of :func:`scanpy.pl.embedding`, for example ``size`` or ``legend_loc``.

    Returns
    -------
    ``None``, or with ``show=False`` the Axes, a list of them for several panels.

    Examples
    --------
    >>> import scutc
    >>> adata = scutc.datasets.syndata2(n_features=100)
    >>> scutc.tl.utc(adata, n_clusters=3)
    >>> ax = scutc.pl.embedding(adata, show=False)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('utc1', 'utc2')
    """
    import scanpy as sc
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    check_figsize(ax, figsize)
    columns = clusterings(key, read_result(adata, key, or_transferred=True))
    if color is None:
        color = columns if len(columns) > 1 else columns[0]
    kwargs.setdefault("size", min(120_000 / max(embedded_cells(adata, key).sum(), 1), LARGEST_DOT))
    if kwargs.get("gene_symbols") is None:
        _check_colors(adata, color)
    beside = kwargs.get("legend_loc", "right margin") == "right margin"
    if beside:
        kwargs.setdefault("wspace", _between_panels(adata, color))
    drawn = sc.pl.embedding(adata, key, color=color, dimensions=dimensions, ax=ax, show=False, **kwargs)
    figure: Any = drawn if isinstance(drawn, Figure) else np.ravel(np.array(drawn, dtype=object))[0].figure
    if figsize is not None:
        figure.set_size_inches(figsize)
    if key[-1].isdigit():  # the second column of "k3" is not "k32"
        for panel in figure.axes if isinstance(drawn, Figure) else np.ravel(np.array(drawn, dtype=object)):
            for axis in (panel.xaxis, panel.yaxis):
                if axis.get_label_text().startswith(key):
                    axis.set_label_text(f"{key} {axis.get_label_text().removeprefix(key)}")
    if isinstance(drawn, Figure):  # return_fig=True
        return drawn
    # A single panel's legend, which scanpy leaves no room for.
    if ax is None and beside and isinstance(drawn, Axes) and drawn.get_legend() is not None:
        figure.set_layout_engine("constrained")
        if figsize is None:
            widen_by_legend(drawn)
    return finish(drawn, show)


def _check_colors(adata: AnnData, color: str | Sequence[str]) -> None:
    """Raise on a name that is neither a column nor a gene."""
    genes = adata.var_names if adata.raw is None else adata.raw.var_names.union(adata.var_names)
    for name in np.ravel(color):
        if name is not None and name not in adata.obs and name not in genes:
            valid = ", ".join(map(repr, adata.obs))
            msg = f"color={str(name)!r} is neither a gene nor a column of adata.obs. Columns: {valid}."
            raise KeyError(msg)


def _between_panels(adata: AnnData, color: str | Sequence[str]) -> float | None:
    """Space for legends between panels, as part of the width of a panel; ``None`` where scanpy's will do."""
    from matplotlib import rcParams

    widths = [0.0]
    for name in np.ravel(color):
        if name in adata.obs and adata.obs[name].dtype == "category":
            names = adata.obs[name].cat.categories.astype(str)
            n_columns = 1 if len(names) <= 14 else 2 if len(names) <= 30 else 3  # as scanpy has it
            widths.append(n_columns * (BESIDE + LETTER * max(map(len, names), default=0)))
    return max(widths) / rcParams["figure.figsize"][0] if max(widths) > 1 else None
