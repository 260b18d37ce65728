"""Arrays in, arrays out: matrix → geometry → an affinity per order → fused embedding → labels.

Nothing in this package imports anndata or scanpy.
"""
