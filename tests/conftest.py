from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import scanpy as sc
from anndata import AnnData

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


@pytest.fixture
def adata() -> AnnData:
    return make_groups()
