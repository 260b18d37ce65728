"""Many cells: time, memory and agreement next to scanpy, landmarks next to the exact path, and transfer to new cells.

Usage: python benchmarks/scale.py [--data FOLDER] [--work FOLDER] [--only PART …]    (needs the extras
``benchmark`` and ``dask``; the million cells take 2 GB of disk in the work folder, a temporary one by default)

Parts: ``choice`` of the landmarks, ``threshold`` above which landmarks pay, ``memory`` (30 000 and 100 000 cells in
memory), ``stream`` (100 000 and 1 000 000 cells from a file), and with --data, the folder of labelled .h5ad files that
quality.py has, ``rule`` (how landmarks give labels), ``exact`` (landmarks next to the exact path) and ``transfer``.

Needs Linux, for the peak memory. Every measurement of it and of time next to scanpy runs in a process of its own.
Writes benchmarks/results/scale.md, a section for each part; parts that are not run keep theirs.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anndata
import h5py
import numpy as np
import pandas as pd
import scanpy as sc
from common import RESULTS, circumstances, markdown, prepare
from methods import leiden, leiden_at_k, neighbours
from scipy import sparse
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import adjusted_rand_score
from tqdm import tqdm

import scutc
from scutc.core import landmarks
from scutc.core.blocks import map_blocks
from scutc.core.extension import Speakers, vote

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

SHARES = np.array([0.3, 0.22, 0.16, 0.12, 0.08, 0.05, 0.03, 0.02, 0.018, 0.002])
N_GENES, N_GROUPS = 2000, len(SHARES)
RAREST = N_GROUPS - 1
# A group counts as found where it shares at least half of its union with a cluster.
FOUND = 0.5
REPEATS = 2
MIN_CELLS = 800
BACKED, DASK, MEMORY = "backed", "Dask", "memory"


# --- data


def simulate(path: Path, n_cells: int, *, n_markers: int = 100, depth: float = 500, seed: int = 0) -> Path:
    """Counts of 10 groups of very unequal size, log-normalised, as CSR in an .h5ad file; kept if it is there."""
    if path.exists():
        return path
    rng = np.random.default_rng(seed)
    rates = np.tile(rng.lognormal(0.0, 1.2, N_GENES), (N_GROUPS, 1))
    for group in rates:
        group[rng.choice(N_GENES, n_markers, replace=False)] *= np.exp(rng.normal(1.5, 0.5, n_markers))
    rates /= rates.sum(axis=1, keepdims=True)
    labels = rng.permutation(np.repeat(np.arange(N_GROUPS), np.round(SHARES * n_cells).astype(int)))

    def block(rows: slice) -> sparse.csr_matrix:
        depths = rng.lognormal(np.log(depth), 0.4, len(labels[rows]))
        cells = sc.AnnData(sparse.csr_matrix(rng.poisson(rates[labels[rows]] * depths[:, None]).astype(np.float32)))
        sc.pp.normalize_total(cells, target_sum=depth)
        sc.pp.log1p(cells)
        return cells.X

    unfinished = path.with_suffix(".part")
    height = 20_000
    sc.AnnData(block(slice(0, height)), obs=pd.DataFrame(index=map(str, range(min(height, n_cells))))).write(unfinished)
    with h5py.File(unfinished, "r+") as file:
        matrix = anndata.io.sparse_dataset(file["X"])
        for start in tqdm(
            range(height, n_cells, height), desc=f"simulating {n_cells} cells", disable=n_cells < 200_000
        ):
            matrix.append(block(slice(start, start + height)))
        obs = pd.DataFrame({"label": pd.Categorical(labels.astype(str))}, index=np.arange(n_cells).astype(str))
        del file["obs"]
        anndata.io.write_elem(file, "obs", obs)
    unfinished.rename(path)
    return path


def read(path: Path, source: str) -> AnnData:
    if source == MEMORY:
        return anndata.read_h5ad(path)
    adata = anndata.read_h5ad(path, backed="r")
    if source == BACKED:
        return adata
    chunked = anndata.experimental.read_elem_lazy(adata.file["X"], chunks=(20_000, adata.n_vars))
    return anndata.AnnData(chunked, obs=adata.obs)


# --- single measurements, each in a process of its own


def run_scanpy(path: Path, n_clusters: int) -> dict[str, float]:
    """Time of PCA, neighbours and Leiden, warm; then the resolution is searched that gives the number of clusters."""

    def route(adata: AnnData) -> None:
        neighbours(adata)
        leiden(adata)

    # Numba compiles one code for few cells and another for many.
    for n_cells in (1000, 10_000):
        route(sc.AnnData(np.random.default_rng(0).normal(size=(n_cells, 60)).astype(np.float32)))
    adata = read(path, MEMORY)
    start = time.perf_counter()
    route(adata)
    measured = {"seconds": time.perf_counter() - start, "GB": peak_memory()}
    adata.obs["leiden"] = leiden_at_k(adata, n_clusters)
    return {**measured, **agreement(adata, "leiden")}


def run_utc(path: Path, n_clusters: int, source: str, n_jobs: int | None) -> dict[str, float]:
    scutc.tl.utc(sc.datasets.blobs(n_observations=100), n_clusters=2)
    adata = read(path, source)
    start = time.perf_counter()
    scutc.tl.utc(adata, n_clusters=n_clusters, n_jobs=n_jobs)
    return {"seconds": time.perf_counter() - start, "GB": peak_memory(), **agreement(adata, "utc")}


def peak_memory() -> float:
    """In GB. Not from ``resource.getrusage``, whose maximum starts from that of the process that started this one."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024**2


