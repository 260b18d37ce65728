"""Agreement with known labels, on every data set of a folder: UTC, its single orders, its rivals, and what users run.

Usage: python benchmarks/quality.py FOLDER [--peers PYTHON] [--only whole|tasks] [--output FOLDER]
       python benchmarks/quality.py --report [--output FOLDER]

(or the folder in the variable SCUTC_DATA; needs the extra ``benchmark``). The folder holds labelled .h5ad files:
``obs["label"]`` the truth, ``uns["values"]`` the kind of values, one of "counts", "linear …", "log …" and "pixels".

Measured are whole sets, and small tasks that tasks.py draws from them, with the variable genes and with all. SC3s needs
numpy < 2, so it, PhenoGraph and PARC have an environment of their own, whose Python ``--peers`` names; without it, or
if it lacks one of them, they are left out:

    python3 -m venv peers
    peers/bin/pip install "numpy<2" sc3s phenograph parc
    python benchmarks/quality.py FOLDER --peers peers/bin/python

Writes quality.csv, quality.md and quality.png to benchmarks/results. A row is added to quality.csv as soon as it is
measured; what is there already, from the same code, packages and machine, is not measured again, and what is from
others is dropped. So an interrupted run goes on where it was, and two processes can share the work, one with
``--only whole``, one with ``--only tasks``. ``--report`` measures nothing: it writes the report from the rows there
are.
"""

from __future__ import annotations

import argparse
import fcntl
import logging
import os
import sys
import warnings
from contextlib import contextmanager
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from common import DISCLOSURE, RESULTS, SCORES, environment, markdown, measure, prepare
from methods import ALL_GENES, FEW_COMPONENTS, K_GIVEN, K_UNKNOWN, LARGEST, METHODS, ORDERS, PACKAGES, Peers, neighbours
from tasks import MAX_CELLS, MIN_CLASS, N_TASKS, PART_OF_CELLS, draw, subset
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import scutc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from anndata import AnnData

# Scores closer than this count as equal.
TIE = 0.01
# The defaults of 0.1.0 were chosen before these sets were there: UTC's lead on them is the least flattered one.
NEWER = [
    *("bladder57", "cell_lines1959", "cite_pbmc3762", "forebrain_atac2088", "human_kidney5685", "ipsc_cm315"),
    *("jaitin_facs", "kidpack74", "leukemia37", "ma_borovecki", "ma_nakayama", "ma_pomeroy", "pbmc_sorted2140"),
    "usoskin150",
]
# Not single cells: samples of tissue on microarrays, and images. The paper's own data are of these kinds.
ARRAYS = [
    *("bladder57", "glioma50", "golub_brunet38", "kidpack74", "leukemia37", "lung_203x3313", "lymphoma"),
    *("ma_borovecki", "ma_nakayama", "ma_pomeroy", "nci60"),
]
IMAGES = ["coil20_32x32", "drivface_80x80", "warppie10p", "yale_64x64"]
# From here on users have many cells.
LARGE = 1000
# Whom the figure compares UTC with: what users run, and the best rival.
DRAWN = ["Leiden at k", "k-means on PCA", "CAN"]
# Blue and vermilion of Okabe and Ito, which all readers can tell apart.
OLDER_COLOR, NEWER_COLOR = "#0072B2", "#D55E00"


class Job(NamedTuple):
    """What a method is run on: a whole set, or a task of it."""

    part: str
    genes: str
    task: int
    data: str

    def methods(self) -> list[str]:
        """Those that are run on it, if they are there."""
        if self.genes == "all":
            return ALL_GENES
        return [*K_GIVEN, *K_UNKNOWN, *(ORDERS if self.part == "whole" else [])]


COLUMNS = [*Job._fields, "method", "circumstances", "date", "cells", "features", "k", "clusters", *SCORES, "seconds"]
KEY = [*Job._fields, "method"]


def jobs(name: str, only: str | None) -> Iterator[Job]:
    if only != "tasks":
        yield Job("whole", "variable", 0, name)
    if only != "whole":
        yield from (Job(kind, "variable", task, name) for kind, n in N_TASKS.items() for task in range(n))
        yield from (Job("as they are", "all", task, name) for task in range(N_TASKS["as they are"]))


