from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tomllib
from functools import wraps
from pathlib import Path

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pytest
import scanpy as sc

import scutc
from scutc import _files
from scutc.__main__ import main

ROOT = Path(__file__).parent.parent
MODULE, FUNCTION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["scutc"].split(":")
# As the script that pip installs does it.
SCRIPT = f"import sys; from {MODULE} import {FUNCTION}; sys.exit({FUNCTION}())"
COMMANDS = {"module": ["-m", "scutc"], "script": ["-c", SCRIPT]}

# As Python does where no test asks for more: packages deprecate among themselves.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


@pytest.fixture(autouse=True)
def _restore_verbosity():
    verbosity = sc.settings.verbosity
    yield
    sc.settings.verbosity = verbosity


@pytest.fixture
def source(adata, tmp_path):
    path = tmp_path / "in.h5ad"
    adata.layers["double"] = adata.X * 2
    adata.write_h5ad(path)
    return path


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_run_writes_the_result_and_shows_progress(source, tmp_path, quiet):
    target = tmp_path / "out.h5ad"
    command = [sys.executable, "-m", "scutc", "run", source, "--n-clusters", "3", "-o", target, *quiet]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert anndata.read_h5ad(target).obs["utc"].nunique() == 3
    assert ("order 3" in done.stderr) == (not quiet)
    assert done.stdout == ""


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_warning_is_a_line_of_its_own_without_a_place_in_the_code(source, tmp_path, quiet):
    counts = anndata.read_h5ad(source)
    counts.X = np.rint(counts.X - counts.X.min())
    counts.write_h5ad(source)
    command = [sys.executable, "-m", "scutc", "run", source, "-n3", "-o", tmp_path / "out.h5ad", *quiet]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert "\n" * (not quiet) + "scutc: warning: adata.X holds whole numbers" in said
    assert "UserWarning" not in said
    assert ".py" not in said


def test_run_passes_options_on(source, tmp_path):
    target = tmp_path / "out.h5ad"
    options = "-n 2,4 --layer double --orders 2,3 --metric euclidean --n-neighbors 5 --n-anchors auto --n-pairs 9"
    more = "--n-landmarks 30 --sharpness 2.5 --effective-rank 8 --n-splits 2 --key-added mine --random-state 3"
    solver = (
        "--solver ascent --solver-params max_iter=400,tol=0.001 --weights 3=0.5 --affinity decomposable --cosine signed"
    )
    assert (
        main(
            [
                "run",
                str(source),
                "-o",
                str(target),
                *options.split(),
                *more.split(),
                *solver.split(),
                "--no-screen-genes",
                "--n-jobs=1",
                "--quiet",
            ]
        )
        == 0
    )
    result = anndata.read_h5ad(target)
    assert result.obs["mine_4"].nunique() == 4
    params = result.uns["mine"]["params"]
    np.testing.assert_array_equal(params.pop("orders"), [2, 3])
    np.testing.assert_array_equal(params.pop("n_clusters"), [2, 4])
    assert params == {
        "layer": "double",
        "metric": "euclidean",
        "screen_genes": False,
        "n_splits": 2,
        "n_neighbors": 5,
        "n_landmarks": 30,
        "n_anchors": "auto",
        "n_pairs": 9,
        "sharpness": 2.5,
        "effective_rank": 8.0,
        "affinity": "decomposable",
        "cosine": "signed",
        "weights": {"3": 0.5},
        "solver": "ascent",
        "solver_params": {"max_iter": 400, "tol": 0.001},
        "random_state": 3,
    }


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{source}", "-o", "{folder}/out.h5ad", "-n", "99"], 1, "n_clusters=99 is more than there are cells"),
        (["{source}", "-o", "{folder}/out.h5ad", "--layer", "x"], 1, "scutc: layer='x' is not in adata.layers"),
        (["{folder}/none.h5ad", "-o", "{folder}/out.h5ad"], 2, "There is no file"),
        (["{source}", "-o", "{folder}/none/out.h5ad"], 2, "The folder of"),
        (["{source}", "-o", "{folder}/out.csv"], 2, "is not an .h5ad, .zarr or .h5mu file"),
    ],
)
def test_errors_have_exit_codes_and_write_nothing(source, tmp_path, capsys, arguments, code, message):
    filled = [argument.format(source=source, folder=tmp_path) for argument in arguments]
    assert main(["run", *filled]) == code
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.h5ad"]


