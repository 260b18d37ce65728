"""Warnings that point to the user's own line."""

from __future__ import annotations

import sys
import warnings


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the line outside of scutc that led here."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "scutc":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
