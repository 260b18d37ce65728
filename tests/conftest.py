from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import scanpy as sc
from anndata import AnnData
from scipy import sparse

mpl.use("Agg")


def make_groups(sizes: tuple[int, ...] = (20, 15, 10), n_genes: int = 60, seed: int = 0) -> AnnData:
    """Log-normalised counts of groups of cells, each with genes of its own; ``obs["group"]`` is the truth."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    rates = np.full((len(sizes), n_genes), 1.0)
    for group in range(len(sizes)):
        rates[group, group :: len(sizes)] = 6.0
    adata = AnnData(rng.poisson(rates[groups]).astype(np.float32))
    adata.obs["group"] = groups.astype(str)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata


def snapshot(adata: AnnData) -> tuple:
    """All that a tool could have written to, to be compared before and after."""
    arrays = {name: np.asarray(value).tobytes() for name, value in adata.obsm.items()}
    matrix = adata.X.toarray() if sparse.issparse(adata.X) else adata.X
    names = [list(map(str, part)) for part in (adata.var, adata.varm, adata.layers, adata.obsp)]
    return arrays, str(matrix), names, repr(adata.uns), adata.is_view, adata.obs.to_csv()


@pytest.fixture
def adata() -> AnnData:
    return make_groups()