@pytest.fixture
def settings(monkeypatch):
    """Those that tl.utc gets, which does not cluster then."""
    given = {}
    monkeypatch.setattr(scutc.tl, "utc", wraps(scutc.tl.utc)(lambda adata, **settings: given.update(settings)))
    return given


INPUT, OUTPUT = ["{source}"], ["-o", "{folder}/out.h5ad"]


@pytest.mark.parametrize(
    "arguments",
    [
        [*INPUT, *OUTPUT, "-n", "4,5,6"],
        [*INPUT, *OUTPUT, "-n", "4", "5", "6"],
        [*INPUT, "-n", "4", "5", "6", *OUTPUT],
        ["-n", "4", "5", "6", *INPUT, *OUTPUT],
        [*OUTPUT, "--n-clusters", "4", "5", "6", *INPUT],
        [*OUTPUT, "--n-clusters=4", "5", "6", *INPUT],
        [*OUTPUT, "--n-clus", "4,", "5,", "6", *INPUT],
        [*OUTPUT, "-n4", "5,6", "-q", *INPUT],
        [*OUTPUT, "-n", "4 5 6", *INPUT],
    ],
)
def test_several_numbers_of_clusters_are_written_in_every_way_and_place(source, tmp_path, settings, arguments):
    filled = [argument.format(source=source, folder=tmp_path) for argument in arguments]
    assert main(["run", *filled]) == 0
    assert settings["n_clusters"] == [4, 5, 6]


def test_an_input_after_a_number_of_clusters_is_the_input(source, tmp_path, settings):
    numbers = ["-n", "4", "--orders", "2", "3"]
    assert main(["run", *numbers, str(source), "-o", str(tmp_path / "out.h5ad"), "--n-neighbors", "5"]) == 0
    assert settings == {"n_clusters": 4, "orders": [2, 3], "n_neighbors": 5, "n_jobs": -1}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n", "two"], "argument -n/--n-clusters: 'two' is neither a whole number nor several, such as 4,5,6"),
        (["-n", ","], "argument -n/--n-clusters: ',' is neither"),
        (["-n", "0"], "argument -n/--n-clusters: n_clusters=0 is not a positive integer"),
        (["-n", "-3"], "argument -n/--n-clusters: n_clusters=-3 is not a positive integer"),
        (["-n", "4,0"], "argument -n/--n-clusters: n_clusters=0 is not"),
        (["-n", "4", "-o"], "argument -o/--output: expected one argument"),
        (["--metric", "x"], "argument --metric: invalid choice: 'x'"),
        (["--key-added", "a/b"], "argument --key-added: key_added='a/b'"),
        (["--orders", "5"], "argument --orders: orders=[5] is not a non-empty subset of (2, 3, 4)"),
        (["--n-landmarks", "foo"], "argument --n-landmarks: 'foo' is not a whole number or 'all' or 'auto'"),
        (["--n-landmarks", "1"], "argument --n-landmarks: n_landmarks=1 has no neighbours"),
        (["--n-splits", "all"], "argument --n-splits: 'all' is not a whole number or 'auto'"),
        (["--n-splits", "-1"], "argument --n-splits: n_splits=-1 is not"),
        (["--n-neighbors", "1.5"], "argument --n-neighbors: '1.5' is not a whole number"),
        (["--n-neighbors", "0"], "argument --n-neighbors: n_neighbors=0 is not a positive integer"),
        (["--sharpness", "much"], "argument --sharpness: 'much' is not a number"),
        (["--sharpness", "-2"], "argument --sharpness: sharpness=-2.0 is not a positive number"),
        (["--weights", "5=1"], "argument --weights: weights names order 5"),
        (["--weights", "a=1"], "argument --weights: 'a=1' is not of the form ORDER=NUMBER"),
        (["--random-state", "-1"], "argument --random-state: random_state=-1 is not a seed"),
        (["--n-jobs", "0"], "argument --n-jobs: n_jobs=0 is no number of threads"),
        (["--solver-params", "max_iter"], "argument --solver-params: 'max_iter' is not of the form NAME=NUMBER"),
        (["--solver-params", "x=1"], "argument --solver-params: 'x' is no parameter of solver='spectral'"),
        (["--layer", "a", "--use-raw"], "argument --use-raw: not allowed with argument --layer"),
        (["--use-rep", "a", "--mask-var", "b"], "argument --mask-var: not allowed with argument --use-rep"),
        (["--clusters", "4"], "unrecognized arguments: --clusters 4"),
    ],
)
def test_wrong_options_exit_with_two_before_the_file_is_read(tmp_path, capsys, arguments, message):
    command = ["run", str(tmp_path / "none.h5ad"), "-o", str(tmp_path / "out.h5ad"), *arguments]
    try:
        code = main(command)
    except SystemExit as error:  # from argparse
        code = error.code
    assert code == 2
    assert message in capsys.readouterr().err


