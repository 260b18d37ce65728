"""Errors about cells, in the names that users know."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..core.blocks import NonFiniteError
from ..core.metric import UndefinedCellsError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd


@contextmanager
def named(cells: pd.Index, genes: pd.Index | None = None, whose: str = "") -> Iterator[None]:
    """Say in errors what the cell and the gene are called that they number, and whose they are.

    ``genes`` are the names of the columns that were read, if these have any.
    """
    try:
        yield
    except ValueError as error:
        bad_cell = isinstance(error, NonFiniteError | UndefinedCellsError)
        if not whose and not bad_cell:
            raise
        msg = f"{whose}: {error}" if whose else str(error)
        if bad_cell:
            msg += f" This cell is called {str(cells[error.cell])!r}"
            msg += "." if genes is None or not hasattr(error, "gene") else f", this gene {str(genes[error.gene])!r}."
        raise ValueError(msg) from error
