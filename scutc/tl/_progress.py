"""Progress bars, as long as scanpy is to say much."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

# scanpy shows hints, and with them progress, from this verbosity on.
VERBOSITY_OF_HINTS = 3


def progress_bar(title: str) -> Callable[[Iterable[Any]], Iterable[Any]]:
    """A function that wraps the steps of a loop in a progress bar, if scanpy's verbosity asks for it."""
    from scanpy import settings
    from tqdm import tqdm

    return lambda steps: tqdm(steps, desc=title, leave=False, disable=settings.verbosity < VERBOSITY_OF_HINTS)
