"""Agreement of ``scutc.tl.utc`` with known labels, with default parameters.

Usage: python benchmarks/quality.py FOLDER    (or the folder in the variable SCUTC_DATA)

The folder holds labelled .h5ad files: ``obs["label"]`` the truth, ``uns["values"]`` the kind of values.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import scanpy as sc
from sklearn.metrics import adjusted_rand_score

import scutc


def prepare(adata: anndata.AnnData) -> anndata.AnnData:
    """The same for every method: log-normalised, 2 000 most variable genes; images and negative values as they are."""
    values = adata.uns["values"]
    if values == "pixels" or adata.X.min() < 0:
        return adata
    sc.pp.filter_genes(adata, min_cells=3)
    if not values.startswith("log"):
        sc.pp.normalize_total(adata, target_sum=1e4 if values.startswith("linear") else None)
        sc.pp.log1p(adata)
    if adata.n_vars > 2000:
        sc.pp.highly_variable_genes(adata, n_top_genes=2000, flavor="seurat")
        adata = adata[:, adata.var["highly_variable"]].copy()
    return adata


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["SCUTC_DATA"])
    warnings.simplefilter("ignore")
    rows = []
    for path in sorted(folder.glob("*.h5ad")):
        adata = prepare(anndata.read_h5ad(path))
        truth = adata.obs["label"]
        start = time.perf_counter()
        scutc.tl.utc(adata, n_clusters=truth.nunique(), n_jobs=-1)
        seconds = time.perf_counter() - start
        scutc.tl.utc(adata, key_added="estimated", n_jobs=-1)
        rows.append(
            {
                "data": path.stem,
                "cells": adata.n_obs,
                "k": truth.nunique(),
                "ARI": adjusted_rand_score(truth, adata.obs["utc"]),
                **{f"agreement {order}": value for order, value in adata.uns["utc"]["agreement"].items()},
                "seconds": seconds,
                "estimated k": adata.uns["estimated"]["n_clusters"],
                "ARI at estimated k": adjusted_rand_score(truth, adata.obs["estimated"]),
            }
        )
        print(f"{len(rows)}: {path.stem}", file=sys.stderr)
    table = pd.DataFrame(rows).set_index("data")
    print(table.round(2).to_string())
    print(f"\nmean ARI at the true number of clusters: {table['ARI'].mean():.3f}")
    print(f"mean ARI at the estimated number: {table['ARI at estimated k'].mean():.3f}")
    print(f"mean |estimated k - k|: {np.abs(table['estimated k'] - table['k']).mean():.2f}")


if __name__ == "__main__":
    main()