STOPS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]


@pytest.fixture
def _heed_signals():
    """As in the foreground, also where these tests run in the background; one not caught would end them."""
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, signal.default_int_handler),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda number, frame: pytest.fail("SIGTERM was not caught")),
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_heed_signals")
@pytest.mark.parametrize("moment", ["reading", "clustering", "writing", "looking at what was written"])
@pytest.mark.parametrize(("number", "code", "word"), STOPS)
def test_a_signal_leaves_the_folder_as_it_was(source, tmp_path, capsys, monkeypatch, moment, number, code, word):
    owner, name = {
        "reading": (anndata, "read_h5ad"),
        "clustering": (scutc.tl, "utc"),
        "writing": (anndata.AnnData, "write_h5ad"),
        "looking at what was written": (_files, "_check_complete"),
    }[moment]
    work = getattr(owner, name)

    @wraps(work)
    def work_and_be_stopped(*args, **kwargs):
        work(*args, **kwargs)
        monkeypatch.setattr(shutil, "rmtree", clean_up_and_be_stopped)
        os.kill(os.getpid(), number)

    monkeypatch.setattr(owner, name, work_and_be_stopped)
    clean_up = shutil.rmtree

    def clean_up_and_be_stopped(*args, **kwargs):
        os.kill(os.getpid(), number)  # once more, as the impatient do
        clean_up(*args, **kwargs)

    target = tmp_path / "out.h5ad"
    target.write_text("earlier")
    assert main(["run", str(source), "-o", str(target), "-n", "3"]) == code
    assert capsys.readouterr().err.endswith(f"scutc: {word}\n")
    assert target.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.h5ad", "out.h5ad"]


INTERRUPT = "import os, signal; os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.usefixtures("_heed_signals")
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "body",
    [
        INTERRUPT,
        f"exec({INTERRUPT!r})",  # after which Python itself would end by the signal
        f"try:\n    {INTERRUPT}\nexcept KeyboardInterrupt:\n    raise ImportError",  # as in C
    ],
    ids=["plain", "exec", "as an ImportError"],
)
def test_an_interruption_of_the_imports_exits_with_130_and_no_traceback(tmp_path, command, body):
    for name in ("numpy", "sklearn", "anndata", "scanpy", "h5py"):  # whichever comes first
        (tmp_path / f"{name}.py").write_text(body)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    arguments = [sys.executable, *COMMANDS[command], "run", "in.h5ad", "-o", "out.h5ad"]
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=False)
    assert done.stderr == "scutc: interrupted\n"
    assert done.returncode == 130


