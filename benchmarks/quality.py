"""Agreement with known labels, on every data set of a folder: UTC, its single orders, its rivals, and what users run.

Usage: python benchmarks/quality.py FOLDER    (or the folder in the variable SCUTC_DATA; needs the extra ``benchmark``)

The folder holds labelled .h5ad files: ``obs["label"]`` the truth, ``uns["values"]`` the kind of values, one of
"counts", "linear …", "log …" and "pixels".

Writes quality.csv and quality.md to benchmarks/results. A row is added to quality.csv as soon as it is measured; what
is there already, from the same code, packages, machine and file, is not measured again. So an interrupted run goes on
where it was.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import os
import sys
import warnings
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import scanpy as sc
from common import DISCLOSURE, RESULTS, RIVALS, SCORES, environment, markdown, measure, prepare
from sklearn.cluster import KMeans
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anndata import AnnData

COLUMNS = ["data", "method", "circumstances", "date", "cells", "genes", "k", "clusters", *SCORES, "seconds"]
# Scores closer than this count as equal.
TIE = 0.01
# Largest number of cells that a method is given: above, it would take hours or more memory than a laptop has.
LARGEST = {"CAN": 5000, "PPS": 1500, "IPS2": 1500}


def run_utc(adata: AnnData, k: int | None, orders: tuple[int, ...] = (2, 3, 4)) -> Any:
    return scutc.UTC(k, orders=orders, n_jobs=1).fit_predict(adata.X)


def run_kmeans(adata: AnnData, k: int) -> Any:
    sc.pp.pca(adata)
    return KMeans(k, n_init=10, random_state=0).fit_predict(adata.obsm["X_pca"])


def neighbours(adata: AnnData) -> None:
    sc.pp.pca(adata)
    sc.pp.neighbors(adata)


def leiden(adata: AnnData, resolution: float = 1.0) -> pd.Series:
    sc.tl.leiden(adata, resolution=resolution, flavor="igraph", n_iterations=2, directed=False, random_state=0)
    return adata.obs["leiden"]


def run_leiden(adata: AnnData, k: int) -> Any:
    """With scanpy's default resolution: the number of clusters is not used."""
    neighbours(adata)
    return leiden(adata)


def run_leiden_at_k(adata: AnnData, k: int) -> Any:
    """With the resolution halved in (on a log scale) until there are k clusters, or as near as 30 steps come."""
    neighbours(adata)
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


def run_sc3s(adata: AnnData, k: int) -> Any:
    import sc3s

    sc.pp.pca(adata)
    sc3s.tl.consensus(adata, n_clusters=k, random_state=0)
    return adata.obs[f"sc3s_{k}"]


PACKAGES = ["scutc", "scanpy", "igraph", "numpy", "scipy", "scikit-learn"]

# Every method takes prepared data and the true number of clusters, and returns labels.
METHODS: dict[str, Callable[[AnnData, int], Any]] = {
    "UTC": run_utc,
    "UTC, order 2": lambda adata, k: run_utc(adata, k, (2,)),
    "UTC, order 3": lambda adata, k: run_utc(adata, k, (3,)),
    "UTC, order 4": lambda adata, k: run_utc(adata, k, (4,)),
    **{
        name: lambda adata, k, rival=rival: rival(k, metric="correlation", random_state=0).fit_predict(adata.X)
        for name, rival in RIVALS.items()
    },
    "k-means on PCA": run_kmeans,
    "Leiden at k": run_leiden_at_k,
}
SC3S = find_spec("sc3s") is not None
if SC3S:
    METHODS["SC3s"] = run_sc3s
    PACKAGES.append("sc3s")
# These find the number of clusters themselves.
K_UNKNOWN: dict[str, Callable[[AnnData, int], Any]] = {
    "UTC, k estimated": lambda adata, k: run_utc(adata, None),
    "Leiden, default": run_leiden,
}
ALL_METHODS = METHODS | K_UNKNOWN