def load(sets: Mapping[str, AnnData], name: str, genes: str) -> AnnData:
    adata = sets[name]
    if "values" not in adata.uns:
        msg = f"{name} has no uns['values'], the kind of its values: counts, linear, log or pixels."
        raise ValueError(msg)
    return prepare(adata, all_genes=genes == "all")


def data_of(job: Job, loaded: Callable[[str], AnnData]) -> AnnData | None:
    """What the job is about, or nothing: too few classes, or all genes where no others were left out."""
    adata = loaded(job.genes)
    if job.genes == "all" and adata.n_vars == loaded("variable").n_vars:
        return None
    if job.part == "whole":
        return adata
    cells = draw(adata, job.data, job.part, job.task)
    return subset(adata, cells) if len(cells) else None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes that share the table away from it."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def read_rows(path: Path) -> pd.DataFrame:
    """The rows measured so far, without one that was cut off in the middle of being written."""
    if not path.exists():
        return pd.DataFrame(columns=COLUMNS)
    text = path.read_text()
    complete = text[: text.rfind("\n") + 1]
    if complete != text:
        path.write_text(complete)
    return pd.read_csv(path) if complete else pd.DataFrame(columns=COLUMNS)


def start_table(path: Path, here: str) -> pd.DataFrame:
    """The rows of these circumstances; those of others cannot be compared with them, and go."""
    with locked(path):
        rows = read_rows(path)
        kept = rows[rows["circumstances"].astype(str).str.startswith(here)].reindex(columns=COLUMNS)
        if not path.exists() or len(kept) < len(rows) or list(rows) != COLUMNS:
            kept.to_csv(path, index=False)
    return kept


def append_row(path: Path, row: dict[str, Any]) -> None:
    text = pd.DataFrame([row], columns=COLUMNS).to_csv(header=False, index=False)
    with locked(path), path.open("a") as file:
        file.write(text)


def run(sets: Mapping[str, AnnData], only: str | None, path: Path, peers: Peers | None) -> list[str]:
    """Measure what is not in the table yet under these circumstances; return what failed."""
    methods = METHODS | (peers.methods if peers else {})
    versions = peers.versions if peers else {}
    here = environment(*PACKAGES)
    circumstances = {method: f"{here}; {versions[method]}" if method in versions else here for method in methods}
    rows = start_table(path, here)
    done = set(rows[[*KEY, "circumstances"]].itertuples(index=False, name=None))
    failures = []
    neighbours(scutc.datasets.syndata2(100))  # numba compiles at the first call: not to be timed
    for name in (progress := tqdm(sets, unit="set")):
        loaded = cache(partial(load, sets, name))
        for job in jobs(name, only):
            missing = [
                method
                for method in job.methods()
                if method in methods and (*job, method, circumstances[method]) not in done
            ]
            try:
                adata = data_of(job, loaded) if missing else None
            except Exception as error:  # One bad file must not cost the other results.
                failures.append(f"{name}: {error}")
                break
            for method in missing:
                progress.set_description(f"{name}, {method}")
                row = job._asdict() | {"method": method, "circumstances": circumstances[method]}
                row |= {"date": f"{date.today()}"}
                # A row without scores, so that a resumed run need not look again.
                if adata is None or adata.n_obs > LARGEST.get(method, adata.n_obs):
                    append_row(path, row)
                    continue
                k = adata.obs["label"].nunique()
                row |= {"cells": adata.n_obs, "features": adata.n_vars, "k": k}
                try:
                    append_row(path, row | measure(adata.copy(), lambda data, run=methods[method], k=k: run(data, k)))
                except Exception as error:  # One failure must not cost the other results.
                    failures.append(f"{' '.join(map(str, job))}, {method}: {error}")
    return failures


def circumstances_of(rows: pd.DataFrame) -> pd.DataFrame:
    """The machine with its packages, the code, and the version of a method of the other environment."""
    return rows["circumstances"].astype(str).str.extract(r"(?P<machine>.*); code (?P<code>\w+)(?P<version>.*)")


