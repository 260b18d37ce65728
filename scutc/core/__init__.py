"""Arrays in, arrays out: the method, in the order in which data flow.

==================  ====================================================================================
``settings``        the choices of a run
``blocks``          a matrix wherever it lies, read in blocks of rows
``metric``          what a distance between two cells is
``landmarks``       cells that stand for many, in the ``subspace`` of what cells have in common
``genes``           which genes carry structure, and which only add noise
``geometry``        inner products and distances of the cells that are embedded
``affinities``      how 2, 3 or 4 cells lie to each other: what each order says about pairs, or its ``tensors``
``fusion``          the orders brought to one scale and added
``solvers``         from distances to an embedding
``replicates``      the same from halves of the genes, to see what comes back
``n_clusters``      how many clusters
``assignment``      from an embedding to labels; ``tree`` is a cheaper way, to compare views by
``confidence``      how sure labels are, how stable clusters
``extension``       from labelled cells to all others
``pipeline``        all of it, from end to end
==================  ====================================================================================

``eigen``, ``normalization``, ``parallel``, ``sampling`` and ``warn`` serve the others. Nothing here imports anndata or
scanpy.
"""
