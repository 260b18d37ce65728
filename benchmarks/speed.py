"""Time and memory of ``scutc.tl.utc`` next to scanpy, as ratios within one run.

Usage: python benchmarks/speed.py    (needs the extra ``benchmark``)

Every measurement runs in a process of its own, three times, and the fastest counts. Where cores are counted scanpy has
as many, and neither may run on others; on one core its own seconds count, lest other work do. Writes speed.md to
benchmarks/results.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
from common import RESULTS, circumstances, markdown

REPEATS = 3

# Libraries look how many cores there are when they are imported.
ON_CORES = """
import os
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{n_cores}])
"""

SIMULATE = """
import json, resource, time
import numpy as np

def simulate(n_cells, n_genes=2000, n_groups=8, seed=0):
    import scanpy as sc
    rng = np.random.default_rng(seed)
    rates = rng.gamma(0.5, 1.0, size=n_genes) * rng.lognormal(0.0, 0.5, size=(n_groups, n_genes))
    counts = rng.poisson(rates[rng.integers(n_groups, size=n_cells)]).astype(np.float32)
    adata = sc.AnnData(counts)
    sc.pp.normalize_total(adata)
    sc.pp.log1p(adata)
    return adata

def memory():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
"""

FRESH = """
start = time.perf_counter()
import scanpy as sc
imported = time.perf_counter() - start
adata = simulate(300)
before = time.perf_counter()
import scutc
scutc.tl.utc  # which is imported when it is first asked for
start = time.perf_counter()
scutc.tl.utc(adata, n_clusters=8)
end = time.perf_counter()
print(json.dumps({"import scanpy": imported, "tl.utc": end - start, "with import": end - before}))
"""

WARM = """
from time import {clock} as clock
import scanpy as sc, scutc
def run_scanpy(adata):
    sc.pp.pca(adata, n_comps=50)
    sc.pp.neighbors(adata)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
def run_utc(adata, n_clusters=8):
    scutc.tl.utc(adata, n_clusters=n_clusters, n_jobs={n_jobs})
def run_estimate(adata):
    run_utc(adata, n_clusters=None)
run_{method}(simulate(1000))
adata = simulate(3000)
start = clock()
run_{method}(adata)
print(json.dumps({{"seconds": clock() - start, "GB": memory()}}))
"""

REPLICATES = """
import scutc
adata = simulate({n_cells})
scutc.tl.utc(simulate(100), n_clusters=8)
runs = {{
    "without": {{"n_clusters": 8, "screen_genes": False, "n_splits": 0}},
    "k given": {{"n_clusters": 8}},
    "k estimated": {{}},
}}
seconds = {{}}
for name, options in runs.items():
    start = time.process_time()
    scutc.tl.utc(adata, n_jobs=1, **options)
    seconds[name] = time.process_time() - start
print(json.dumps(seconds))
"""

NUMBERS = """
import scanpy as sc, scutc
few, thousand, cells = simulate(300), simulate(1000), sc.datasets.pbmc68k_reduced()
runs = {
    "300 cells, k = 10": (few, 10, {}),
    "300 cells, k = 200": (few, 200, {}),
    "1000 cells, k = 10": (thousand, 10, {}),
    "1000 cells, k = 50": (thousand, 50, {}),
    "pbmc68k_reduced, k = 10": (cells, 10, {"use_raw": True}),
    "pbmc68k_reduced, k = 2 to 20": (cells, range(2, 21), {"use_raw": True}),
}
scutc.tl.utc(simulate(100), n_clusters=8)
seconds = {}
for name, (adata, n_clusters, options) in runs.items():
    start = time.process_time()
    scutc.tl.utc(adata, n_clusters=n_clusters, n_jobs=1, **options)
    seconds[name] = time.process_time() - start
print(json.dumps(seconds))
"""


def measure(code: str, n_cores: int | None = None) -> list[dict[str, float]]:
    cores = "" if n_cores is None else ON_CORES.format(n_cores=n_cores)
    command = [sys.executable, "-W", "ignore", "-c", cores + SIMULATE + code]
    runs = []
    for _ in range(REPEATS):
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return runs


def fastest(code: str, n_cores: int | None = None) -> dict[str, float]:
    """Of every figure the least."""
    runs = measure(code, n_cores)
    return {name: min(run[name] for run in runs) for name in runs[0]}


def report() -> str:
    fresh = fastest(FRESH)
    rows = []

    def row(what: str, base: str, ours: float, other: float, wanted: float | str) -> None:
        rows.append((what, base, ours, other, ours / other, f"{wanted}"))

    row("300 cells × 2000 genes, first call", "`import scanpy`", fresh["tl.utc"], fresh["import scanpy"], 0.3)
    row("the same with `import scutc`", "`import scanpy`", fresh["with import"], fresh["import scanpy"], 0.3)
    for n_cores, n_jobs, wanted in ((1, "None", 3), (2, "-1", 2)):
        clock = "process_time" if n_cores == 1 else "perf_counter"
        scanpy, utc, estimate = (
            fastest(WARM.format(clock=clock, n_jobs=n_jobs, method=method), n_cores)
            for method in ("scanpy", "utc", "estimate")
        )
        cores = "one core" if n_cores == 1 else f"{n_cores} cores"
        base = "PCA, neighbours, Leiden"
        row(f"3000 cells × 2000 genes, {cores}", base, utc["seconds"], scanpy["seconds"], wanted)
        row(f"the same, GB at the peak, {cores}", base, utc["GB"], scanpy["GB"], 1.5)
        row(f"the same, k estimated, {cores}", base, estimate["seconds"], scanpy["seconds"], "–")
    numbers = iter(fastest(NUMBERS).items())
    for (few, seconds_of_few), (many, seconds_of_many), wanted in zip(numbers, numbers, (3, 3, 2), strict=False):
        row(many, few, seconds_of_many, seconds_of_few, wanted)
    for n_cells in (300, 3000):
        seconds = fastest(REPLICATES.format(n_cells=n_cells))
        for name, wanted in (("k given", 2), ("k estimated", 4)):
            row(f"{n_cells} cells, {name}", "without genes judged or halved", seconds[name], seconds["without"], wanted)
    names = ["what", "next to", "scutc", "the other", "ratio", "wanted at most"]
    parts = [
        "# Time and memory next to scanpy",
        circumstances("scutc", "scanpy", "igraph", "pynndescent", "numpy", "scipy", "scikit-learn"),
        f"Written by `benchmarks/speed.py`; the fastest of {REPEATS} runs, seconds. Times are of one machine, on which "
        "other work may run: look at ratios.",
        markdown(pd.DataFrame(rows, columns=names).set_index("what")),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    text = report()
    (RESULTS / "speed.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
