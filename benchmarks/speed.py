"""Time and memory of ``scutc.tl.utc`` next to scanpy, as ratios within one run.

Usage: python benchmarks/speed.py    (needs the extra ``benchmark``)

Every measurement runs in a process of its own, three times, and the fastest counts.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from importlib.metadata import version

REPEATS = 3

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
import scutc
start = time.perf_counter()
scutc.tl.utc(adata, n_clusters=8)
print(json.dumps({"import scanpy": imported, "tl.utc": time.perf_counter() - start}))
"""

SCANPY = """
import scanpy as sc
def route(adata):
    sc.pp.pca(adata, n_comps=50)
    sc.pp.neighbors(adata)
    sc.tl.leiden(adata, flavor="igraph", n_iterations=2, directed=False)
route(simulate(1000))
adata = simulate(3000)
times = []
for _ in range(3):
    copy = adata.copy()
    start = time.perf_counter()
    route(copy)
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": min(times), "GB": memory()}))
"""

UTC = """
import scutc
scutc.tl.utc(simulate(300), n_clusters=8)
adata = simulate(3000)
start = time.perf_counter()
scutc.tl.utc(adata, n_clusters=8, n_jobs={n_jobs})
print(json.dumps({{"seconds": time.perf_counter() - start, "GB": memory()}}))
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


def measure(code: str) -> list[dict[str, float]]:
    runs = []
    for _ in range(REPEATS):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", SIMULATE + code], check=True, capture_output=True, text=True
        )
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return runs


def main() -> None:
    packages = ", ".join(f"{name} {version(name)}" for name in ("scutc", "scanpy", "numpy", "scipy", "scikit-learn"))
    print(f"Python {platform.python_version()}, {packages}")

    runs = measure(FRESH)
    fresh = {name: min(run[name] for run in runs) for name in runs[0]}
    print("\n300 cells × 2000 genes, fresh process")
    print(f"  import scanpy {fresh['import scanpy']:.2f} s, tl.utc {fresh['tl.utc']:.2f} s")
    print(f"  ratio {fresh['tl.utc'] / fresh['import scanpy']:.2f} (wanted: at most 0.3)")

    scanpy = min(measure(SCANPY), key=lambda run: run["seconds"])
    print("\n3000 cells × 2000 genes, warm")
    print(f"  scanpy (PCA 50, neighbours, Leiden) {scanpy['seconds']:.2f} s, peak {scanpy['GB']:.2f} GB")
    for n_jobs, wanted in (("None", 3), ("-1", 2)):
        utc = min(measure(UTC.format(n_jobs=n_jobs)), key=lambda run: run["seconds"])
        print(f"  tl.utc, n_jobs={n_jobs}: {utc['seconds']:.2f} s, peak {utc['GB']:.2f} GB (wanted: below 1.5)")
        print(f"  ratio {utc['seconds'] / scanpy['seconds']:.1f} (wanted: at most {wanted})")

    print("\nmany clusters, and many numbers of them, seconds of one processor")
    runs = measure(NUMBERS)
    seconds = {name: min(run[name] for run in runs) for name in runs[0]}
    for (few, base), (many, other) in zip(*[iter(seconds.items())] * 2, strict=True):
        print(f"  {few}: {base:.2f} s, {many}: {other:.2f} s, ratio {other / base:.2f}")
    print("  (wanted: at most 3, 3 and 2)")

    print("\nscreening of 2000 genes and halves of them, seconds of one processor")
    for n_cells in (300, 3000):
        runs = measure(REPLICATES.format(n_cells=n_cells))
        without, given, estimated = (min(run[name] for run in runs) for name in runs[0])
        print(f"  {n_cells} cells: without {without:.2f} s, k given {given:.2f} s, k estimated {estimated:.2f} s")
        print(f"  ratio {given / without:.2f} (wanted: at most 2), {estimated / without:.2f} (wanted: at most 4)")


if __name__ == "__main__":
    main()
