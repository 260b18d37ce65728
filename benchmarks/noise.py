"""Few cells and thousands of genes that only add noise: UTC, and what users run, with and without variable genes.

Usage: python benchmarks/noise.py    (needs the extra ``benchmark``; about half an hour)

Simulated counts of 90 cells in groups of 40, 30 and 20. Each group has 60 markers, which it expresses several times as
much as the others; all other genes are the same in all groups. Cells differ in depth and counts are overdispersed.
Writes noise.md to benchmarks/results.
"""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import scanpy as sc
from anndata import AnnData
from common import N_VARIABLE, RESULTS, circumstances, markdown, with_variable_genes
from methods import FEW_COMPONENTS, run_kmeans, run_leiden_at_k
from sklearn.metrics import adjusted_rand_score
from tqdm import tqdm

import scutc

SIZES = (40, 30, 20)
N_MARKERS = 60
# How many times as much as others a group expresses its markers: easy with few genes and hard with many; and weaker.
FOLDS = (4, 3)
NUMBERS_OF_GENES = (3_000, 10_000, 20_000, 50_000)
DRAWS = range(10)
K = len(SIZES)
VARIABLE = f"{N_VARIABLE} variable genes"
# On all genes, and on the variable ones.
ON_ALL = {
    "UTC": lambda adata: scutc.UTC(K).fit_predict(adata.X),
    "UTC, no gene left out": lambda adata: scutc.UTC(K, screen_genes=False).fit_predict(adata.X),
    "k-means on PCA": lambda adata: run_kmeans(adata, K),
    "Leiden at k": lambda adata: run_leiden_at_k(adata, K),
    f"Leiden at k, {FEW_COMPONENTS} PCs": lambda adata: run_leiden_at_k(adata, K, n_components=FEW_COMPONENTS),
}
ON_VARIABLE = {
    "UTC": ON_ALL["UTC"],
    "k-means on PCA": ON_ALL["k-means on PCA"],
    f"k-means on {FEW_COMPONENTS} PCs": lambda adata: run_kmeans(adata, K, n_components=FEW_COMPONENTS),
    "Leiden at k": ON_ALL["Leiden at k"],
    f"Leiden at k, {FEW_COMPONENTS} PCs": ON_ALL[f"Leiden at k, {FEW_COMPONENTS} PCs"],
}


def simulate(n_genes: int, fold: float, seed: int) -> AnnData:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(len(SIZES)), SIZES)
    rates = np.tile(rng.lognormal(-1, 1.2, n_genes), (len(groups), 1))
    for group in range(len(SIZES)):
        rates[groups == group, group * N_MARKERS : (group + 1) * N_MARKERS] *= fold
    rates *= rng.lognormal(0, 0.3, (len(groups), 1))
    adata = AnnData(rng.negative_binomial(2, 2 / (2 + rates)).astype(np.float32), obs={"label": groups})
    sc.pp.filter_genes(adata, min_cells=3)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for n_genes, fold, seed in tqdm(list(product(NUMBERS_OF_GENES, FOLDS, DRAWS)), unit="draw"):
        everything = simulate(n_genes, fold, seed)
        variable = with_variable_genes(everything.copy())
        for adata, methods, chosen in ((everything, ON_ALL, ""), (variable, ON_VARIABLE, f", {VARIABLE}")):
            for method, cluster in methods.items():
                ari = adjusted_rand_score(adata.obs["label"], cluster(adata.copy()))
                rows.append({"fold": fold, "genes": n_genes, "method": f"{method}{chosen}", "ARI": ari})
    table = pd.DataFrame(rows).pivot_table(index=["fold", "method"], columns="genes", values="ARI", sort=False)
    parts = [
        "# Thousands of genes that only add noise",
        circumstances("scutc", "scanpy", "igraph", "numpy", "scipy", "scikit-learn"),
        f"Written by `benchmarks/noise.py`, which says how counts are simulated. Mean ARI of {len(DRAWS)} draws, the "
        "number of clusters given.",
    ]
    for fold in FOLDS:
        parts += [f"## Markers {fold} times as high, by the number of genes", markdown(table.loc[fold])]
    text = "\n\n".join(parts) + "\n"
    (RESULTS / "noise.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