def test_a_job_that_ignores_interruptions_goes_on(source, tmp_path, monkeypatch):
    """As those in the background of a script."""
    monkeypatch.setattr(
        scutc.tl, "utc", wraps(scutc.tl.utc)(lambda adata, **settings: os.kill(os.getpid(), signal.SIGINT))
    )
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert main(["run", str(source), "-o", str(tmp_path / "out.h5ad")]) == 0
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("command", COMMANDS)
def test_version_and_help_need_no_numpy(tmp_path, command):
    """Which takes seconds."""
    (tmp_path / "numpy.py").write_text("raise RuntimeError")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    for option, said in (("--version", f"scutc {scutc.__version__}\n"), ("--help", "label the cells of a file")):
        arguments = [sys.executable, *COMMANDS[command], option]
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
        assert said in done.stdout


def test_transfer_labels_new_cells(adata, tmp_path, capsys):
    new, reference, target = tmp_path / "new.h5ad", tmp_path / "reference.h5ad", tmp_path / "out.h5ad"
    adata.obs["group"] = adata.obs["group"].astype("category")
    adata[::2].copy().write_h5ad(new)
    clustered = adata[1::2].copy()
    scutc.tl.utc(clustered, n_clusters=3, key_added="mine")
    clustered.write_h5ad(reference)
    options = ["--key=mine", "--labels=group", "--key-added=theirs", "--min-shared-genes=0.9", "--n-jobs=1"]
    assert main(["transfer", str(new), str(reference), "-o", str(target), *options]) == 0
    result = anndata.read_h5ad(target)
    assert (result.obs["theirs"] == result.obs["group"]).all()
    assert result.uns["theirs"]["params"]["labels"] == "group"
    assert "reading" in capsys.readouterr().err
    assert sc.settings.verbosity == sc.Verbosity.hint
    assert main(["transfer", str(new), str(reference), "-o", str(target), *options, "-q"]) == 0
    assert capsys.readouterr().err == ""
    assert sc.settings.verbosity == sc.Verbosity.error
    assert main(["transfer", str(new), str(reference), "-o", str(target)]) == 1
    assert "key='utc' is no result of scutc.tl.utc" in capsys.readouterr().err
    for path in (new, reference):
        assert main(["transfer", str(new), str(reference), "-o", str(path), *options]) == 2
        assert f"{path} is the input" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["half", "1.5"])
def test_wrong_options_of_transfer_exit_with_two(tmp_path, value):
    with pytest.raises(SystemExit) as error:
        main(["transfer", "new.h5ad", "old.h5ad", "-o", "out.h5ad", "--min-shared-genes", value])
    assert error.value.code == 2


def test_a_parameter_that_transfer_gets_becomes_an_option(source, tmp_path, monkeypatch):
    given = {}

    def transfer(adata_new, adata_ref, *, n_votes: int = 5, least: float | None = None, strict: bool = False):
        """Parameters
        ----------
        n_votes
            A whole number.
        least
            A number, see :func:`scutc.tl.utc`.
        strict
            True or false.
        """
        given.update(n_votes=n_votes, least=least, strict=strict)

    transfer.__annotations__ |= {"n_votes": "int", "least": "float | None", "strict": "bool"}
    monkeypatch.setattr(scutc.tl, "transfer", transfer)
    files = [str(source), str(source), "-o", str(tmp_path / "out.h5ad")]
    assert main(["transfer", *files, "--n-votes", "3", "--least", "0.5", "--strict"]) == 0
    assert given == {"n_votes": 3, "least": 0.5, "strict": True}


def test_demo_prints_a_summary_and_saves_table_and_picture(tmp_path, capsys):
    plt.close("all")
    assert main(["demo", "-o", str(tmp_path)]) == 0
    axes = [ax for ax in plt.gcf().axes if ax.get_title()]
    assert [ax.get_title() for ax in axes] == ["utc", "bulk_labels"]
    assert {(ax.get_xlabel(), ax.get_ylabel()) for ax in axes} == {("utc1", "utc2")}  # as in scutc.pl.embedding
    plt.close("all")
    output = capsys.readouterr().out
    assert "700 cells" in output
    assert "cluster sizes: 0: " in output
    assert "adjusted Rand index" in output
    assert anndata.read_h5ad(tmp_path / "scutc-demo.h5ad").obs["utc"].nunique() == 10
    assert (tmp_path / "scutc-demo.png").read_bytes().startswith(b"\x89PNG")
