"""Files that the command reads and writes, each by its suffix. Only what is complete takes the place of a file."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import warnings
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from anndata import AnnData


# The parts of an AnnData, and what zarr itself has in a folder of them.
ENTRIES_OF_ZARR = {"X", "layers", "obs", "obsm", "obsp", "raw", "uns", "var", "varm", "varp"} | {
    "zarr.json",
    ".zattrs",
    ".zgroup",
    ".zmetadata",
}


@dataclass(frozen=True)
class Contents:
    """What a file holds: all of it, and the AnnData to work on, which is all, or a modality of this name."""

    whole: Any
    adata: AnnData
    modality: str | None = None


@dataclass(frozen=True)
class Format:
    """How a kind of file is read and written as a whole, opened to be looked at, and whether it is a folder."""

    read: Callable[[Path], Any]
    write: Callable[[Any, Path], None]
    look_into: Callable[[Path], Any]
    is_folder: bool = False

    def is_at(self, path: Path) -> bool:
        """Whether there is a file, or a folder if this kind is one."""
        return path.is_dir() if self.is_folder else path.is_file()


def check_paths(target: Path, sources: Sequence[Path], modality: str | None, *, force: bool) -> None:
    """Raise where something cannot be read from there or written to there, before the work and not after it."""
    for path in (*sources, target):
        if path.suffix not in FORMATS:
            *others, last = FORMATS
            msg = f"{path} is not an {', '.join(others)} or {last} file."
            raise OSError(msg)
    for source in sources:
        kind = FORMATS[source.suffix]
        if not kind.is_at(source):
            msg = f"There is no {'folder' if kind.is_folder else 'file'} {source}."
            raise OSError(msg)
    if (sources[0].suffix == ".h5mu") != (target.suffix == ".h5mu"):
        msg = f"Of {sources[0]} and {target} one is an .h5mu file: both must be, or neither."
        raise OSError(msg)
    if modality is not None and all(source.suffix != ".h5mu" for source in sources):
        msg = f"{sources[0]} has no modalities, only .h5mu files have: leave --modality {modality} out."
        raise OSError(msg)
    _check_output(target, sources, force=force)


def _check_output(target: Path, sources: Sequence[Path], *, force: bool) -> None:
    with _naming("write", target):
        place = target.resolve()  # where a link leads
        if place.is_symlink():  # Python before 3.13 raises itself
            msg = "the links lead in a circle"
            raise OSError(msg)
    if not place.parent.is_dir():
        msg = f"The folder of {target} does not exist."
        raise OSError(msg)
    if any(source.resolve() in place.parents for source in sources):
        msg = f"{target} lies inside an input: choose another output."
        raise OSError(msg)
    if place.exists():
        if not FORMATS[target.suffix].is_at(place):
            msg = f"{target} is {'a folder' if place.is_dir() else 'no folder'}: choose another output."
            raise OSError(msg)
        if not os.access(place, os.W_OK):
            msg = f"{target} is there and must not be written to: choose another output, or change its permissions."
            raise OSError(msg)
        if not force and any(source.samefile(place) for source in sources):
            msg = f"{target} is the input: choose another output, or replace it with --force."
            raise OSError(msg)
        if place.is_dir() and not _holds_only_an_anndata(place):
            msg = (
                f"{target} is a folder with something else than an AnnData in it: choose another output, or remove it."
            )
            raise OSError(msg)
    with _naming("write", target), _folder_beside(place):
        pass


def _holds_only_an_anndata(folder: Path) -> bool:
    """Whether nothing else than an AnnData, or nothing at all, is lost with a folder."""
    names = {each.name for each in folder.iterdir()}
    if not names <= ENTRIES_OF_ZARR:
        return False
    if not names:
        return True
    with suppress(Exception), FORMATS[".zarr"].look_into(folder) as store:
        return store.attrs.get("encoding-type") == "anndata"
    return False


def read(path: Path, modality: str | None = None) -> Contents:
    """Read a file into memory."""
    with _naming("read", path):
        whole = FORMATS[path.suffix].read(path)
    if path.suffix != ".h5mu":
        return Contents(whole, whole)
    if modality not in whole.mod:
        problem = "has modalities" if modality is None else f"has no modality {modality!r}"
        msg = f"{path} {problem}: choose one with --modality. Valid: {', '.join(map(repr, whole.mod))}."
        raise OSError(msg)
    return Contents(whole, whole.mod[modality], modality)


def write(contents: Contents, path: Path) -> None:
    """Write beside the place, look whether it can be read again, and only then put it there.

    Whatever happens on the way, what was there before stays, and nothing else is left in the folder.
    """
    place = path.resolve()
    with _naming("write", path), _folder_beside(place) as folder:
        # In a folder of its own, so that no other run takes it for its own, and it has a new file's permissions.
        unfinished = folder / place.name
        kind = FORMATS[path.suffix]
        kind.write(contents.whole, unfinished)
        _check_complete(unfinished, kind, contents)
        if kind.is_folder:
            _swap_folders(unfinished, place, aside=folder)
        else:
            if place.exists():
                shutil.copymode(place, unfinished)
            unfinished.replace(place)


def _check_complete(path: Path, kind: Format, contents: Contents) -> None:
    """Raise unless tables and results can be read again. The matrices stay in the file: they may be large."""
    from anndata.io import read_elem

    adata = contents.adata
    with kind.look_into(path) as root:
        group = root if contents.modality is None else root["mod"][contents.modality]
        missing = ["X"] if adata.X is not None and "X" not in group else []
        for part in ("layers", "obsm", "uns"):
            # Older versions of anndata leave None out.
            names = [name for name, value in getattr(adata, part).items() if name is not None and value is not None]
            missing += [f"{part}/{name}" for name in names if name not in group[part]]
        for part in ("obs", "var"):
            missing += [part] if read_elem(group[part]).shape != getattr(adata, part).shape else []
        for part in ("obsm", "uns"):
            read_elem(group[part])
    if missing:
        msg = f"what was written is not complete when it is read again: {', '.join(missing)}"
        raise OSError(msg)


def _swap_folders(new: Path, place: Path, aside: Path) -> None:
    """Put a folder in the place of another, which takes two steps: if the second fails, the first is undone."""
    while new.exists():
        old = Path(tempfile.mkdtemp(dir=aside))
        try:
            with suppress(FileNotFoundError):
                place.rename(old)
            new.rename(place)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:  # else another run has put its own there in between
                raise
        finally:
            if any(old.iterdir()) and not place.exists():
                old.rename(place)


@contextmanager
def _folder_beside(place: Path) -> Iterator[Path]:
    """A new folder on the same disk, that goes with all that is in it."""
    with tempfile.TemporaryDirectory(".unfinished", ".scutc-", place.parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextmanager
def _naming(task: str, path: Path) -> Iterator[None]:
    """Say in an error which file it is about, which the libraries that read and write do not."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = error if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
        msg = f"Cannot {task} {path}: {reason}"
        raise OSError(msg) from error


