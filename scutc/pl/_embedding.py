"""The fused embedding in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._anndata import clusterings, read_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData
    from matplotlib.axes import Axes

# In square points. scanpy's own size, 120 000 divided by the number of cells, makes blots of a hundred cells.
LARGEST_DOT = 120.0


def embedding(
    adata: AnnData,
    *,
    color: str | Sequence[str] | None = None,
    key: str = "utc",
    dimensions: tuple[int, int] | Sequence[tuple[int, int]] = (0, 1),
    ax: Axes | None = None,
    show: bool | None = None,
    **kwargs: Any,
) -> Any:
    """Scatter plot of the fused embedding, by :func:`scanpy.pl.embedding`.

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

    columns = clusterings(key, read_result(adata, key, or_transferred=True))
    if color is None:
        color = columns if len(columns) > 1 else columns[0]
    kwargs.setdefault("size", min(120_000 / adata.n_obs, LARGEST_DOT))
    return sc.pl.embedding(adata, key, color=color, dimensions=dimensions, ax=ax, show=show, **kwargs)
