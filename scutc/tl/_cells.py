"""Which cells are clustered: all, or those of some categories, whose clusters then stand beside the other labels."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from .._anndata import cluster_names, read_labels
from ..core.blocks import in_memory, is_dask, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anndata import AnnData
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Cells:
    """All cells of an AnnData, or some of them."""

    n_obs: int
    """Number of all cells."""

    @classmethod
    def of(cls, adata: AnnData, restrict_to: tuple[str, Sequence[str]] | None) -> Cells:
        """Those that are asked for: a column of ``adata.obs`` and some of its categories, or nothing for all."""
        return cls(adata.n_obs) if restrict_to is None else SomeCells.chosen(adata, restrict_to)

    def __len__(self) -> int:
        return self.n_obs

    @property
    def words(self) -> str:
        """How errors call them, and their number."""
        return f"adata has {len(self)} cells"

    @property
    def params(self) -> dict[str, Any]:
        """What is recorded of the choice."""
        return {}

    def rows(self, matrix: Any, n_jobs: int | None) -> Any:
        """Their rows of a matrix of all cells."""
        return matrix

    def spread(self, values: NDArray[Any], missing: float) -> NDArray[Any]:
        """Their values as those of all cells, where the others have what is missing."""
        return values

    def positions(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where the ones of these numbers are among all cells."""
        return numbers

    def labels(self, clusters: NDArray[np.intp]) -> pd.Categorical:
        """Labels of all cells, where these ones are in these clusters."""
        return pd.Categorical.from_codes(clusters, categories=cluster_names(int(clusters.max()) + 1))

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Say in errors that number cells among which ones they are counted."""
        yield


@dataclass(frozen=True, eq=False)
class SomeCells(Cells):
    """Those of some categories of a column of ``adata.obs``."""

    column: str
    parents: list[str]
    others: pd.Categorical
    """Labels of all cells."""
    chosen_ones: NDArray[np.intp]
    """Their positions, ascending."""

    @classmethod
    def chosen(cls, adata: AnnData, restrict_to: Any) -> SomeCells:
        """By the pair of a column and categories."""
        if not isinstance(restrict_to, tuple | list) or len(restrict_to) != 2 or not isinstance(restrict_to[0], str):
            msg = f"restrict_to={restrict_to!r} is not a column of adata.obs and its categories, as ('utc', ['3']) is."
            raise ValueError(msg)
        column, categories = restrict_to
        labels = read_labels(adata, column, "restrict_to")
        names = list(map(str, labels.categories))
        if isinstance(categories, str) or not isinstance(categories, Iterable):
            categories = [categories]
        parents = list(dict.fromkeys(map(str, categories)))
        if not parents or not set(parents) <= set(names):
            msg = (
                f"restrict_to={restrict_to!r} names categories that are not in adata.obs[{column!r}], or none. "
                f"Valid: {', '.join(map(repr, names[:50]))}."
            )
            raise ValueError(msg)
        prefix = cluster_names(1, parents)[0].removesuffix("0")
        if taken := [name for name in names if name.startswith(prefix) and name.removeprefix(prefix).isdigit()]:
            msg = f"adata.obs[{column!r}] has categories {taken!r} already: rename them, or the ones to be clustered."
            raise ValueError(msg)
        labels = labels.rename_categories(names)
        positions = np.flatnonzero(np.isin(labels.codes, labels.categories.get_indexer(parents)))
        return cls(adata.n_obs, column, parents, labels, positions)

    def __len__(self) -> int:
        return len(self.chosen_ones)

    @property
    def words(self) -> str:
        """How errors call them, and their number."""
        return f"restrict_to=({self.column!r}, {self.parents!r}) chooses {len(self)} cells"

    @property
    def params(self) -> dict[str, Any]:
        """What is recorded of the choice."""
        return {"restrict_to": {"key": self.column, "categories": np.array(self.parents, dtype=str)}}

    def rows(self, matrix: Any, n_jobs: int | None) -> Any:
        """Their rows of a matrix of all cells: of a file they are loaded, of a Dask array taken later."""
        if in_memory(matrix) or is_dask(matrix):
            return matrix[self.chosen_ones]
        return read_rows(matrix, self.chosen_ones, n_jobs)

    def spread(self, values: NDArray[Any], missing: float) -> NDArray[Any]:
        """Their values as those of all cells, where the others have what is missing."""
        spread = np.full((self.n_obs, *values.shape[1:]), missing, dtype=values.dtype)
        spread[self.chosen_ones] = values
        return spread

    def positions(self, numbers: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where the ones of these numbers are among all cells."""
        return self.chosen_ones[numbers]

    def labels(self, clusters: NDArray[np.intp]) -> pd.Categorical:
        """Labels of all cells: the clusters stand where the first of their parents stood, the others keep theirs."""
        parts = cluster_names(int(clusters.max()) + 1, self.parents)
        kept = [name for name in self.others.categories if name not in self.parents]
        place = self.others.categories.get_indexer(self.parents).min()
        names = np.array(self.others.astype(object), dtype=object)
        names[self.chosen_ones] = np.array(parts, dtype=object)[clusters]
        labels = pd.Categorical(names, categories=[*kept[:place], *parts, *kept[place:]])
        return labels.remove_unused_categories()

    @contextmanager
    def named_in_errors(self) -> Iterator[None]:
        """Say in errors that number cells among which ones they are counted."""
        try:
            yield
        except ValueError as error:
            msg = f"Among the cells of restrict_to=({self.column!r}, {self.parents!r}): {error}"
            raise ValueError(msg) from error