def is_utc(rows: pd.DataFrame) -> pd.Series:
    return rows["method"].str.startswith("UTC")


def table_of(rows: pd.DataFrame, part: str, genes: str = "variable", values: str = "ARI") -> pd.DataFrame:
    """Sets and tasks × methods."""
    rows = rows[(rows["part"] == part) & (rows["genes"] == genes)]
    return rows.pivot_table(index=["data", "task"], columns="method", values=values)


def mean_and_error(values: pd.Series) -> str:
    return f"{values.mean():+.3f} ± {values.sem():.3f}" if len(values) > 1 else "–"


def lead_over(ari: pd.DataFrame, first: str, other: str) -> pd.Series:
    """By how much the first method is better on each set, over the tasks that both ran."""
    return (ari[first] - ari[other]).dropna().groupby("data").mean()


def comparison(ari: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Mean ARI of each method, and how the first of them does against it, set by set."""
    lines = {}
    for method in methods:
        of_set = ari[method].dropna().groupby("data").mean()
        newer, cells = of_set.index.isin(NEWER), ~of_set.index.isin([*ARRAYS, *IMAGES])
        line = {"sets": len(of_set)}
        for name, some in {"": of_set, ", older sets": of_set[~newer], ", newer sets": of_set[newer]}.items():
            line[f"ARI{name}"] = f"{some.mean():.3f}" if len(some) else "–"
        line["ARI, single cells"] = f"{of_set[cells].mean():.3f}" if cells.any() else "–"
        lead = lead_over(ari, methods[0], method)
        against = {
            "UTC's lead": mean_and_error(lead),
            "lead, newer sets": mean_and_error(lead[lead.index.isin(NEWER)]),
            "UTC wins": f"{(lead > TIE).sum()}",
            "ties": f"{(lead.abs() <= TIE).sum()}",
            "UTC loses": f"{(lead < -TIE).sum()}",
        }
        lines[method] = line | (against if method != methods[0] else dict.fromkeys(against, ""))
    return pd.DataFrame(lines).T.rename_axis("method")


def verdict(ari: pd.DataFrame, methods: Sequence[str]) -> str:
    """Whom the first method is ahead of, level with and behind, in words, on all sets and on the newer ones."""
    leads = {method: lead_over(ari, methods[0], method) for method in methods[1:]}
    newer = {method: lead[lead.index.isin(NEWER)] for method, lead in leads.items()}
    return f"UTC is {_standing(leads)}. On the newer sets it is {_standing(newer)}."


def _standing(leads: Mapping[str, pd.Series]) -> str:
    """A lead is one if it is larger than two standard errors; of less than two sets nothing is said."""
    found: dict[str, list[str]] = {"ahead of": [], "level with": [], "behind": []}
    for method, lead in leads.items():
        if len(lead) < 2:
            continue
        clear = abs(lead.mean()) > 2 * lead.sem()
        found["level with" if not clear else "ahead of" if lead.mean() > 0 else "behind"].append(method)
    return "; ".join(f"{where} {' · '.join(methods)}" for where, methods in found.items() if methods)


def section(rows: pd.DataFrame, heading: str, words: str, part: str, genes: str, methods: Sequence[str]) -> list[str]:
    """Heading, words and the comparison of those of the methods that were run; nothing if the first was not."""
    ari = table_of(rows, part, genes)
    if methods[0] not in ari:
        return []
    unknown = methods == K_UNKNOWN
    methods = [method for method in methods if method in ari]
    table = comparison(ari, methods)
    if unknown:
        off = table_of(rows.assign(off=(rows["clusters"] - rows["k"]).abs()), part, genes, "off")
        table.insert(1, "distance from k", off[methods].groupby("data").mean().mean().map("{:.2f}".format))
    seconds = table_of(rows, part, genes, "seconds")[methods].dropna()
    if part == "whole" and len(seconds) > len(ari) / 2:
        table["seconds"] = seconds.mean().map("{:.2f}".format)
        words += f" Seconds are means over the {len(seconds)} sets that all of the table were run on."
    return [f"## {heading}", words, markdown(table), verdict(ari, methods)]


def all_genes_or_variable(rows: pd.DataFrame) -> list[str]:
    """UTC on all genes next to the others on the variable ones, as users would run them, in the same tasks."""
    every, variable = table_of(rows, "as they are", "all"), table_of(rows, "as they are")
    methods = [method for method in K_GIVEN if method in variable and method != "UTC"]
    if "UTC" not in every or not methods:
        return []
    ari = every[["UTC"]].dropna().join(variable[methods])
    return [
        "## Tasks as they are, k given, UTC on all genes and the others on variable ones",
        "Only sets of which genes were left out. Variable genes were chosen on whole sets, with all of their cells.",
        markdown(comparison(ari, ["UTC", *methods])),
        verdict(ari, ["UTC", *methods]),
    ]


def orders_and_fusion(rows: pd.DataFrame) -> list[str]:
    ari = table_of(rows, "whole")
    if not {"UTC", *ORDERS} <= set(ari):
        return []
    ari = ari[["UTC", *ORDERS]].dropna()
    best, worst = "best order of each set", "worst order of each set"
    ari = ari.assign(**{best: ari[ORDERS].max(axis=1), worst: ari[ORDERS].min(axis=1)})
    return [
        "## Single orders and their fusion",
        "Whole sets, k given. UTC fuses orders 2, 3 and 4; which of them is best nobody knows beforehand.",
        markdown(comparison(ari, ["UTC", *ORDERS, best, worst])),
    ]


def every_set(rows: pd.DataFrame, heading: str, part: str) -> list[str]:
    ari = table_of(rows, part).groupby("data").mean()
    some = rows[(rows["part"] == part) & (rows["genes"] == "variable")].groupby("data")
    ari = ari[[method for method in [*K_GIVEN, *K_UNKNOWN, *ORDERS] if method in ari]]
    sizes = some[["cells", "features", "k"]].first().astype(int) if part == "whole" else pd.DataFrame(index=ari.index)
    newer = pd.Series(np.where(ari.index.isin(NEWER), "yes", ""), ari.index, name="newer")
    kinds = [ari.index.isin(ARRAYS), ari.index.isin(IMAGES)]
    kind = pd.Series(np.select(kinds, ["microarrays", "images"], "cells"), ari.index, name="kind")
    return [f"## {heading}", markdown(sizes.join(kind).join(newer).join(ari))] if len(ari) else []


def not_measured(rows: pd.DataFrame) -> list[str]:
    """What of the jobs that were begun has no row, by method."""
    begun = [Job(*job) for job in rows[list(Job._fields)].drop_duplicates().itertuples(index=False)]
    there = set(rows[KEY].itertuples(index=False, name=None))
    lines = []
    for method in [*METHODS, *Peers.NAMES]:
        wanted = [job for job in begun if method in job.methods()]
        missing = [f"{job.data} ({job.part}, {job.genes}, {job.task})" for job in wanted if (*job, method) not in there]
        if missing:
            lines.append(f"- {method}: " + ("all" if len(missing) == len(wanted) else ", ".join(missing)))
    return ["## Not measured", "Failed, not begun, or without `--peers`.", "\n".join(lines)] if lines else []


def draw_leads(rows: pd.DataFrame, path: Path) -> bool:
    """UTC's lead over three others, set by set, as a figure; whether there is anything to draw."""
    ari = table_of(rows, "as they are")
    if not {"UTC", *DRAWN} <= set(ari):
        return False
    leads = pd.DataFrame({method: lead_over(ari, "UTC", method) for method in DRAWN})
    leads = leads.loc[leads.mean(axis=1).sort_values().index]
    newer = leads.index.isin(NEWER)
    height = np.arange(len(leads))
    figure, axes = plt.subplots(
        1, len(DRAWN), sharex=True, sharey=True, figsize=(7.5, 1.5 + 0.18 * len(leads)), layout="constrained"
    )
    for ax, method in zip(axes, DRAWN, strict=True):
        lead = leads[method]
        ax.axvline(0, color="black", linewidth=0.8)
        ax.axvspan(lead.mean() - lead.sem(), lead.mean() + lead.sem(), color="0.85", zorder=0)
        ax.axvline(lead.mean(), color="0.4", linestyle="--", linewidth=1, zorder=0.5, label="mean ± standard error")
        for some, color, marker, label in (
            (~newer, OLDER_COLOR, "o", "older set"),
            (newer, NEWER_COLOR, "D", "newer set"),
        ):
            ax.hlines(height[some], 0, lead[some], color=color, linewidth=1.2)
            ax.scatter(lead[some], height[some], s=18, color=color, marker=marker, label=label, zorder=3)
        ax.set_title(f"UTC − {method}\n{mean_and_error(lead)}", fontsize=10)
        ax.grid(axis="y", color="0.93", linewidth=0.6)
        ax.set_axisbelow(True)
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.tick_params(axis="y", length=0, labelsize=8)
    axes[0].set_yticks(height, leads.index)
    axes[0].set_ylim(-0.8, len(leads) - 0.2)
    figure.supxlabel("difference in ARI (tasks as they are, k given, variable genes)", fontsize=9)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, frameon=False, fontsize=9)
    figure.savefig(path, dpi=150)
    plt.close(figure)
    return True


