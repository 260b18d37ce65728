"""The ``scutc`` command: a demonstration, and clustering of files in pipelines."""

from __future__ import annotations

import argparse
import re
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import tl
from ._estimator import UTC
from ._parameters import checks_of, described_in
from ._validation import OneOf, PositiveInteger, PositiveNumber, SubsetOf, TrueOrFalse, Weights

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anndata import AnnData

EXIT_CODES = """\
exit codes:
  0    done, the output is complete
  1    the data cannot be clustered as asked; nothing was written
  2    wrong options, or a file that cannot be read or written
  130  interrupted; nothing was written
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except OSError as error:
        return _fail(error, 2)
    except (KeyError, NotImplementedError, TypeError, ValueError) as error:
        return _fail(error, 1)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    return 0


def _fail(reason: BaseException | str, code: int) -> int:
    # str() of a KeyError puts its message in quotation marks.
    message = reason.args[0] if isinstance(reason, KeyError) else reason
    print(f"scutc: {message}", file=sys.stderr)
    return code


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="scutc", description="Uniform tensor clustering of single cells.", epilog=EXIT_CODES, formatter_class=raw
    )
    parser.add_argument("--version", action="version", version=f"scutc {version('scutc')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="cluster 700 blood cells that come with scanpy, and draw them")
    demo.add_argument("-o", "--output", type=Path, default=Path(), metavar="FOLDER", help="default: this folder")
    demo.set_defaults(command=_demo)

    # Options that are not given are left to the defaults of tl.utc.
    run = commands.add_parser(
        "run",
        help="cluster the cells of a file",
        description="Cluster the cells of a file. The options are those of scutc.tl.utc, with its defaults.",
        epilog=EXIT_CODES,
        formatter_class=raw,
        argument_default=argparse.SUPPRESS,
    )
    run.add_argument("input", type=Path, help="an .h5ad file")
    run.add_argument("-o", "--output", type=Path, required=True, help="the .h5ad file to write")
    for name, words in described_in(tl.utc.__doc__ or "").items():
        if name not in NOT_IN_FILES:
            flags = ["-n", "--n-clusters"] if name == "n_clusters" else [f"--{name.replace('_', '-')}"]
            run.add_argument(*flags, **({"help": _first_sentence(words)} | _how_to_read(name)))
    run.add_argument("-q", "--quiet", action="store_true", default=False, help="no progress on standard error")
    run.set_defaults(command=_run)
    return parser


def _first_sentence(words: str) -> str:
    sentence = re.split(r"(?<=[.])\s", words.replace("``", ""), maxsplit=1)[0].rstrip(".")
    return (sentence[0].lower() + sentence[1:]).replace("%", "%%")


def _how_to_read(name: str) -> dict[str, Any]:
    """How argparse is to read an option, by what is allowed for the parameter."""
    if name in OWN_OPTIONS:
        return OWN_OPTIONS[name]
    match checks_of(UTC)[name]:
        case OneOf(valid=valid):
            return {"choices": valid}
        case TrueOrFalse():
            return {"action": argparse.BooleanOptionalAction}
        case PositiveInteger(others=()):
            return {"type": int, "metavar": "N"}
        case PositiveInteger():
            return {"type": _count, "metavar": "N|all|auto"}
        case PositiveNumber():
            return {"type": float, "metavar": "X"}
        case SubsetOf():
            return {"type": _integers, "metavar": "P[,P…]"}
        case Weights():
            return {"type": _weights, "metavar": "P=W[,P=W…]", "help": "weights of orders, for example 3=0.5; else 1"}
    return {}  # as text


def _integers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        msg = f"{text!r} is neither a whole number nor several, such as 4,5,6"
        raise argparse.ArgumentTypeError(msg) from None


def _numbers(text: str) -> dict[str, float]:
    try:
        pairs = [part.split("=") for part in text.split(",")]
        return {name: int(value) if value.isdigit() else float(value) for name, value in pairs}
    except ValueError:
        msg = f"{text!r} is not of the form NAME=NUMBER,NAME=NUMBER"
        raise argparse.ArgumentTypeError(msg) from None


def _weights(text: str) -> dict[int, float]:
    numbers = _numbers(text)
    if not all(order.isdigit() for order in numbers):
        msg = f"{text!r} is not of the form ORDER=NUMBER,ORDER=NUMBER"
        raise argparse.ArgumentTypeError(msg)
    return {int(order): weight for order, weight in numbers.items()}


def _count(text: str) -> int | str | None:
    if text in {"all", "auto"}:
        return None if text == "all" else text
    try:
        return int(text)
    except ValueError:
        msg = f"{text!r} is neither a whole number nor 'all' nor 'auto'"
        raise argparse.ArgumentTypeError(msg) from None


# Parameters of tl.utc that make no sense here.
NOT_IN_FILES = ("adata", "restrict_to", "copy", "rng")
# How those are read that tl.utc has besides UTC's, or takes differently, or that are read from their value alone.
OWN_OPTIONS: dict[str, dict[str, Any]] = {
    "n_clusters": {"type": _integers, "metavar": "K[,K…]", "help": "number of clusters; estimated if left out"},
    "layer": {"metavar": "KEY"},
    "use_raw": {"action": "store_true"},
    "use_rep": {"metavar": "KEY"},
    "mask_var": {"metavar": "COLUMN", "help": "boolean column of adata.var: the genes to use"},
    "solver_params": {
        "type": _numbers,
        "metavar": "NAME=X[,NAME=X…]",
        "help": "parameters of the solver, for example max_iter=500",
    },
    "key_added": {"metavar": "KEY"},
    "random_state": {"type": int, "metavar": "SEED"},
    "n_jobs": {"type": int, "metavar": "N", "default": -1, "help": "number of threads; all cores if left out"},
}


def _run(options: argparse.Namespace) -> None:
    settings = vars(options).copy()
    source, target, quiet = settings.pop("input"), settings.pop("output"), settings.pop("quiet")
    del settings["command"]
    if len(settings.get("n_clusters", [])) == 1:
        settings["n_clusters"] = settings["n_clusters"][0]
    # Before the work, not after it.
    for path in (source, target):
        if path.suffix != ".h5ad":
            msg = f"{path} is not an .h5ad file."
            raise OSError(msg)
    if not source.is_file():
        msg = f"There is no file {source}."
        raise OSError(msg)
    if not target.parent.is_dir():
        msg = f"The folder of {target} does not exist."
        raise OSError(msg)

    import anndata

    adata = anndata.read_h5ad(source)
    _cluster(adata, settings, quiet=quiet)
    _write(adata, target)


def _demo(options: argparse.Namespace) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import scanpy as sc
    from sklearn.metrics import adjusted_rand_score

    if not options.output.is_dir():
        msg = f"The folder {options.output} does not exist."
        raise OSError(msg)
    adata = sc.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"]
    start = time.perf_counter()
    _cluster(adata, {"n_clusters": truth.nunique(), "use_raw": True, "n_jobs": -1}, quiet=False)
    seconds = time.perf_counter() - start

    sizes = adata.obs["utc"].value_counts().sort_index()
    agreement = adjusted_rand_score(truth, adata.obs["utc"])
    print(f"{adata.n_obs} cells × {adata.raw.n_vars} genes, {len(sizes)} clusters in {seconds:.1f} s")
    print("cluster sizes: " + ", ".join(f"{name}: {size}" for name, size in sizes.items()))
    print(f"agreement with the data's own labels (adjusted Rand index): {agreement:.2f}")

    table, picture = options.output / "scutc-demo.h5ad", options.output / "scutc-demo.png"
    _write(adata, table)
    figure = sc.pl.embedding(adata, "X_utc", color=["utc", "bulk_labels"], wspace=0.3, return_fig=True)
    figure.savefig(picture, bbox_inches="tight", dpi=120)
    print(f"wrote {table} and {picture}")


def _cluster(adata: AnnData, settings: dict[str, Any], *, quiet: bool) -> None:
    """Run ``tl.utc`` with a line on standard error that says how far it is."""
    import scanpy as sc

    import scutc

    sc.settings.verbosity = "error" if quiet else "hint"
    scutc.tl.utc(adata, **settings)


def _write(adata: AnnData, path: Path) -> None:
    """Write to a neighbouring file first, so that an interruption leaves no half of a file under the name."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        adata.write_h5ad(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
