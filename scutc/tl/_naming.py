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
    owner = f"{whose}: " if whose else ""
    try:
        yield
    except (NonFiniteError, UndefinedCellsError) as error:
        gene = ""
        if isinstance(error, NonFiniteError) and genes is not None:
            gene = f", this gene {str(genes[error.gene])!r}"
        msg = f"{owner}{error} This cell is called {str(cells[error.cell])!r}{gene}."
        raise ValueError(msg) from error
    except ValueError as error:
        if not whose:
            raise
        msg = f"{owner}{error}"
        raise ValueError(msg) from error