def introduction(rows: pd.DataFrame) -> list[str]:
    sets = rows["data"].unique()
    newer = np.isin(sets, NEWER).sum()
    limits = ", ".join(f"{method} {cells}" for method, cells in LARGEST.items())
    at_k = rows[rows["method"] == "Leiden at k"]
    measured = circumstances_of(rows)
    # Those of the other environment have a version more.
    versions = "".join(sorted(measured["version"].unique()))
    codes = {whose: ", ".join(some.unique()) for whose, some in measured["code"].groupby(is_utc(rows))}
    others = "" if len(set(codes.values())) == 1 else f" (the other methods: code {codes[False]})"
    return [
        f"Written by `benchmarks/quality.py`. Measured on {' and '.join(sorted(rows['date'].unique()))} with "
        f"{measured['machine'].iloc[0]}; code {codes[True]}{others}{versions}.",
        f"{len(sets)} labelled data sets, {newer} of them newer than the first defaults, all prepared the same way: "
        "log-normalised, the 2000 most variable genes, or all that at least three cells have; images and sets with "
        "values below zero as they are. Every method has its defaults and seed 0, with these exceptions. The rivals of "
        "the paper (SC, CAN, CAVE, PPS, IPS2) get distances of the correlation and, three of them, not more cells than "
        f"this: {limits}. k-means, Leiden, SC3s, PhenoGraph and PARC get 50 principal components, scanpy's default, of "
        f"which SC3s takes 25, and k-means and Leiden once more {FEW_COMPONENTS}; k-means has ten starts. "
        "Leiden is igraph's with "
        "two iterations; *at k* its resolution is searched for, which gives exactly k clusters in "
        f"{(at_k['clusters'] == at_k['k']).sum()} of {len(at_k)} runs. PhenoGraph and PARC have 30 neighbours, or half "
        "of the cells if that is fewer: they are made for many more cells than most sets here have. PhenoGraph has no "
        "seed, PARC its own, 42; cells that PhenoGraph leaves out count as one cluster; a variable that PARC forgets "
        "to define is given to it, and it looks for neighbours of small clusters for one second at most, not 15 "
        "(`benchmarks/peers_worker.py`). Seconds were taken while other work ran, so they compare only roughly.",
        f"Each set gives {N_TASKS['as they are']} tasks *as they are*, of at most {MAX_CELLS} cells: all "
        f"classes of at least {MIN_CLASS} cells, then some of them with {100 * PART_OF_CELLS:.0f} % of their cells; "
        f"and {N_TASKS['unequal']} of *unequal* sizes, drawn with the largest class up to twenty times the smallest, "
        "where there are so many cells (`benchmarks/tasks.py`). ARI is averaged within a set first, then over sets. "
        "*UTC's lead* is the mean "
        "of the differences set by set, with the standard error over sets, "
        f"where both were run; a difference of at most {TIE} is a tie. UTC is *level* with a method if its lead is "
        "within two standard errors. All scores are in `quality.csv`; a dash: not run.",
        DISCLOSURE,
    ]


