"""A progress bar, as long as scanpy is to say much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# scanpy shows hints, and with them progress, from this verbosity on.
VERBOSITY_OF_HINTS = 3
# In seconds. A bar below the line that names a stage tells something only of what takes longer.
PATIENCE = 1.0


def progress_bar(title: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """A function that wraps the steps of a loop in a progress bar, if scanpy's verbosity asks for it.

    There is one bar at a time: it appears in loops that take a while, and is gone when they end.
    """
    from scanpy import settings
    from tqdm import tqdm

    silent = settings.verbosity < VERBOSITY_OF_HINTS
    return lambda steps: tqdm(steps, desc=title, leave=False, delay=PATIENCE, disable=silent)
