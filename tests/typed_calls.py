"""Read by mypy, never run: it knows every parameter, and an unused ``type: ignore`` is an error to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import scutc

if TYPE_CHECKING:
    from anndata import AnnData


def call(adata: AnnData) -> None:
    scutc.tl.utc(adata, [3, 4], metric="spearman", sharpness=2.0, weights={3: 0.5}, rng=1)
    scutc.tl.utc(adata, 2, restrict_to=("utc", ["3"]))
    scutc.tl.utc(adata, sharpnes=2.0)  # type: ignore[call-arg]
    scutc.tl.utc(adata, sharpness="high")  # type: ignore[arg-type]
    scutc.UTC(3, sharpness=2.0)
    scutc.UTC(3, sharpness="high")  # type: ignore[arg-type]
    scutc.baselines.CAN(3, n_neighbors=2, metric="euclidean")
    scutc.baselines.CAN(n_neighbors="many")  # type: ignore[arg-type]
