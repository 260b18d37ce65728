from __future__ import annotations

import os
import shutil
import stat
import sys
from contextlib import nullcontext
from functools import wraps
from pathlib import Path

import anndata
import h5py
import numpy as np
import pytest
import scanpy as sc
import zarr
from anndata.io import write_elem

import scutc
from conftest import make_groups
from scutc.__main__ import main

# As Python does where no test asks for more: packages deprecate among themselves.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")


@pytest.fixture(autouse=True)
def _restore_verbosity():
    verbosity = sc.settings.verbosity
    yield
    sc.settings.verbosity = verbosity


@pytest.fixture(autouse=True)
def clustered(monkeypatch):
    """The AnnData that tl.utc got, which is not clustered: these tests are about files."""
    given = []

    def utc(adata, key_added="utc", **settings):
        adata.obs[key_added] = "0"
        given.append(adata)

    monkeypatch.setattr(scutc.tl, "utc", wraps(scutc.tl.utc)(utc))
    return given


def store(adata, path):
    adata.write_h5ad(path) if path.suffix == ".h5ad" else adata.write_zarr(path)
    return path


def read(path):
    return anndata.read_h5ad(path) if path.suffix == ".h5ad" else anndata.read_zarr(path)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Files to start from, of each kind an input and an output of an earlier run: zarr writes slowly."""
    folder = tmp_path_factory.mktemp("stored")
    adata = make_groups((3, 2), n_genes=4)
    adata.layers["double"] = adata.X * 2
    earlier = adata.copy()
    earlier.obs["utc"] = "earlier"
    for suffix in (".h5ad", ".zarr"):
        store(adata, folder / f"in{suffix}")
        store(earlier, folder / f"out{suffix}")
    return folder


@pytest.fixture(params=[".h5ad", ".zarr"])
def source(stored, tmp_path, request):
    return copied(stored / f"in{request.param}", tmp_path)


@pytest.fixture
def target(stored, source, tmp_path):
    """An output of the same kind, which is there already, from an earlier run."""
    return copied(stored / f"out{source.suffix}", tmp_path)


def copied(path, folder):
    copy = shutil.copytree if path.is_dir() else shutil.copyfile
    return Path(copy(path, folder / path.name))


def run(source, target, *options):
    return main(["run", str(source), "-o", str(target), *options])


def is_earlier(target):
    return set(read(target).obs["utc"]) == {"earlier"}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def after(owner, name, monkeypatch, happens):
    """Have something happen each time after a function, with its arguments."""
    function = getattr(owner, name)

    @wraps(function)
    def both(*args, **kwargs):
        result = function(*args, **kwargs)
        happens(*args)
        return result

    monkeypatch.setattr(owner, name, both)


@pytest.mark.parametrize("suffix", [".h5ad", ".zarr"])
def test_each_kind_of_file_is_read_and_written(source, tmp_path, suffix, capsys):
    target = tmp_path / f"out{suffix}"
    assert run(source, target) == 0
    assert "warning" not in capsys.readouterr().err
    result, given = read(target), read(source)
    np.testing.assert_array_equal(result.X, given.X)
    np.testing.assert_array_equal(result.layers["double"], given.layers["double"])
    assert set(result.obs["utc"]) == {"0"}
    assert names(tmp_path) == sorted([source.name, target.name])


def test_another_output_is_replaced_and_that_is_said(source, target, tmp_path, capsys):
    assert run(source, target) == 0
    assert not is_earlier(target)
    assert f"{target} is there and will be replaced" in capsys.readouterr().err
    assert names(tmp_path) == [source.name, target.name]
    assert run(source, target, "--quiet") == 0
    assert capsys.readouterr().err == ""


def test_two_runs_to_one_output_do_not_disturb_each_other(source, target, tmp_path, monkeypatch):
    other = []

    def run_another(*args):
        if not other:
            other.append(None)
            other.append(run(source, target))

    after(anndata.AnnData, f"write_{source.suffix[1:]}", monkeypatch, run_another)
    assert run(source, target) == 0
    assert other == [None, 0]
    assert not is_earlier(target)
    assert names(tmp_path) == [source.name, target.name]


def test_a_folder_that_another_run_puts_there_between_the_two_steps_is_replaced(stored, tmp_path, monkeypatch):
    source, target = copied(stored / "in.h5ad", tmp_path), copied(stored / "out.zarr", tmp_path)
    rename, overtaken = Path.rename, []

    def rename_and_be_overtaken(path, goal):
        rename(path, goal)
        if path == target and not overtaken:
            overtaken.append(copied(stored / "out.zarr", tmp_path))

    monkeypatch.setattr(Path, "rename", rename_and_be_overtaken)
    assert run(source, target) == 0
    assert overtaken == [target]
    assert not is_earlier(target)
    assert names(tmp_path) == ["in.h5ad", "out.zarr"]


def test_the_old_output_stays_if_the_new_one_cannot_take_its_place(source, target, tmp_path, monkeypatch, capsys):
    rename, replace = Path.rename, Path.replace

    def fail_to_place(move):
        def moved(path, goal):
            if goal == target and ".unfinished" in str(path) and path.name == target.name:
                raise PermissionError
            return move(path, goal)

        return moved

    monkeypatch.setattr(Path, "rename", fail_to_place(rename))
    monkeypatch.setattr(Path, "replace", fail_to_place(replace))
    assert run(source, target) == 2
    assert f"Cannot write {target}" in capsys.readouterr().err
    assert is_earlier(target)
    assert names(tmp_path) == [source.name, target.name]


def cut_off(adata, path):
    if path.is_file():
        os.truncate(path, path.stat().st_size - 100)
    else:
        shutil.rmtree(path / "obs" / "utc")


def forget_a_layer(adata, path):
    with open_for_changes(path) as root:
        del root["layers"]["double"]


def forget_genes(adata, path):
    with open_for_changes(path) as root:
        write_elem(root, "var", adata.var[:2])


def open_for_changes(path):
    return h5py.File(path, "a") if path.is_file() else nullcontext(zarr.open_group(str(path), mode="a"))


@pytest.mark.parametrize("damage", [cut_off, forget_a_layer, forget_genes])
def test_what_cannot_be_read_again_replaces_nothing(source, target, tmp_path, monkeypatch, capsys, damage):
    after(anndata.AnnData, f"write_{source.suffix[1:]}", monkeypatch, damage)
    assert run(source, target) == 2
    assert f"Cannot write {target}" in capsys.readouterr().err
    assert is_earlier(target)
    assert names(tmp_path) == [source.name, target.name]


def test_what_anndata_cannot_write_is_said_with_the_file(source, target, monkeypatch, capsys, clustered):
    after(scutc.tl, "utc", monkeypatch, lambda adata: adata.uns.update(strange=object()))
    assert run(source, target) == 2
    assert f"Cannot write {target}" in capsys.readouterr().err
    assert is_earlier(target)


@pytest.mark.parametrize("dangling", [False, True])
def test_an_output_that_is_a_link_stays_one(source, target, tmp_path, dangling):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    link, place = target.with_stem("link"), elsewhere / f"place{target.suffix}"
    link.symlink_to(place)
    if not dangling:
        target.rename(place)
    assert run(source, link) == 0
    assert link.is_symlink()
    assert set(read(place).obs["utc"]) == {"0"}
    assert names(elsewhere) == [place.name]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o027, 0o640)])
def test_permissions_are_those_of_any_written_file(stored, tmp_path, umask, mode):
    source, target = stored / "in.h5ad", tmp_path / "out.h5ad"
    before = os.umask(umask)
    try:
        assert run(source, target) == 0
        assert stat.S_IMODE(target.stat().st_mode) == mode
        target.chmod(0o664)
        assert run(source, target) == 0
        assert stat.S_IMODE(target.stat().st_mode) == 0o664
        assert run(source, tmp_path / "out.zarr") == 0
        assert stat.S_IMODE((tmp_path / "out.zarr").stat().st_mode) == 0o777 & ~umask
    finally:
        os.umask(before)


def test_the_input_is_replaced_only_by_force(source, tmp_path, capsys):
    link = source.with_stem("link")
    link.symlink_to(source)
    same = [source, link]
    if source.is_file():
        same.append(source.with_stem("hard"))
        same[-1].hardlink_to(source)
    for target in same:
        assert run(source, target) == 2
        assert f"{target} is the input: choose another output, or replace it with --force" in capsys.readouterr().err
        assert "utc" not in read(source).obs
    assert run(source, link, "--force") == 0
    assert set(read(source).obs["utc"]) == {"0"}
    assert link.is_symlink()


def occupied_by_a_folder(folder):
    (folder / "out.h5ad").mkdir()
    return folder / "out.h5ad", "is a folder: choose another output"


def occupied_by_a_file(folder):
    (folder / "out.zarr").touch()
    return folder / "out.zarr", "is no folder: choose another output"


def occupied_by_other_things(folder):
    (folder / "out.zarr").mkdir()
    (folder / "out.zarr" / "thesis.txt").touch()
    return folder / "out.zarr", "is a folder with something else than an AnnData in it"


def occupied_by_an_anndata_and_other_things(folder):
    make_groups((4, 3)).write_zarr(folder / "out.zarr")
    (folder / "out.zarr" / "notes.txt").touch()
    return folder / "out.zarr", "is a folder with something else than an AnnData in it"


def not_for_files(folder):
    return Path("/proc/out.h5ad"), "Cannot write /proc/out.h5ad: "


@pytest.mark.parametrize(
    "place",
    [
        occupied_by_a_folder,
        occupied_by_a_file,
        occupied_by_other_things,
        occupied_by_an_anndata_and_other_things,
        not_for_files,
    ],
)
def test_an_output_that_cannot_be_written_is_said_before_the_work(stored, tmp_path, capsys, clustered, place):
    source = stored / "in.h5ad"
    target, message = place(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    assert run(source, target) == 2
    assert message in capsys.readouterr().err
    assert clustered == []
    assert sorted(tmp_path.rglob("*")) == before


def test_an_output_inside_the_input_is_refused(stored, capsys, clustered):
    assert run(stored / "in.zarr", stored / "in.zarr" / "out.zarr") == 2
    assert "lies inside an input: choose another output" in capsys.readouterr().err
    assert clustered == []


def test_a_protected_output_is_said_before_the_work(source, target, capsys, monkeypatch, clustered):
    monkeypatch.setattr(os, "access", lambda path, mode: path != target)  # root may write everything
    assert run(source, target) == 2
    assert "must not be written to" in capsys.readouterr().err
    assert clustered == []


def test_links_in_a_circle_are_said(stored, tmp_path, capsys):
    first, second = tmp_path / "first.h5ad", tmp_path / "second.h5ad"
    first.symlink_to(second)
    second.symlink_to(first)
    assert run(stored / "in.h5ad", first) == 2
    assert f"Cannot write {first}" in capsys.readouterr().err


def test_an_empty_folder_is_replaced(stored, tmp_path):
    target = tmp_path / "out.zarr"
    target.mkdir()
    assert run(stored / "in.h5ad", target) == 0
    assert set(read(target).obs["utc"]) == {"0"}


@pytest.mark.parametrize("damage", ["truncated", "no such format", "empty"])
def test_a_corrupt_input_is_named(source, tmp_path, capsys, damage):
    broken = source
    if source.is_dir():
        shutil.rmtree(source / "obs")
        if damage == "empty":
            shutil.rmtree(source)
            source.mkdir()
    else:
        content = source.read_bytes()
        broken.write_bytes({"truncated": content[: len(content) // 2], "empty": b""}.get(damage, b"a,b,c"))
    target = tmp_path / "out.h5ad"
    assert run(broken, target) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1].startswith(f"scutc: Cannot read {broken}: ")
    assert not target.exists()


def test_a_missing_folder_is_said(tmp_path, capsys):
    assert run(tmp_path / "in.zarr", tmp_path / "out.zarr") == 2
    assert "There is no folder" in capsys.readouterr().err


@pytest.fixture
def of_two(adata, tmp_path):
    """A file with two modalities."""
    mudata = pytest.importorskip("mudata")
    other = anndata.AnnData(np.arange(90, dtype=np.float32).reshape(45, 2), obs=adata.obs[[]].copy())
    other.var_names = ["p1", "p2"]
    other.layers["raw"] = other.X + 1
    path = tmp_path / "in.h5mu"
    both = mudata.MuData({"rna": adata, "prot": other})
    both.obs["donor"] = list(map(str, range(45)))
    both.write_h5mu(path)
    return path


def test_a_modality_is_clustered_and_the_others_stay(of_two, tmp_path, capsys):
    import mudata

    target = tmp_path / "out.h5mu"
    assert run(of_two, target, "--modality", "rna") == 0
    assert "warning" not in capsys.readouterr().err
    result, given = mudata.read_h5mu(target), mudata.read_h5mu(of_two)
    assert set(result["rna"].obs["utc"]) == {"0"}
    assert list(result.mod) == list(given.mod)
    np.testing.assert_array_equal(result["prot"].X, given["prot"].X)
    np.testing.assert_array_equal(result["prot"].layers["raw"], given["prot"].layers["raw"])
    assert result["prot"].obs.equals(given["prot"].obs)
    assert list(result.obs["donor"]) == list(given.obs["donor"])
    assert names(tmp_path) == ["in.h5mu", "out.h5mu"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "in.h5mu has modalities: choose one with --modality. Valid: 'rna', 'prot'."),
        (["--modality", "x"], "in.h5mu has no modality 'x': choose one with --modality. Valid: 'rna', 'prot'."),
    ],
)
def test_a_modality_must_be_there(of_two, capsys, options, message):
    assert run(of_two, of_two.with_stem("out"), *options) == 2
    assert message in capsys.readouterr().err


def test_without_mudata_it_is_said_what_to_install(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "mudata", None)
    source = tmp_path / "in.h5mu"
    source.touch()
    assert run(source, tmp_path / "out.h5mu", "--modality", "rna") == 2
    assert f"Cannot read {source}: mudata is not installed" in capsys.readouterr().err


def test_a_modality_needs_a_file_that_has_some(stored, tmp_path, capsys):
    source = stored / "in.h5ad"
    assert run(source, tmp_path / "out.h5ad", "--modality", "rna") == 2
    assert "has no modalities, only .h5mu files have: leave --modality rna out" in capsys.readouterr().err
    assert run(source, tmp_path / "out.h5mu") == 2
    assert "one is an .h5mu file: both must be, or neither" in capsys.readouterr().err
