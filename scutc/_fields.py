"""Which fields of an AnnData a result has: their names, whether a file can hold them, whose they are; to write them.

A result is recognised by its mark, the tool that wrote it, in ``adata.uns[key]``, which also lists its other fields.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from anndata import ImplicitModificationWarning

if TYPE_CHECKING:
    from anndata import AnnData
    from numpy.typing import NDArray

CLUSTERED, TRANSFERRED = "scutc.tl.utc", "scutc.tl.transfer"
# Where the tool and the names of its fields are found in a result.
MARK, RECORD = "tool", "fields"
# What numbers depend on: their versions are recorded.
PACKAGES = ("scutc", "numpy", "scipy", "scikit-learn", "anndata")
# The columns of each gene, and what those genes have in them that were not judged.
GENE_COLUMNS = {"informative": False, "score": float("nan")}

# What neither h5ad nor zarr can hold as a part of a name, or as all of it: these they use themselves.
FORBIDDEN_PARTS = ("/", "\\", "\0")
FORBIDDEN_NAMES = ("_index", "zarr.json")
# Bytes of a name, which zarr makes the name of a folder.
LONGEST_NAME = 255

Fields = Mapping[str, list[str]]
"""Names of fields by the part of an AnnData that they are in."""


def embedding_field(key: str) -> str:
    """The name in ``obsm`` of the embedding of a result."""
    return f"X_{key}"


def confidence_field(column: str) -> str:
    """The name in ``obs`` of the confidences of a column of labels."""
    return f"{column}_confidence"


def typicality_field(column: str) -> str:
    """The name in ``obs`` of how typical cells are of a column of labels."""
    return f"{column}_typicality"


def votes_field(column: str) -> str:
    """The name in ``obsm`` of the votes on a column of labels."""
    return f"{column}_votes"


def gene_field(key: str, column: str) -> str:
    """The name in ``var`` of one of the columns of genes."""
    return f"{key}_{column}"


def colors_field(column: str) -> str:
    """The name in ``uns`` of the colours of a column of labels, as scanpy has it."""
    return f"{column}_colors"


def fields_of(
    key: str, columns: Iterable[str], *, votes: bool = False, genes: bool = False, typicality: bool = False
) -> Fields:
    """All that a result with these columns of labels may write."""
    columns = list(columns)
    return {
        "obs": [*columns, *map(confidence_field, columns), *(map(typicality_field, columns) if typicality else [])],
        "obsm": [embedding_field(key), *(map(votes_field, columns) if votes else [])],
        "var": [gene_field(key, column) for column in GENE_COLUMNS] if genes else [],
        "uns": [key],
    }


def tool_of(adata: AnnData, key: str) -> str | None:
    """The tool of ours that wrote a result under this key, if one did."""
    result = adata.uns.get(key)
    tool = result.get(MARK) if isinstance(result, Mapping) else None
    return tool if isinstance(tool, str) and tool in (CLUSTERED, TRANSFERRED) else None


def own_fields(adata: AnnData, key: str) -> Fields:
    """What the result under this key wrote, but for what another one wrote later in its place."""
    if tool_of(adata, key) is None:
        return {}
    others = [_recorded(adata, other) for other in adata.uns if other != key and tool_of(adata, other) is not None]
    return {
        part: [name for name in names if not any(name in other.get(part, []) for other in others)]
        for part, names in _recorded(adata, key).items()
    }


def _recorded(adata: AnnData, key: str) -> Fields:
    record = {part: list(map(str, names)) for part, names in adata.uns[key].get(RECORD, {}).items()}
    # Else it is a copy of another result's description, to which nothing belongs but itself.
    return record if record.get("uns") == [key] else {"uns": [key]}


def check_key(key: Any) -> None:
    """Raise unless h5ad and zarr can hold results under this key."""
    if not isinstance(key, str) or not key or any(part in key for part in FORBIDDEN_PARTS):
        msg = f"key_added={key!r} is not a non-empty string without '/', '\\' and '\\0', which files cannot hold."
        raise ValueError(msg)
    if key.startswith(".") or key in FORBIDDEN_NAMES:
        msg = f"key_added={key!r} is a name that files use themselves or cannot hold: choose another."
        raise ValueError(msg)
    try:
        key.encode()
    except UnicodeEncodeError as error:
        msg = f"key_added={key!r} is no text that files can hold ({error.reason}): choose another."
        raise ValueError(msg) from error


def check_fields(
    adata: AnnData, key: str, fields: Fields, inputs: Mapping[str, str | None], whose: str = "adata"
) -> None:
    """Raise where one of these fields cannot be written, is not ours, or is itself read to make the result.

    ``inputs`` are names of fields that are read, by the part of the AnnData that they are in; ``whose`` is its name.
    """
    longest = max((name for names in fields.values() for name in names), key=lambda name: len(name.encode()))
    if len(longest.encode()) > LONGEST_NAME:
        msg = f"key_added={key!r} is too long: {longest!r} has more than the {LONGEST_NAME} bytes that files can hold."
        raise ValueError(msg)
    for part in ("obs", "var"):
        if (name := getattr(adata, part).index.name) in fields[part]:
            msg = (
                f"key_added={key!r} would write {whose}.{part}[{name!r}], but that is the name of the index of "
                f"{whose}.{part}, and files cannot hold both: choose another, or set {whose}.{part}.index.name = None."
            )
            raise ValueError(msg)
    own = own_fields(adata, key)
    for part, name in inputs.items():
        if name is not None and name in (*fields[part], *own.get(part, [])):
            msg = f"key_added={key!r} would overwrite {whose}.{part}[{name!r}], which is read here: choose another."
            raise ValueError(msg)
    foreign = [
        f"{whose}.{part}[{name!r}]"
        for part, names in fields.items()
        for name in names
        if name in getattr(adata, part) and name not in own.get(part, [])
    ]
    if foreign:
        msg = (
            f"key_added={key!r} would overwrite {', '.join(foreign)}, which scutc did not write under this key: choose "
            "another key_added, or delete what is there."
        )
        raise ValueError(msg)


def write_result(
    adata: AnnData,
    key: str,
    tool: str,
    *,
    obs: Mapping[str, pd.Categorical | NDArray[np.float64]],
    obsm: Mapping[str, NDArray[Any]],
    uns: Mapping[str, Any],
    colors: Mapping[str, list[str]] = MappingProxyType({}),
    var: pd.DataFrame | None = None,
) -> None:
    """Write columns of ``obs`` and ``var``, arrays of ``obsm`` and ``uns[key]`` in place of an earlier result.

    What that one wrote and this one does not is removed. ``uns[key]`` gets the mark of the tool and a record of what is
    written. ``colors`` are those of columns of ``obs``, for which scanpy's own would not do. ``var`` are the genes'
    columns, named without the key; genes that it does not have get what is missing.
    """
    new: dict[str, dict[str, Any]] = {"obs": dict(obs), "obsm": dict(obsm), "var": {}}
    if var is not None:
        for name, missing in GENE_COLUMNS.items():
            new["var"][gene_field(key, name)] = var[name].reindex(adata.var_names, fill_value=missing).to_numpy()
    old = own_fields(adata, key)
    removed = {part: [name for name in old.get(part, []) if name not in new[part]] for part in new}
    outdated = [
        name
        for name, values in obs.items()
        if isinstance(values, pd.Categorical) and len(adata.uns.get(colors_field(name), ())) != len(values.categories)
    ]
    removed["uns"] = [colors_field(name) for name in [*removed["obs"], *outdated] if name not in colors]
    written = {part: list(fields) for part, fields in new.items()} | {"uns": [key]}
    record = {part: np.array(names, dtype=str) for part, names in written.items() if names}
    about = {MARK: tool, RECORD: record, "n_cells": adata.n_obs, "versions": {each: version(each) for each in PACKAGES}}
    new["uns"] = {key: {**uns, **about}, **{colors_field(name): each for name, each in colors.items()}}
    _write_and_remove(adata, new, removed)


def _write_and_remove(adata: AnnData, new: Mapping[str, Mapping[str, Any]], removed: Mapping[str, list[str]]) -> None:
    """Write and remove fields, by the part of the AnnData that they are in: all of them, or none if that fails."""
    before = {"obs": adata.obs.copy(deep=False), "var": adata.var.copy(deep=False)}
    before |= {"obsm": dict(adata.obsm), "uns": dict(adata.uns)}
    with warnings.catch_warnings():
        # Writing to a view makes it an object of its own: what is wanted here.
        warnings.simplefilter("ignore", ImplicitModificationWarning)
        try:
            for part, fields in new.items():
                for name, values in fields.items():
                    getattr(adata, part)[name] = values
            for part, names in removed.items():
                for name in names:
                    if name in getattr(adata, part):
                        del getattr(adata, part)[name]
        except BaseException:
            for part, fields in before.items():
                setattr(adata, part, fields)
            raise
