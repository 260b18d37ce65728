"""The scikit-learn estimator: arrays in, labels and embedding out."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._parameters import check_parameters, estimator, parameter
from ._validation import (
    FunctionOrNone,
    NumberOfLandmarks,
    OneOf,
    PositiveInteger,
    PositiveNumber,
    SubsetOf,
    TrueOrFalse,
    Weights,
    check_mapping,
    check_n_clusters,
    check_n_jobs,
    check_positive_integer,
    check_positive_number,
    check_seed,
    draw_seed,
)
from .core import pipeline
from .core.affinities import AFFINITIES, COSINES, ORDERS
from .core.blocks import check_finite, check_readable, check_unmasked, is_out_of_memory
from .core.genes import MIN_CELLS, MIN_GENES, MIN_KEPT
from .core.landmarks import DEFAULT_LANDMARKS, MAX_EXACT_CELLS, number_of_landmarks
from .core.metric import AUTO, METRICS, OF_COORDINATES, OF_GENES, usable_metric
from .core.n_clusters import MAX_CLUSTERS
from .core.parallel import no_progress
from .core.replicates import SPLITS_IF_GIVEN, SPLITS_TO_ESTIMATE
from .core.settings import Settings, no_report
from .core.solvers import SOLVERS, solver_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray


@estimator
class UTC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Uniform tensor clustering.

    Measures how two, three and four cells lie to each other, fuses these orders into one embedding, and clusters the
    cells in it. Cells are the rows of a matrix, samples of any kind, and genes its columns. Meant for few cells with
    very many genes; beyond a few thousand cells, landmarks stand for all.

    Attributes
    ----------
    labels_
        Cluster of each cell, numbered by decreasing size.
    embedding_
        The fused embedding, cells × max(2, ``n_clusters_``).
    n_clusters_
        Number of clusters.
    landmarks_
        Positions of the cells that are landmarks; ``None`` where every cell was clustered itself.
    n_clusters_candidates_
        The numbers of clusters that were tried where it was estimated; else ``None``.
    n_clusters_scores_
        Their scores; else ``None``.
    n_clusters_spread_
        Standard deviation of each score over the halves of the genes; else ``None``.
    n_clusters_reproduced_
        For each of them the part of the labels' information that comes back in halves of the genes; else ``None``.
    confidence_
        How sure each cell's label is, from 0 to 1.
    stability_
        How well each cluster is found again in halves of the genes, from 0 to 1; without these, in single orders.
        Missing for clusters of which no cell was looked at, and where there is but one order.
    votes_
        Cells × views: the clusters that all orders together find, each order alone, and each half of the genes; −1 for
        cells that were not looked at.
    tree_
        How the clusters merge, in the form of :func:`scipy.cluster.hierarchy.linkage`. Cluster ``i`` has the number
        ``i``, and the distance of two rises with the part of the votes that separate them.
    informative_genes_
        For each gene whether it shares structure with others; ``None`` where genes were not screened.
    kept_genes_
        For each gene whether cells were clustered by it; ``None`` where genes were not screened.
    gene_scores_
        The part of each gene's variance that the structure of other genes explains; ``None`` where genes were not
        screened.
    score_of_noise_
        The score to be expected of a gene without structure; ``None`` where genes were not screened.
    spectrum_
        Eigenvalues of the fused operator, at most 1, largest first. For ``"ascent"`` and ``"admm"`` what each column
        adds to the objective.
    order_spectra_
        The same for each order alone.
    agreement_
        For each order the adjusted Rand index between its own clustering and the labels; empty for ``"ascent"`` and
        ``"admm"``, which solve for all orders at once.
    objective_history_
        The objective at the start and after each iteration; ``None`` for ``"spectral"``.
    n_iter_
        Number of iterations, 0 for ``"spectral"``.
    converged_
        Whether the solver converged.
    relative_gradient_
        How far from a stationary point its answer is: the length of the part of the gradient along which the columns
        could still move, next to that of the gradient; ``None`` for ``"spectral"``.
    orders_
        The orders that were fused, ascending.
    metric_
        The metric that was used, never ``"auto"``: ``"euclidean"`` where there is but one gene.
    seed_
        ``random_state`` if it is an integer, else the seed that was drawn from it.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from scutc import UTC
    >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
    >>> model = UTC(n_clusters=3).fit(X)
    >>> np.bincount(model.labels_)
    array([20, 20, 20])
    >>> model.embedding_.shape
    (60, 3)
    """

    n_clusters: int | None = parameter(
        PositiveInteger((None,)),
        "Number of clusters. ``None`` estimates it, whatever the solver, from the spectral one: the number up to "
        f"{MAX_CLUSTERS} whose clusters come back best in halves of the genes and are best separated.",
        default=None,
        kw_only=False,
    )
    orders: Iterable[int] = parameter(
        SubsetOf(ORDERS),
        f"Orders of affinity to fuse, any non-empty subset of {ORDERS}. They are pairs of cells, angles among three, "
        "ratios of distances among four.",
        default=ORDERS,
    )
    metric: str = parameter(
        OneOf((AUTO, *METRICS)),
        "Distance between two cells. "
        + "; ".join(f'``"{name}"`` {each.words}' for name, each in METRICS.items())
        + f'. ``"{AUTO}"`` is ``"{OF_GENES}"``, and in :func:`scutc.tl.utc` ``"{OF_COORDINATES}"`` for ``use_rep``, '
        "such as principal components, on which it does better.",
        default=AUTO,
    )
    screen_genes: bool = parameter(
        TrueOrFalse(),
        "Leave genes out that only add noise. A gene is informative if the structure that cells show in other genes "
        f"explains more of its variance than chance would; the best {MIN_KEPT} stay in any case, the most variable "
        f"where none is informative, and all where there are fewer than {MIN_GENES} genes or {MIN_CELLS} cells.",
        default=True,
    )
    n_splits: int | str = parameter(
        PositiveInteger(("auto", 0)),
        "Number of times that the genes are halved, to see what comes back. That tells how many clusters there are and "
        f'how stable each is. ``"auto"`` is {SPLITS_TO_ESTIMATE} where their number is estimated and {SPLITS_IF_GIVEN} '
        f"where it is given; with 0, or fewer than {MIN_GENES} genes or {MIN_CELLS} cells, the single orders tell.",
        default="auto",
    )
    n_neighbors: int = parameter(
        PositiveInteger(),
        "Perplexity of order 2, and reach of the reference pairs of order 4. The perplexity is at most a third of the "
        'number of cells. For ``"ascent"`` and ``"admm"`` it is the reach of the tensors, too.',
        default=15,
    )
    n_landmarks: int | str | None = parameter(
        NumberOfLandmarks(("auto", None)),
        "Number of cells that stand for all of many. They cover the data evenly, are clustered with the mean of the "
        "cells around each, and give embedding and label to the cells that they are nearest to. Time and memory are "
        f'then linear in the number of cells. ``"auto"`` takes {DEFAULT_LANDMARKS} above {MAX_EXACT_CELLS} cells, '
        "``None`` never any: then memory grows with the square of the number of cells.",
        default="auto",
    )
    n_anchors: int | str | None = parameter(
        PositiveInteger(("auto", None)),
        'Number of cells from which order 3 looks at the others, drawn at random. ``None`` takes all, ``"auto"`` all '
        "of a few hundred cells and fewer of more, down to 32.",
        default="auto",
    )
    n_pairs: int | str | None = parameter(
        PositiveInteger(("auto", None)),
        "Number of reference pairs of order 4, drawn at random from the pairs of near neighbours. ``None`` takes all, "
        '``"auto"`` as many as there are anchors at most.',
        default="auto",
    )
    sharpness: float = parameter(
        PositiveNumber(),
        "How fast an affinity of order 4 falls with the ratio of distances (σ in the paper).",
        default=3.0,
    )
    effective_rank: float = parameter(
        PositiveNumber(),
        "Number of dimensions in which each order may speak. Its eigenvalues are raised to the power at which they add "
        "up to this, but at most to a quarter of the number of cells and two thirds of its positive eigenvalues.",
        default=16.0,
    )
    affinity: str = parameter(
        OneOf(tuple(AFFINITIES)),
        'What orders 3 and 4 are made of. ``"indecomposable"`` measures angles among three cells and ratios of '
        'distances among four; ``"decomposable"`` makes them of products of order 2.',
        default="indecomposable",
    )
    cosine: str = parameter(
        OneOf(COSINES),
        "Cosines of the angles of order 3, as they are or without their sign. With the spectral solver signed cosines "
        "below 0 count as 0.",
        default="absolute",
    )
    weights: Mapping[int, float] | None = parameter(
        Weights(ORDERS), "Weights of orders, for example ``{3: 0.5}``; 1 for those that are left out.", default=None
    )
    solver: str = parameter(
        OneOf(tuple(SOLVERS)),
        'How the embedding is found. ``"spectral"``: the orders contracted to pairs of cells, one eigenproblem. '
        '``"ascent"`` and ``"admm"``: the model of the paper, on tensors of near neighbours, by monotone ascent or by '
        "the paper's own algorithm. These two are for comparison: slower, with a cost that grows with the fourth power "
        "of ``n_neighbors``.",
        default="spectral",
    )
    solver_params: Mapping[str, float] | None = parameter(
        check_mapping,
        "Parameters of the solver. "
        + "; ".join(
            f'``"{solver}"``: ' + ", ".join(f"``{name}``" for name in solver_defaults(solver))
            for solver in SOLVERS
            if solver_defaults(solver)
        )
        + '. Those of ``"admm"`` are the paper\'s μ, ρ, μmax and ε, the latter relative to the largest entry.',
        default=None,
    )
    random_state: int | np.random.RandomState | np.random.Generator | None = parameter(
        check_seed,
        "Seed for the samples of anchors and pairs, parts of the genes and landmarks. The same seed gives the same "
        "result on any number of threads.",
        default=0,
    )
    n_jobs: int | None = parameter(check_n_jobs, "Number of threads. The result does not depend on it.", default=None)
    verbose: Callable[[str], object] | None = parameter(
        FunctionOrNone("takes a line of text, such as print"),
        "A function that is called with a line of text at each stage, for example ``print``.",
        default=None,
    )
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = parameter(
        FunctionOrNone("wraps an iterable, such as tqdm.tqdm"),
        "A function that wraps the steps of long loops to show how far they are, for example ``tqdm.tqdm``.",
        default=None,
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of a matrix.

        Parameters
        ----------
        X
            Cells × genes, dense or sparse (CSR or CSC), never densified; or a Dask array whose chunks hold whole rows,
            or a backed matrix. Without landmarks it is kept, not copied, for :meth:`transform`: do not change it.
        y
            Ignored.

        Returns
        -------
        The estimator itself, fitted.

        Examples
        --------
        >>> from scipy.sparse import csr_array
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
        >>> UTC(n_clusters=3).fit(csr_array(X)).n_clusters_
        3
        """
        check_parameters(self)
        self._check_solver_params()
        X = self._check_matrix(X, reset=True)
        n_samples, n_features = X.shape
        if self.n_clusters is not None:
            check_n_clusters(self.n_clusters, n_samples, number_of_landmarks(self.n_landmarks, n_samples))
        settings = self._settings(n_features)
        model = pipeline.fit(X, settings)
        settings.report(f"{model.n_clusters} clusters")
        clustering = model.cut(model.n_clusters)
        self._model, self._clustering = model, clustering
        self.labels_, self.agreement_ = clustering.labels, clustering.agreement
        self.confidence_, self.stability_, self.votes_ = clustering.confidence, clustering.stability, clustering.votes
        self.tree_ = clustering.tree
        self.embedding_ = model.embedding
        self.n_clusters_ = model.n_clusters
        self.n_clusters_candidates_ = None if model.estimate is None else model.estimate.candidates
        self.n_clusters_scores_ = None if model.estimate is None else model.estimate.scores
        self.n_clusters_spread_ = None if model.estimate is None else model.estimate.spread
        self.n_clusters_reproduced_ = None if model.estimate is None else model.estimate.reproduced
        self.landmarks_, screen = model.embedded.landmarks, model.embedded.screen
        self.informative_genes_ = None if screen is None else screen.informative
        self.kept_genes_ = None if screen is None else screen.kept
        self.gene_scores_ = None if screen is None else screen.scores
        self.score_of_noise_ = None if screen is None else screen.score_of_noise
        self.spectrum_, self.order_spectra_ = model.solution.spectrum, model.solution.order_spectra
        iterations = model.solution.iterations
        self.objective_history_, self.n_iter_ = iterations.objective, iterations.n_iter
        self.converged_, self.relative_gradient_ = iterations.converged, iterations.relative_gradient
        self.orders_, self.metric_, self.seed_ = settings.orders, settings.metric, settings.seed
        return self

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Cluster the rows of a matrix and return the fused embedding.

        Parameters
        ----------
        X
            Cells × genes, as for :meth:`fit`.
        y
            Ignored.

        Returns
        -------
        ``embedding_``, cells × max(2, number of clusters).

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
        >>> UTC(n_clusters=3).fit_transform(X).shape
        (60, 3)
        """
        return self.fit(X).embedding_

    def cut(self, n_clusters: int) -> pipeline.Clustering:
        """Labels for another number of clusters, and what is known of them, from the same tree.

        Fewer clusters are made of the fitted ones, and more are parts of them, with landmarks up to single cells. A fit
        for the other number grows a tree of its own, and may find others. With ``"ascent"`` and ``"admm"`` these are
        clusters in the columns that were found for the fitted number, and such a fit would find other columns.

        Parameters
        ----------
        n_clusters
            Number of clusters, at most the number of cells. Best well below 32, or below the number that was fitted:
            no more directions of the embedding are kept.

        Returns
        -------
        What is known of these clusters: ``labels``, ``agreement``, ``confidence``, ``stability``, ``votes``,
        ``tree``, each as the attribute of this name and ``_`` for the fitted number.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
        >>> clusters = UTC(n_clusters=2).fit(X).cut(3)
        >>> np.bincount(clusters.labels)
        array([20, 20, 20])
        >>> clusters.stability
        array([1., 1., 1.])
        """
        check_is_fitted(self)
        check_n_clusters(n_clusters, len(self.labels_), None if self.landmarks_ is None else len(self.landmarks_))
        (self.verbose or no_report)(f"{n_clusters} clusters")
        return self._model.cut(n_clusters)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Place new cells in the fused embedding, each at a weighted mean of the nearest fitted ones.

        Cells that were fitted come out where they are in ``embedding_``, those that coincide at their mean.

        Parameters
        ----------
        X
            Cells × genes, as for :meth:`fit`.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=80, n_features=500, centers=3, random_state=0)
        >>> model = UTC(n_clusters=3).fit(X[:60])
        >>> model.transform(X[60:]).shape
        (20, 3)
        """
        return self._place(X)[0]

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Label new cells: of the labels that the nearest fitted ones have, that whose mean profile is most like them.

        Cells that were fitted get the label that they have in ``labels_``, with two exceptions: those that coincide get
        one label, and with landmarks a cluster that no cell would get, but which has one in ``labels_``.

        Parameters
        ----------
        X
            Cells × genes, as for :meth:`fit`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, groups = make_blobs(n_samples=80, n_features=500, centers=3, random_state=0)
        >>> model = UTC(n_clusters=3).fit(X[:60])
        >>> len(set(zip(groups[60:], model.predict(X[60:]))))
        3
        """
        return self._place(X)[1]

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _place(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """The embedding of new cells and their labels."""
        check_is_fitted(self)
        X = self._check_matrix(X, reset=False)
        return self._model.extend(self._clustering, X, self.n_jobs, self.progress or no_progress)

    def _settings(self, n_features: int) -> Settings:
        """What the parameters mean for data with so many features."""
        settings = {each.name: getattr(self, each.name) for each in fields(Settings) if hasattr(self, each.name)}
        orders = self.orders if np.iterable(self.orders) else [self.orders]
        settings |= {
            "n_clusters": None if self.n_clusters is None else int(self.n_clusters),
            "orders": tuple(sorted({int(order) for order in orders})),
            "metric": usable_metric(self.metric, n_features),
            "weights": dict(self.weights or {}),
            "solver_params": dict(self.solver_params or {}),
            "seed": draw_seed(self.random_state),
            "report": self.verbose or no_report,
            "progress": self.progress or no_progress,
        }
        return Settings(**settings)

    def _check_matrix(self, X: Any, *, reset: bool) -> Any:
        """Raise on what cannot be clustered; return a matrix in memory, CSR if sparse, or one that is out of it."""
        min_samples = 2 if reset else 1
        if is_out_of_memory(X):
            check_readable(X, min_samples)
            return validate_data(self, X, reset=reset, skip_check_array=True)
        check_unmasked(X)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=min_samples
        )
        check_finite(X)
        return X

    def _check_solver_params(self) -> None:
        defaults = solver_defaults(self.solver)
        for name, value in (self.solver_params or {}).items():
            if name not in defaults:
                valid = f"Valid: {', '.join(map(repr, defaults))}." if defaults else "It has none."
                msg = f"{name!r} is no parameter of solver={self.solver!r}. {valid}"
                raise ValueError(msg)
            check = check_positive_integer if isinstance(defaults[name], int) else check_positive_number
            check(f"solver_params[{name!r}]", value)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