def _read_h5ad(path: Path) -> Any:
    from anndata import read_h5ad

    return read_h5ad(path)


def _write_h5ad(adata: Any, path: Path) -> None:
    adata.write_h5ad(path)


def _look_into_hdf5(path: Path) -> Any:
    from h5py import File

    return File(path)


def _read_zarr(path: Path) -> Any:
    from anndata import read_zarr

    return read_zarr(path)


def _write_zarr(adata: Any, path: Path) -> None:
    with _without("Writing zarr v2"):
        adata.write_zarr(path)


@contextmanager
def _look_into_zarr(path: Path) -> Iterator[Any]:
    from zarr import open_group

    # What is there, not what a list that was written says; zarr 2 knows no other way.
    as_it_is = {"use_consolidated": False} if "use_consolidated" in signature(open_group).parameters else {}
    yield open_group(str(path), mode="r", **as_it_is)


def _read_h5mu(path: Path) -> Any:
    try:
        from mudata import read_h5mu
    except ImportError as error:
        msg = "mudata is not installed, pip install mudata does that"
        raise OSError(msg) from error
    with _without(r"From 0\.4 \.update"):
        return read_h5mu(path)


def _write_h5mu(whole: Any, path: Path) -> None:
    with _without(r"From 0\.4 \.update"):
        whole.write_h5mu(path)


@contextmanager
def _without(warning: str) -> Iterator[None]:
    """Spare the user of a command a warning that is for those who write programs."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", warning)
        yield


FORMATS = {
    ".h5ad": Format(_read_h5ad, _write_h5ad, _look_into_hdf5),
    ".zarr": Format(_read_zarr, _write_zarr, _look_into_zarr, is_folder=True),
    ".h5mu": Format(_read_h5mu, _write_h5mu, _look_into_hdf5),
}
