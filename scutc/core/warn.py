"""Warnings that point to the user's own line."""

from __future__ import annotations

import sys
import warnings

# Frames between the user's line and ours: scutc's own, and those of scikit-learn's methods that call ours.
INSIDE = ("scutc", "sklearn")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn as if from the line outside of scutc that led here."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in INSIDE:
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
