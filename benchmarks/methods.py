"""What is compared: UTC, its single orders, its rivals, and what users run. All take data and a number of clusters."""

from __future__ import annotations

import json
import os
import subprocess
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import scanpy as sc
from common import RIVALS
from sklearn.cluster import KMeans

import scutc

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from anndata import AnnData

PACKAGES = ["scutc", "scanpy", "igraph", "numpy", "scipy", "scikit-learn"]
# Users of few cells often take fewer principal components than scanpy's 50.
FEW_COMPONENTS = 20
# Largest number of cells that a method is given: above, it would take hours or more memory than a laptop has.
LARGEST = {"CAN": 5000, "PPS": 1500, "IPS2": 1500}


def run_utc(adata: AnnData, k: int | None, orders: tuple[int, ...] = (2, 3, 4)) -> Any:
    return scutc.UTC(k, orders=orders, n_jobs=1).fit_predict(adata.X)


def principal_components(adata: AnnData, n_components: int = 50) -> None:
    """As many as scanpy's default, or fewer, as many users choose; never more than the data have."""
    sc.pp.pca(adata, n_comps=min(n_components, *(size - 1 for size in adata.shape)))


def run_kmeans(adata: AnnData, k: int, **components: int) -> Any:
    principal_components(adata, **components)
    return KMeans(k, n_init=10, random_state=0).fit_predict(adata.obsm["X_pca"])


def neighbours(adata: AnnData, **components: int) -> None:
    principal_components(adata, **components)
    sc.pp.neighbors(adata)


def leiden(adata: AnnData, resolution: float = 1.0) -> pd.Series:
    sc.tl.leiden(adata, resolution=resolution, flavor="igraph", n_iterations=2, directed=False, random_state=0)
    return adata.obs["leiden"]


def leiden_at_k(adata: AnnData, k: int) -> pd.Series:
    """With the resolution halved in (on a log scale) until there are k clusters, or as near as 30 steps come."""
    low, high = 1e-3, 1e2
    best = None
    for _ in range(30):
        middle = np.sqrt(low * high)
        labels = leiden(adata, middle)
        found = labels.nunique()
        if best is None or abs(found - k) < abs(best.nunique() - k):
            best = labels.copy()
        if found == k:
            break
        low, high = (middle, high) if found < k else (low, middle)
    return best


def run_leiden(adata: AnnData, k: int, **components: int) -> Any:
    """With scanpy's default resolution: the number of clusters is not used."""
    neighbours(adata, **components)
    return leiden(adata)


def run_leiden_at_k(adata: AnnData, k: int, **components: int) -> Any:
    neighbours(adata, **components)
    return leiden_at_k(adata, k)


class Peers:
    """Methods of another environment, each on the principal components that k-means gets."""

    NAMES = ("SC3s", "PhenoGraph", "PARC")

    def __init__(self, python: str) -> None:
        # PhenoGraph leaves files where it is started.
        self._folder = TemporaryDirectory()
        self._worker = subprocess.Popen(
            [Path(python).absolute(), "-I", Path(__file__).with_name("peers_worker.py").resolve()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            cwd=self._folder.name,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        self.versions: dict[str, str] = json.loads(self._worker.stdout.readline() or "{}")
        self.methods = {name: partial(self._run, name) for name in self.versions}

    def _run(self, name: str, adata: AnnData, k: int) -> Any:
        principal_components(adata)
        path = Path(self._folder.name, "X_pca.npy")
        np.save(path, adata.obsm["X_pca"])
        print(json.dumps([name, f"{path}", k]), file=self._worker.stdin, flush=True)
        answer = json.loads(self._worker.stdout.readline() or '{"error": "the environment of its own died"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer["labels"]


METHODS: dict[str, Callable[[AnnData, int], Any]] = {
    "UTC": run_utc,
    **{
        name: lambda adata, k, rival=rival: rival(k, metric="correlation", random_state=0).fit_predict(adata.X)
        for name, rival in RIVALS.items()
    },
    "k-means on PCA": run_kmeans,
    "Leiden at k": run_leiden_at_k,
    f"k-means on {FEW_COMPONENTS} PCs": partial(run_kmeans, n_components=FEW_COMPONENTS),
    f"Leiden at k, {FEW_COMPONENTS} PCs": partial(run_leiden_at_k, n_components=FEW_COMPONENTS),
    "UTC, order 2": lambda adata, k: run_utc(adata, k, (2,)),
    "UTC, order 3": lambda adata, k: run_utc(adata, k, (3,)),
    "UTC, order 4": lambda adata, k: run_utc(adata, k, (4,)),
    "UTC, k estimated": lambda adata, k: run_utc(adata, None),
    "Leiden, default": run_leiden,
    f"Leiden, {FEW_COMPONENTS} PCs": partial(run_leiden, n_components=FEW_COMPONENTS),
}
# The first of a list is what the others are compared with.
K_GIVEN = [
    *("UTC", *RIVALS, "k-means on PCA", f"k-means on {FEW_COMPONENTS} PCs"),
    *("Leiden at k", f"Leiden at k, {FEW_COMPONENTS} PCs", "SC3s"),
]
K_UNKNOWN = ["UTC, k estimated", "Leiden, default", f"Leiden, {FEW_COMPONENTS} PCs", "PhenoGraph", "PARC"]
ORDERS = ["UTC, order 2", "UTC, order 3", "UTC, order 4"]
# All genes take longer, so only the rival that is nearest to UTC and what users run.
ALL_GENES = ["UTC", "CAN", "k-means on PCA", "Leiden at k", "SC3s", "UTC, k estimated", "Leiden, default"]