def fingerprint() -> str:
    """What results depend on: packages, machine, and the code, whose version does not change with every commit."""
    files = [*sorted(Path(scutc.__file__).parent.rglob("*.py")), Path(__file__), Path(__file__).with_name("common.py")]
    source = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]
    return f"{environment(*PACKAGES)}; code {source}"


def read_rows(path: Path) -> pd.DataFrame:
    """The rows measured so far, without one that was cut off in the middle of being written."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    text = path.read_text()
    complete = text[: text.rfind("\n") + 1]
    if complete != text:
        path.write_text(complete)
    return pd.read_csv(path) if complete else pd.DataFrame(columns=COLUMNS)


def append_row(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists() or not path.stat().st_size
    text = pd.DataFrame([row], columns=COLUMNS).to_csv(header=new, index=False)
    with path.open("a") as file:
        file.write(text)


def run(sets: Mapping[str, AnnData], path: Path, here: str) -> list[str]:
    """Measure what is not in the table yet under these circumstances; return what failed."""
    rows = read_rows(path)
    done = set(rows.loc[rows["circumstances"] == here, ["data", "method"]].itertuples(index=False, name=None))
    missing = {name: [method for method in ALL_METHODS if (name, method) not in done] for name in sets}
    total = len(sets) * len(ALL_METHODS)
    failures = []
    neighbours(scutc.datasets.syndata2(100))  # numba compiles at the first call: not to be timed
    with tqdm(total=total, initial=total - sum(map(len, missing.values())), unit="run") as progress:
        for name, methods in missing.items():
            if not methods:
                continue
            try:
                adata = load(sets, name)
            except Exception as error:  # One bad file must not cost the other results.
                failures.append(f"{name}: {error}")
                progress.update(len(methods))
                continue
            sizes = {"cells": adata.n_obs, "genes": adata.n_vars, "k": adata.obs["label"].nunique()}
            for method in methods:
                progress.set_description(f"{name}, {method}")
                progress.update()
                row = {"data": name, "method": method, "circumstances": here, "date": f"{date.today()}", **sizes}
                if adata.n_obs > LARGEST.get(method, adata.n_obs):
                    append_row(path, row)
                    continue
                cluster = ALL_METHODS[method]
                try:
                    found = measure(adata.copy(), lambda data, cluster=cluster, k=sizes["k"]: cluster(data, k))
                except Exception as error:  # One failure must not cost the other results.
                    failures.append(f"{name}, {method}: {error}")
                else:
                    append_row(path, row | found)
    return failures


def load(sets: Mapping[str, AnnData], name: str) -> AnnData:
    adata = sets[name]
    if "values" not in adata.uns:
        msg = f"{name} has no uns['values'], the kind of its values: counts, linear, log or pixels."
        raise ValueError(msg)
    return prepare(adata)


def summary(rows: pd.DataFrame, methods: list[str], common: list[str]) -> pd.DataFrame:
    """Methods × mean scores, over all sets that a method ran and over those that all methods ran."""
    of_method = rows.groupby("method")
    shared = rows[rows["data"].isin(common)].groupby("method")
    exact = (rows["clusters"] == rows["k"]).groupby(rows["method"]).sum()
    table = pd.DataFrame({"sets": of_method.size(), "exactly k": exact, "ARI, its sets": of_method["ARI"].mean()})
    return table.join(shared[[*SCORES, "seconds"]].mean()).reindex(methods)


def wins_and_losses(ari: pd.DataFrame, methods: list[str]) -> pd.DataFrame:
    """In how many sets UTC is better and worse than each method, and by how much on average."""
    difference = ari[methods].rsub(ari["UTC"], axis=0)
    return pd.DataFrame(
        {
            "UTC wins": (difference > TIE).sum(),
            "ties": (difference.abs() <= TIE).sum(),
            "UTC loses": (difference < -TIE).sum(),
            "mean difference in ARI": difference.mean(),
        }
    ).rename_axis("against")


def orders_and_fusion(ari: pd.DataFrame) -> str:
    orders = [f"UTC, order {order}" for order in (2, 3, 4)]
    single = ari[orders].dropna()
    fused = ari.loc[single.index, "UTC"]
    best, worst = single.max(axis=1), single.min(axis=1)
    means = ", ".join(f"order {order[-1]} alone {single[order].mean():.3f}" for order in orders)
    return (
        f"Mean ARI over {len(single)} sets: {means}, **fused {fused.mean():.3f}**. The best of the three, which nobody "
        f"knows beforehand, would have {best.mean():.3f}, the worst {worst.mean():.3f}. The fusion is above the best "
        f"in {(fused > best + TIE).sum()} sets, equal to it in {((fused - best).abs() <= TIE).sum()}, and below the "
        f"worst in {(fused < worst - TIE).sum()}."
    )


def number_of_clusters(rows: pd.DataFrame) -> pd.DataFrame:
    """How far from the truth the methods are that find the number of clusters themselves."""
    rows = rows.assign(distance=(rows["clusters"] - rows["k"]).abs()).groupby("method")
    return pd.DataFrame(
        {
            "mean ARI": rows["ARI"].mean(),
            "mean distance from k": rows["distance"].mean(),
        }
    ).reindex(list(K_UNKNOWN))


def report(rows: pd.DataFrame, failures: list[str]) -> str:
    if not (rows["method"] == "UTC").any():
        return "\n".join(["Nothing to report: UTC ran on no data set.", *failures]) + "\n"
    ari = rows.pivot_table(index="data", columns="method", values="ARI")
    methods = [method for method in ALL_METHODS if method in ari]
    ari = ari[methods]
    sizes = rows.groupby("data")[["cells", "genes", "k"]].first()
    estimated = rows[rows["method"] == "UTC, k estimated"].set_index("data")["clusters"].rename("k estimated")
    common = list(ari.dropna().index)
    limits = ", ".join(f"{method} {cells}" for method, cells in LARGEST.items())
    parts = [
        "# Agreement with known labels",
        f"Measured on {' and '.join(sorted(rows['date'].unique()))} with {rows['circumstances'].iloc[0]}.",
        f"{len(ari)} data sets, all prepared the same way; the methods run with their defaults and seed 0, Leiden with "
        "igraph and two iterations. Those of scutc get the true number of clusters k and distances of the correlation, "
        "and have one thread. All scores are in `quality.csv`. A dash: not run. Methods are not given more cells than "
        f"this: {limits}.",
        DISCLOSURE,
        "## Means",
        "In how many sets a method ran, in how many it gave exactly k clusters, and its mean ARI over them; the other "
        f"scores and the time (seconds) are means over the {len(common)} sets that every method ran.",
        markdown(summary(rows, methods, common)),
        "## UTC against the others",
        f"By ARI, over the sets that both ran; a difference of at most {TIE} is a tie.",
        markdown(wins_and_losses(ari, [method for method in methods if method in METHODS and method != "UTC"])),
        "## Single orders and their fusion",
        orders_and_fusion(ari),
        "## Without the number of clusters",
        markdown(number_of_clusters(rows)),
        "## ARI on every data set",
        markdown(sizes.join(estimated.astype("Int64")).join(ari)),
    ]
    if failures:
        parts += ["## Failed", "\n".join(f"- {failure}" for failure in failures)]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Score UTC and others on every labelled data set of a folder.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SCUTC_DATA"), help="default: $SCUTC_DATA")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="default: benchmarks/results")
    options = parser.parse_args()
    if options.folder is None:
        parser.error("give the folder, or set SCUTC_DATA")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "quality.csv"
    here = fingerprint()
    try:
        sets = scutc.datasets.read_labelled(options.folder)
        failures = run(sets, path, here)
    except (FileNotFoundError, ValueError) as error:
        print(f"quality.py: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(f"\nInterrupted. {path} keeps what was measured; run again to go on.", file=sys.stderr)
        return 130
    rows = read_rows(path)
    # Sets that a method was not given have a row, so that a resumed run need not look at them, but no scores.
    text = report(rows[(rows["circumstances"] == here) & rows["data"].isin(list(sets))].dropna(), failures)
    (options.output / "quality.md").write_text(text)
    print(text)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