def report(rows: pd.DataFrame, folder: Path) -> str:
    rows = rows.drop_duplicates(KEY, keep="last")
    missing = not_measured(rows)
    rows = rows.dropna(subset="ARI")
    if not (rows["method"] == "UTC").any():
        return "Nothing to report: UTC ran on no data set.\n"
    tasks, unequal, everything = "Tasks as they are", "Tasks of unequal size", "Only sets of which genes were left out."
    large, larger = rows[rows["cells"] > LARGE], f"Whole sets of more than {LARGE} cells"
    figure = draw_leads(rows, folder / "quality.png")
    parts = [
        "# Agreement with known labels",
        *introduction(rows),
        *section(rows, f"{tasks}, k given", "Variable genes.", "as they are", "variable", K_GIVEN),
        *section(rows, f"{unequal}, k given", "Variable genes.", "unequal", "variable", K_GIVEN),
        *section(rows, f"{tasks}, k given, all genes", everything, "as they are", "all", K_GIVEN),
        *all_genes_or_variable(rows),
        *section(rows, f"{tasks}, k unknown", "Variable genes.", "as they are", "variable", K_UNKNOWN),
        *section(rows, f"{unequal}, k unknown", "Variable genes.", "unequal", "variable", K_UNKNOWN),
        *section(rows, f"{tasks}, k unknown, all genes", everything, "as they are", "all", K_UNKNOWN),
        *section(rows, "Whole sets, k given", "Variable genes.", "whole", "variable", K_GIVEN),
        *section(large, f"{larger}, k given", "Variable genes.", "whole", "variable", K_GIVEN),
        *section(rows, "Whole sets, k unknown", "Variable genes.", "whole", "variable", K_UNKNOWN),
        *section(large, f"{larger}, k unknown", "Variable genes.", "whole", "variable", K_UNKNOWN),
        *orders_and_fusion(rows),
        *(["## UTC's lead set by set", "![UTC's lead set by set](quality.png)"] if figure else []),
        *every_set(rows, "ARI on every set, tasks as they are", "as they are"),
        *every_set(rows, "ARI on every set, whole", "whole"),
        *missing,
    ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Score UTC and others on every labelled data set of a folder.")
    parser.add_argument("folder", nargs="?", default=os.environ.get("SCUTC_DATA"), help="default: $SCUTC_DATA")
    parser.add_argument("--peers", metavar="PYTHON", help="of an environment with SC3s, PhenoGraph and PARC")
    parser.add_argument("--only", choices=["whole", "tasks"], help="measure only whole sets or only tasks")
    parser.add_argument("--report", action="store_true", help="measure nothing, report what is in quality.csv")
    parser.add_argument("--output", type=Path, default=RESULTS, metavar="FOLDER", help="default: benchmarks/results")
    options = parser.parse_args()
    if options.folder is None and not options.report:
        parser.error("give the folder, or set SCUTC_DATA")
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    options.output.mkdir(parents=True, exist_ok=True)
    path = options.output / "quality.csv"
    failures = []
    if not options.report:
        try:
            sets = scutc.datasets.read_labelled(options.folder)
            with threadpool_limits(1):
                failures = run(sets, options.only, path, Peers(options.peers) if options.peers else None)
        except (FileNotFoundError, ValueError) as error:
            print(f"quality.py: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            print(f"\nInterrupted. {path} keeps what was measured; run again to go on.", file=sys.stderr)
            return 130
    rows = read_rows(path)
    # All of one machine; UTC of one code, and the other methods, too, which may be an earlier one.
    measured = circumstances_of(rows)
    if len(measured["machine"].unique()) > 1 or measured["code"].groupby(is_utc(rows)).nunique().max() > 1:
        print(f"quality.py: {path} has rows of several kinds of circumstances.", file=sys.stderr)
        return 2
    text = report(rows, options.output)
    (options.output / "quality.md").write_text(text)
    print(text)
    print("\n".join(["Failed:", *failures]) if failures else "Nothing failed.", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
