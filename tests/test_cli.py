from __future__ import annotations

import subprocess
import sys

import anndata
import numpy as np
import pytest
import scanpy as sc

from scutc._cli import main


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
        (["{source}", "-o", "{folder}/out.csv"], 2, "is not an .h5ad file"),
    ],
)
def test_errors_have_exit_codes_and_write_nothing(source, tmp_path, capsys, arguments, code, message):
    filled = [argument.format(source=source, folder=tmp_path) for argument in arguments]
    assert main(["run", *filled]) == code
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in.h5ad"]


@pytest.mark.parametrize("arguments", [[], ["-o", "out.h5ad", "--metric", "x"], ["-o", "out.h5ad", "-n", "two"]])
def test_wrong_options_exit_with_two(source, arguments):
    with pytest.raises(SystemExit) as error:
        main(["run", str(source), *arguments])
    assert error.value.code == 2


def test_interruption_exits_with_130_and_writes_nothing(source, tmp_path, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("scutc.tl.utc", interrupt)
    assert main(["run", str(source), "-o", str(tmp_path / "out.h5ad")]) == 130
    assert not (tmp_path / "out.h5ad").exists()


def test_demo_prints_a_summary_and_saves_table_and_picture(tmp_path, capsys):
    assert main(["demo", "-o", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert "700 cells" in output
    assert "cluster sizes: 0: " in output
    assert "adjusted Rand index" in output
    assert anndata.read_h5ad(tmp_path / "scutc-demo.h5ad").obs["utc"].nunique() == 10
    assert (tmp_path / "scutc-demo.png").read_bytes().startswith(b"\x89PNG")