def agreement(adata: AnnData, key: str) -> dict[str, float]:
    truth, found = adata.obs["label"].to_numpy().astype(int), adata.obs[key].cat.codes.to_numpy()
    return {
        "clusters": int(found.max()) + 1,
        "ARI": adjusted_rand_score(truth, found),
        "rarest group": overlap(truth == RAREST, found),
    }


def overlap(group: NDArray[np.bool_], found: NDArray[np.intp]) -> float:
    """Largest Jaccard index of a group with a cluster."""
    return max((group & (found == label)).sum() / (group | (found == label)).sum() for label in np.unique(found))


def measured(task: str, *arguments: Any) -> dict[str, float]:
    """The fastest of some runs, and the largest memory."""
    runs = []
    for _ in range(REPEATS):
        command = [sys.executable, "-W", "ignore", __file__, "--task", json.dumps([task, *map(str, arguments)])]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return {**min(runs, key=lambda run: run["seconds"]), "GB": max(run["GB"] for run in runs)}


def run_task(task: str, path: str, *others: str) -> None:
    sc.settings.verbosity = 0
    if task == "scanpy":
        result = run_scanpy(Path(path), N_GROUPS)
    else:
        source, n_jobs = others
        result = run_utc(Path(path), N_GROUPS, source, None if n_jobs == "None" else int(n_jobs))
    print(json.dumps(result))


# --- parts of the report


def choice(work: Path) -> str:
    """Ways to choose landmarks from the sample, all else equal."""
    rows = []
    sketch = landmarks.sketch
    ways = {"uniform": uniform, "leverage": leverage, "k-means++": plus_plus, "geometric sketch": sketch}
    for n_markers, (name, way) in product((100, 50), ways.items()):
        adata = read(simulate(work / f"30000-{n_markers}.h5ad", 30_000, n_markers=n_markers), MEMORY)
        truth = adata.obs["label"].to_numpy().astype(int)
        landmarks.sketch = way
        runs = []
        for seed in range(3):
            model = scutc.UTC(N_GROUPS, random_state=seed, n_jobs=-1).fit(adata.X)
            runs.append(
                {
                    "landmarks in the rarest group": (truth[model.landmarks_] == RAREST).sum(),
                    "ARI": adjusted_rand_score(truth, model.labels_),
                    "rarest group": overlap(truth == RAREST, model.labels_),
                }
            )
        rows.append({"way": name, "markers of a group": n_markers, **pd.DataFrame(runs).mean()})
    landmarks.sketch = sketch
    table = markdown(pd.DataFrame(rows).set_index("way"))
    return f"30 000 simulated cells, 2 000 landmarks, means over three seeds. The package has the last one.\n\n{table}"


