"""What halves of the genes tell, against the truth: how many clusters, whether there are any, and how sure labels are.

Usage: python benchmarks/halves.py FOLDER    (or the folder in the variable SCUTC_DATA)

The folder holds labelled .h5ad files, as for quality.py. Without one only simulated populations are measured. Writes
halves.md to benchmarks/results.
"""

from __future__ import annotations

import argparse
import os
import warnings
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scanpy as sc
from anndata import AnnData
from common import RESULTS, circumstances, markdown, prepare
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

N_SIMULATED = 20
SEEDS = range(6)
# A few outliers among so few cells are easily taken for a population.
FEW_CELLS = (16, 20, 30, 50)
# Sets with more cells are run once, and permuted sets are cut to so many.
MAX_CELLS = 1000
# The least sure part of the cells.
LEAST_SURE = 0.2


def simulate(
    seed: int, n_groups: int = 1, n_genes: int = 2000, numbers_of_cells: Sequence[int] = (60, 100, 200, 400)
) -> NDArray[np.float64]:
    """Log-normalised counts of cells that differ in depth, overdispersed; groups have genes of their own."""
    rng = np.random.default_rng([seed, n_groups])
    n_cells, dispersion = int(rng.choice(numbers_of_cells)), rng.choice([0.1, 0.3, 0.5])
    rates = np.tile(rng.gamma(0.5, 2.0, n_genes), (n_groups, 1))
    for rate in rates if n_groups > 1 else []:
        markers = rng.choice(n_genes, n_genes * 3 // 100, replace=False)
        rate[markers] *= np.exp(np.abs(rng.normal(0, 1.5, len(markers))))
    expected = rates[rng.integers(n_groups, size=n_cells)] * rng.lognormal(0, 0.5, (n_cells, 1))
    adata = AnnData(rng.poisson(expected * rng.gamma(1 / dispersion, dispersion, expected.shape)).astype(float))
    sc.pp.filter_genes(adata, min_cells=3)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata.X


def permuted(adata: AnnData) -> NDArray[np.float64]:
    """Every gene's values dealt to the cells anew: nothing is left that genes could agree on."""
    rng = np.random.default_rng(0)
    X = np.asarray(adata.X.toarray() if hasattr(adata.X, "toarray") else adata.X)
    X = rng.permuted(X[rng.permutation(len(X))[:MAX_CELLS]], axis=0)
    return X[X.std(axis=1) > 0]


def number_found(X: Any, seed: int = 0) -> int:
    return scutc.UTC(random_state=seed).fit(X).n_clusters_


def measure_set(name: str, adata: AnnData) -> dict[str, Any]:
    truth = np.unique(adata.obs["label"].astype(str), return_inverse=True)[1]
    k = int(truth.max()) + 1
    estimated = scutc.UTC().fit(adata.X)
    found = [estimated.n_clusters_]
    if adata.n_obs <= MAX_CELLS:
        found += [number_found(adata.X, seed) for seed in SEEDS[1:]]
    given = scutc.UTC(k).fit(adata.X)
    row = {
        "data": name,
        "cells": adata.n_obs,
        "k": k,
        "found": estimated.n_clusters_,
        "ARI": adjusted_rand_score(truth, estimated.labels_),
        "ARI, k given": adjusted_rand_score(truth, given.labels_),
        "seeds agree": np.mean([a == b for a, b in combinations(found, 2)]) if found[1:] else np.nan,
    }
    counts = pd.crosstab(given.labels_, truth).to_numpy()
    right = linear_sum_assignment(counts, maximize=True)[1][given.labels_] == truth
    if 0 < right.sum() < len(right):
        least_sure = np.argsort(given.confidence_, kind="stable")[: round(LEAST_SURE * len(right))]
        row |= {
            "AUROC": roc_auc_score(right, given.confidence_),
            "wrong": 1 - right.mean(),
            "wrong, least sure": 1 - right[least_sure].mean(),
            "of all errors": np.count_nonzero(~right[least_sure]) / np.count_nonzero(~right),
        }
    return row


def with_error(values: pd.Series) -> str:
    return f"{values.mean():.3f} ± {values.sem():.3f}"


def report(sets: pd.DataFrame, simulated: Mapping[str, list[int]]) -> str:
    lines = [
        "# What halves of the genes tell",
        "`python benchmarks/halves.py FOLDER` made this page. "
        + circumstances("scutc", "scanpy", "numpy", "scikit-learn"),
        "## Are there clusters at all?",
        "Numbers of clusters found, k unknown. One population has 60 to 400 cells of different depth and overdispersed "
        f"counts, 2000 genes; few cells are {', '.join(map(str, FEW_CELLS))}. Permuted are real sets in which every "
        "gene's values are dealt to the cells anew.",
        markdown(
            pd.DataFrame(
                {
                    "sets": {name: len(found) for name, found in simulated.items()},
                    "one cluster": {name: found.count(1) for name, found in simulated.items()},
                    "found": {name: " ".join(map(str, found)) for name, found in simulated.items()},
                }
            ).rename_axis("data")
        ),
    ]
    if len(sets):
        off = (sets["found"] - sets["k"]).abs()
        summary = {
            "sets": str(len(sets)),
            "mean ARI, k unknown": with_error(sets["ARI"]),
            "number of clusters off by": with_error(off),
            "mean ARI, k given": with_error(sets["ARI, k given"]),
            f"pairs of seeds 0 to 5 that find the same number, up to {MAX_CELLS} cells": with_error(
                sets["seeds agree"]
            ),
            "AUROC of the confidence, right against wrong labels, k given": with_error(sets["AUROC"]),
            "labels that are wrong": with_error(sets["wrong"]),
            f"the same among the {LEAST_SURE:.0%} least sure": with_error(sets["wrong, least sure"]),
            "part of all wrong labels that is among these": with_error(sets["of all errors"]),
        }
        lines += [
            "## How many, and how sure?",
            "Whole sets, log-normalised, 2000 most variable genes; labels are right whose cluster is matched to "
            "their class. The weight of separation next to information was chosen on these sets.",
            markdown(pd.DataFrame({"mean, standard error": summary}).rename_axis("what")),
            markdown(sets.set_index("data")),
        ]
    return "\n\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default=os.environ.get("SCUTC_DATA"))
    folder = parser.parse_args().folder
    warnings.simplefilter("ignore")  # of one cluster, which is what is counted
    sets = (
        {name: prepare(adata) for name, adata in tqdm(scutc.datasets.read_labelled(folder).items())} if folder else {}
    )
    some = list(sets.values())[:: max(1, len(sets) // N_SIMULATED)][:N_SIMULATED]
    simulated = {
        "one population": [number_found(simulate(seed)) for seed in tqdm(range(N_SIMULATED))],
        **{
            f"one population, few cells, {n_genes} genes": [
                number_found(simulate(seed, n_genes=n_genes, numbers_of_cells=FEW_CELLS))
                for seed in tqdm(range(N_SIMULATED))
            ]
            for n_genes in (2_000, 10_000)
        },
        "five groups": [number_found(simulate(seed, 5)) for seed in tqdm(range(N_SIMULATED))],
    }
    if some:
        simulated["permuted"] = [number_found(permuted(adata)) for adata in tqdm(some)]
    rows = [measure_set(name, adata) for name, adata in tqdm(sets.items())]
    text = report(pd.DataFrame(rows), simulated)
    (RESULTS / "halves.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
