"""The ``scutc`` command: a demonstration, and clustering and labelling of files in pipelines."""

from __future__ import annotations

import argparse
import re
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

EXIT_CODES = """\
exit codes:
  0    done, the output is complete
  1    the data cannot be clustered as asked; nothing was written
  2    wrong options, or a file that cannot be read or written
  130  interrupted by Ctrl-C (SIGINT); nothing was written
  143  terminated (SIGTERM); nothing was written
"""
RUN = "Cluster the cells of a file. The options are those of scutc.tl.utc but restrict_to."
TRANSFER = """\
Give the cells of a file the clusters, or other labels, of a reference that
scutc run has clustered. The options are those of scutc.tl.transfer, with its
defaults."""
FORMS = "an .h5ad or .h5mu file, or a .zarr folder"
# Options that are no parameters of a tool.
NOT_OF_THE_TOOL = ("command", "input", "reference", "output", "modality", "force", "quiet")
# The end of a command line so far to which another number belongs: -n 4, --n-clusters=4, --orders 2, also shortened.
OF_NUMBERS = re.compile(r"(.* )?(-n|--n-c[a-z]*|--or[a-z]*)[ =]?[\d,]+")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code; ``scutc.__main__`` has those of signals."""
    words = _join_numbers(sys.argv[1:] if arguments is None else arguments)
    options = _parser(words).parse_args(words)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            options.command(options)
    except (OSError, argparse.ArgumentError) as error:
        return _fail(error, 2)
    except (KeyError, NotImplementedError, TypeError, ValueError) as error:
        return _fail(error, 1)
    return 0


def _fail(error: Exception, code: int) -> int:
    # str() of a KeyError puts its message in quotation marks.
    _say(str(error.args[0] if isinstance(error, KeyError) else error))
    return code


def _show_warning(message: Warning | str, *where: object, **more: object) -> None:
    """Without the place in the code, which tells users of the command nothing."""
    _say(f"warning: {message}")


def _say(message: str) -> None:
    print(f"scutc: {message}", file=sys.stderr)


def _join_numbers(words: Iterable[str]) -> list[str]:
    """``-n 4 5 6`` as ``-n 4,5,6``: argparse would take an input that follows for one of them. No file is a number."""
    joined: list[str] = []
    for word in words:
        if re.fullmatch(r"[\d,]+", word) and OF_NUMBERS.fullmatch(" ".join(joined[-2:])):
            joined[-1] += f",{word}"
        else:
            joined.append(word)
    return joined


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser, with the tools' options only where a tool is named: to look them up takes seconds."""
    parser = argparse.ArgumentParser(
        prog="scutc",
        description="Uniform tensor clustering of single cells.",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"scutc {version('scutc')}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="cluster 700 blood cells that come with scanpy, and draw them")
    demo.add_argument("-o", "--output", type=Path, default=Path(), metavar="FOLDER", help="default: this folder")
    demo.set_defaults(command=_demo)

    run = _add_command(commands, "run", "cluster the cells of a file", RUN)
    run.add_argument("input", type=Path, help=FORMS)
    run.set_defaults(command=_run)

    transfer = _add_command(commands, "transfer", "label the cells of a file by a reference", TRANSFER)
    transfer.add_argument("input", type=Path, help=f"the new cells: {FORMS}")
    transfer.add_argument("reference", type=Path, help="a file that scutc run wrote")
    transfer.set_defaults(command=_transfer)

    if "run" in words or "transfer" in words:
        from . import tl
        from ._options import add_options

        add_options(run, tl.utc)
        add_options(transfer, tl.transfer)
    return parser


def _add_command(commands: Any, name: str, words: str, description: str) -> argparse.ArgumentParser:
    """A command with the options that all have which read and write files."""
    command = commands.add_parser(
        name,
        help=words,
        description=description,
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        argument_default=argparse.SUPPRESS,  # what is not given is left to the defaults of the tool
    )
    command.add_argument("-o", "--output", type=Path, required=True, help="where to write the cells with the result")
    command.add_argument("-q", "--quiet", action="store_true", default=False, help="no progress on standard error")
    command.add_argument("--force", action="store_true", default=False, help="allow the input as the output")
    command.add_argument("--modality", metavar="NAME", default=None, help="the modality to use of an .h5mu file")
    return command


def _run(options: argparse.Namespace) -> None:
    from . import tl
    from ._options import check_together

    settings = _settings(options)
    if len(settings.get("n_clusters", [])) == 1:
        settings["n_clusters"] = settings["n_clusters"][0]
    check_together(settings)
    _work(tl.utc, [options.input], settings, options)


def _transfer(options: argparse.Namespace) -> None:
    from . import tl

    _work(tl.transfer, [options.input, options.reference], _settings(options), options)


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """The options that are parameters of the tool."""
    return {name: value for name, value in vars(options).items() if name not in NOT_OF_THE_TOOL}


def _work(
    tool: Callable[..., Any], sources: Sequence[Path], settings: dict[str, Any], options: argparse.Namespace
) -> None:
    """Read the files, let the tool work on the AnnData in them, and write the first with what it added."""
    target, quiet = options.output, options.quiet
    _files.check_paths(target, sources, options.modality, force=options.force)
    if target.exists() and not quiet:
        _say(f"{target} is there and will be replaced")
    contents = []
    for source in sources:
        if not quiet:
            _say(f"reading {source}")
        contents.append(_files.read(source, options.modality))
    _set_verbosity(quiet=quiet)
    tool(*(each.adata for each in contents), **settings)
    _files.write(contents[0], target)
    if not quiet:
        _say(f"wrote {target}")


def _set_verbosity(*, quiet: bool) -> None:
    """Have scanpy say on standard error how far the work is, or nothing."""
    import scanpy as sc

    sc.settings.verbosity = "error" if quiet else "hint"


def _demo(options: argparse.Namespace) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import scanpy as sc
    from sklearn.metrics import adjusted_rand_score

    from . import pl, tl

    if not options.output.is_dir():
        msg = f"The folder {options.output} does not exist."
        raise OSError(msg)
    adata = sc.datasets.pbmc68k_reduced()
    truth = adata.obs["bulk_labels"]
    _set_verbosity(quiet=False)
    start = time.perf_counter()
    tl.utc(adata, n_clusters=truth.nunique(), use_raw=True, n_jobs=-1)
    seconds = time.perf_counter() - start

    sizes = adata.obs["utc"].value_counts().sort_index()
    agreement = adjusted_rand_score(truth, adata.obs["utc"])
    print(f"{adata.n_obs} cells × {adata.raw.n_vars} genes, {len(sizes)} clusters in {seconds:.1f} s")
    print("cluster sizes: " + ", ".join(f"{name}: {size}" for name, size in sizes.items()))
    print(f"agreement with the data's own labels (adjusted Rand index): {agreement:.2f}")

    table, picture = options.output / "scutc-demo.h5ad", options.output / "scutc-demo.png"
    _files.write(_files.Contents(adata, adata), table)
    figure = pl.embedding(adata, color=["utc", "bulk_labels"], wspace=0.3, return_fig=True)
    figure.savefig(picture, bbox_inches="tight", dpi=120)
    print(f"wrote {table} and {picture}")