def uniform(coordinates: NDArray[np.float64], n_landmarks: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.sort(rng.choice(len(coordinates), n_landmarks, replace=False))


def leverage(coordinates: NDArray[np.float64], n_landmarks: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Drawn in proportion to the leverage scores."""
    scores = (np.linalg.qr(coordinates - coordinates.mean(axis=0))[0] ** 2).sum(axis=1)
    return np.sort(rng.choice(len(coordinates), n_landmarks, replace=False, p=scores / scores.sum()))


def plus_plus(coordinates: NDArray[np.float64], n_landmarks: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Drawn one by one in proportion to the squared distance to those drawn before."""
    return np.sort(
        kmeans_plusplus(coordinates, n_landmarks, random_state=int(rng.integers(2**31)), n_local_trials=1)[1]
    )


def threshold(work: Path) -> str:
    """The exact path and landmarks on more and more cells."""
    everything = read(simulate(work / "30000-100.h5ad", 30_000), MEMORY)
    rows = []
    for n_cells in (2000, 3000, 4000, 6000, 8000):
        adata = everything[:n_cells]
        row: dict[str, Any] = {"cells": n_cells}
        for name, n_landmarks in (("exact", None), ("landmarks", min(2000, n_cells // 2))):
            start = time.perf_counter()
            labels = scutc.UTC(N_GROUPS, n_landmarks=n_landmarks, n_jobs=-1).fit_predict(adata.X)
            row |= {
                f"{name}: seconds": time.perf_counter() - start,
                f"{name}: ARI": adjusted_rand_score(adata.obs["label"], labels),
            }
        rows.append(row)
    return (
        "The first of the simulated cells. Landmarks lose a little on real data (see below), so they are taken where "
        "the exact path gets slow, above "
        f"{landmarks.MAX_EXACT_CELLS} cells.\n\n{markdown(pd.DataFrame(rows).set_index('cells'))}"
    )


def in_memory(work: Path) -> str:
    rows = []
    for n_cells in (30_000, 100_000):
        path = simulate(work / f"{n_cells}-100.h5ad", n_cells)
        scanpy = measured("scanpy", path)
        rows.append({"cells": n_cells, "method": "scanpy", **scanpy})
        for n_jobs in (None, -1):
            utc = measured("utc", path, MEMORY, n_jobs)
            ratios = {"time / scanpy's": utc["seconds"] / scanpy["seconds"], "GB / scanpy's": utc["GB"] / scanpy["GB"]}
            rows.append({"cells": n_cells, "method": f"UTC, n_jobs={n_jobs}", **utc, **ratios})
    table = markdown(pd.DataFrame(rows).set_index("cells"))
    return (
        "scanpy: PCA 50, neighbours, Leiden, warm; ARI at the resolution that gives 10 clusters (its time is without "
        "the search for that). Wanted: ratios of at most 1, an ARI of at least scanpy's less 0.01, and the rarest "
        f"group, 0.2 % of the cells, found: an overlap (Jaccard index with a cluster) of at least {FOUND}.\n\n{table}"
    )


def stream(work: Path) -> str:
    rows = []
    for source in (BACKED, DASK):
        small, large = (
            measured("utc", simulate(work / f"{n_cells}-100.h5ad", n_cells), source, -1)
            for n_cells in (100_000, 1_000_000)
        )
        growth = large["seconds"] / (10 * small["seconds"])
        rows += [
            {"source": source, "cells": 100_000, **small},
            {"source": source, "cells": 1_000_000, **large, "time / 10 × that of 100 000": growth},
        ]
    table = markdown(pd.DataFrame(rows).set_index("source"))
    return f"UTC, n_jobs=-1. Wanted: below 8 GB, and a growth of at most 1.3.\n\n{table}"


def shallow(n_cells: int, seed: int) -> tuple[AnnData, NDArray[np.intp]]:
    """About 150 counts in each cell, of ten groups that have half of their profiles in common; 0.2 % are the rarest."""
    rng = np.random.default_rng(seed)
    shares = np.append(0.998 * np.geomspace(1, 12, N_GROUPS - 1) / np.geomspace(1, 12, N_GROUPS - 1).sum(), 0.002)
    rates = 0.125 * (rng.gamma(0.3, 1.0, N_GENES) + rng.gamma(0.3, 1.0, (N_GROUPS, N_GENES)))
    groups = rng.choice(N_GROUPS, n_cells, p=shares)
    blocks = [
        sparse.csr_matrix(rng.poisson(rates[part] * rng.lognormal(0, 0.3, (len(part), 1))).astype(np.float32))
        for part in np.array_split(groups, n_cells // 5000)
    ]
    adata = sc.AnnData(sparse.vstack(blocks).tocsr())
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata, groups


def rule(data: Path) -> str:
    """Three ways from the landmarks' labels to those of all cells."""

    def labels(adata: AnnData, n_clusters: int, n_landmarks: int | str, seed: int) -> dict[str, NDArray[np.intp]]:
        model = scutc.UTC(n_clusters, n_landmarks=n_landmarks, random_state=seed, n_jobs=-1).fit(adata.X)
        embedded, found = model._model.embedded, model._clustering.labels_of_embedded
        speakers = Speakers.of(embedded.rule, embedded.rows, found, n_clusters)
        nearness = np.concatenate(
            map_blocks(
                lambda cells, first: speakers.profiles.compare(speakers.rule.standardize(cells, first))[0], adata.X
            )
        )
        return {
            "largest vote": vote(model._model.placed.weights, found, n_clusters).argmax(axis=1),
            "nearest mean": nearness.argmax(axis=1),
            "both": model.labels_,
        }

    rare = []
    for n_cells, seed in product((30_000, 100_000), range(3)):
        adata, groups = shallow(n_cells, seed)
        for way, found in labels(adata, N_GROUPS, "auto", 0).items():
            rare.append({"cells": n_cells, "way": way, "seed": seed, "rarest group": overlap(groups == RAREST, found)})
            rare[-1]["ARI"] = adjusted_rand_score(groups, found)
    real: dict[str, Any] = {}
    for (name, adata, n_clusters), seed in product(data_sets(data), range(2)):
        for way, found in labels(adata, n_clusters, adata.n_obs // 4, seed).items():
            real.setdefault(name, {}).setdefault(way, []).append(adjusted_rand_score(adata.obs["label"], found))
    table = pd.DataFrame({name: {way: np.mean(each) for way, each in ways.items()} for name, ways in real.items()}).T
    gains = table.sub(table["largest vote"], axis=0).drop(columns="largest vote")
    words = ", ".join(f"{way} {gains[way].mean():+.3f} ± {gains[way].sem():.3f}" for way in gains)
    simulated = pd.DataFrame(rare).groupby(["cells", "way"], sort=False)[["ARI", "rarest group"]].mean()
    return (
        "Every cell has the label with the largest vote of its landmarks, or that of the nearest mean profile, or of "
        "those that its landmarks name the one with the nearest mean profile (both: the package). Shallow simulated "
        f"counts, 0.2 % of the cells in the rarest group, means of three draws:\n\n{markdown(simulated)}\n\n"
        "Labelled data, a quarter of the cells landmarks, means of two seeds:\n\n"
        f"{markdown(table.rename_axis('data'))}\n\nDifference to the largest vote: {words}"
    )


def exact(data: Path) -> str:
    """Landmarks, forced to half of the cells, next to the exact path."""
    rows = []
    for name, adata, n_clusters in data_sets(data):
        labels = {
            n_landmarks: scutc.UTC(n_clusters, n_landmarks=n_landmarks, n_jobs=-1).fit_predict(adata.X)
            for n_landmarks in (None, adata.n_obs // 2)
        }
        full, half = labels.values()
        truth = adata.obs["label"]
        rows.append(
            {
                "data": name,
                "cells": adata.n_obs,
                "exact": adjusted_rand_score(truth, full),
                "landmarks": adjusted_rand_score(truth, half),
                "between the two": adjusted_rand_score(full, half),
            }
        )
    table = pd.DataFrame(rows).set_index("data")
    difference = (table["landmarks"] - table["exact"]).mean()
    return (
        "ARI to the truth at the true number of clusters, landmarks forced to half of the cells. Wanted: means within "
        f"0.03 of each other.\n\n{markdown(table)}\n\nMean difference: {difference:+.3f}"
    )


def transfer(data: Path) -> str:
    """A random half clustered, the other half by transfer."""
    rows = []
    for name, adata, n_clusters in data_sets(data):
        scutc.tl.utc(adata, n_clusters, n_landmarks=None, key_added="all", n_jobs=-1)
        half = np.random.default_rng(0).permutation(adata.n_obs) < adata.n_obs // 2
        reference, new = adata[half].copy(), adata[~half].copy()
        scutc.tl.utc(reference, n_clusters, n_landmarks=None, n_jobs=-1)
        scutc.tl.transfer(new, reference)
        rows.append(
            {
                "data": name,
                "ARI to all at once": adjusted_rand_score(new.obs["all"], new.obs["utc"]),
                "to the truth, transferred": adjusted_rand_score(new.obs["label"], new.obs["utc"]),
                "to the truth, all at once": adjusted_rand_score(new.obs["label"], new.obs["all"]),
                "the half that was clustered, to all at once": adjusted_rand_score(
                    reference.obs["all"], reference.obs["utc"]
                ),
            }
        )
    return f"On the half that was transferred.\n\n{markdown(pd.DataFrame(rows).set_index('data'))}"


def data_sets(data: Path) -> Any:
    for path in sorted(data.glob("*.h5ad")):
        adata = anndata.read_h5ad(path)
        if adata.n_obs > MIN_CELLS:
            yield path.stem, prepare(adata), adata.obs["label"].nunique()


TITLES = {
    "choice": "How landmarks are chosen",
    "threshold": "From how many cells on landmarks pay",
    "memory": "Many cells in memory, next to scanpy",
    "stream": "A million cells from a file",
    "rule": "How landmarks give labels",
    "exact": "Landmarks next to the exact path",
    "transfer": "Transfer to new cells",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of labelled .h5ad files")
    parser.add_argument("--work", type=Path, help="folder for simulated data, kept; else a temporary one")
    parser.add_argument("--only", nargs="+", choices=tuple(TITLES), default=list(TITLES))
    parser.add_argument("--task", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_task(*json.loads(options.task))
        return
    warnings.simplefilter("ignore")
    sc.settings.verbosity = 0
    with tempfile.TemporaryDirectory() as temporary:
        work = options.work or Path(temporary)
        work.mkdir(exist_ok=True)
        parts = {
            "choice": partial(choice, work),
            "threshold": partial(threshold, work),
            "memory": partial(in_memory, work),
            "stream": partial(stream, work),
        }
        if options.data:
            parts |= {
                "rule": partial(rule, options.data),
                "exact": partial(exact, options.data),
                "transfer": partial(transfer, options.data),
            }
        for part in [part for part in parts if part in options.only]:
            body = parts[part]()
            print(f"\n## {TITLES[part]}\n\n{body}", flush=True)
            write_section(TITLES[part], body)


def write_section(title: str, body: str) -> None:
    """Put a section into scale.md, in place of the one with its title."""
    path = RESULTS / "scale.md"
    text = path.read_text() if path.exists() else ""
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)\n*(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL))
    versions = circumstances("scutc", "scanpy", "anndata", "numpy", "scipy", "scikit-learn", "pynndescent", "igraph")
    sections[title] = f"{body}\n\n{versions}"
    body = "\n\n".join(f"## {name}\n\n{sections[name]}" for name in TITLES.values() if name in sections)
    head = "Written by `benchmarks/scale.py`, which simulates the data, but for the parts on labelled sets."
    path.write_text(f"# Many cells\n\n{head}\n\n{body}\n")


if __name__ == "__main__":
    main()
