"""The scikit-learn estimator: arrays in, labels and embedding out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.validation import check_is_fitted, validate_data
from threadpoolctl import threadpool_limits

from ._validation import (
    check_choice,
    check_mapping,
    check_n_clusters,
    check_n_jobs,
    check_out_of_memory,
    check_positive_integer,
    check_positive_number,
    check_seed,
    draw_seed,
    is_integer,
    usable_metric,
)
from .core.affinities import AFFINITIES, COSINES, AffinitySettings
from .core.assignment import consensus, number_by_size, partition
from .core.blocks import in_memory, is_backed, is_dask, read_rows
from .core.extension import Extension, elect, vote
from .core.geometry import METRICS, check_finite, compute_geometry
from .core.landmarks import choose_landmarks, number_of_landmarks
from .core.n_clusters import estimate_n_clusters
from .core.solvers import SOLVERS, SolverSettings, solve_spectral, solver_defaults

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

ORDERS = tuple(AFFINITIES["indecomposable"])

# With few samples an order cannot speak in many dimensions without telling noise.
MAX_RANK_PER_SAMPLE = 0.25


class UTC(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """Uniform tensor clustering.

    Measures how two, three and four samples lie to each other, fuses these orders into one embedding, and clusters the
    samples in it. Meant for few samples with very many features; beyond a few thousand, landmarks stand for all.

    Parameters
    ----------
    n_clusters
        Number of clusters. ``None`` estimates it, whatever the solver, from the spectral one: the number at which the
        clusters are best separated and the single orders agree best on them.
    orders
        Orders of affinity to fuse, any non-empty subset of (2, 3, 4): pairs of samples, angles among three, ratios of
        distances among four.
    metric
        ``"correlation"`` centres every sample and scales it to unit length first, which suits expression data;
        ``"euclidean"`` takes the samples as they are.
    n_neighbors
        Perplexity of order 2, at most a third of the number of samples, and reach of the reference pairs of order 4;
        for ``"ascent"`` and ``"admm"`` also the reach of the tensors.
    n_landmarks
        Number of samples that stand for all: they cover the data, are clustered with the mean of the samples around
        each, and give embedding and label to every sample by its nearest ones. Time and memory are then linear in the
        number of samples. ``"auto"`` takes 2000 above 4000 samples, ``None`` never any.
    n_anchors
        Number of samples from which order 3 looks at the others, drawn at random. ``None`` takes all, ``"auto"`` all of
        a few hundred samples and fewer of more, down to 32.
    n_pairs
        Number of reference pairs of order 4, drawn at random from the pairs of near neighbours. ``None`` takes all,
        ``"auto"`` as many as there are anchors at most.
    sharpness
        How fast an affinity of order 4 falls with the ratio of distances (σ in the paper).
    effective_rank
        Number of dimensions in which each order may speak: its eigenvalues are raised to the power at which they add
        up to this, but at most to a quarter of the number of samples and two thirds of its positive eigenvalues.
    affinity
        ``"indecomposable"`` measures angles among three samples and ratios of distances among four; ``"decomposable"``
        makes orders 3 and 4 of products of order 2.
    cosine
        ``"absolute"`` or ``"signed"`` cosines of the angles of order 3. With the spectral solver signed cosines below 0
        count as 0.
    weights
        Weights of orders, for example ``{3: 0.5}``; 1 for those that are left out.
    solver
        ``"spectral"``: the orders contracted to pairs of samples, one eigenproblem. ``"ascent"`` and ``"admm"``: the
        model of the paper, on tensors of near neighbours, by monotone ascent or by the paper's own algorithm; their
        cost grows with the fourth power of ``n_neighbors``.
    solver_params
        Parameters of the solver. ``"ascent"``: ``max_iter``, ``tol``, ``n_starts``. ``"admm"``: ``mu``, ``rho``,
        ``mu_max``, ``tol`` (the paper's μ, ρ, μmax and ε, the latter relative to the largest entry), ``inner_tol``,
        ``max_iter``.
    random_state
        Seed for the samples of anchors and pairs and for the starts of the mixtures.
    n_jobs
        Number of threads. The result does not depend on it.
    verbose
        A function that is called with a line of text at each stage, for example ``print``.
    progress
        A function that wraps the steps of long loops to show how far they are, for example ``tqdm.tqdm``.

    Attributes
    ----------
    labels_
        Cluster of each sample, numbered by decreasing size.
    embedding_
        The fused embedding, samples × max(2, ``n_clusters_``).
    n_clusters_
        Number of clusters.
    landmarks_
        Positions of the samples that are landmarks; ``None`` where every sample was clustered itself.
    n_clusters_candidates_
        The numbers of clusters that were tried where it was estimated; else ``None``.
    n_clusters_scores_
        Their scores; else ``None``.
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
        The metric that was used: ``"euclidean"`` where there is but one feature.
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

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        orders: Iterable[int] = (2, 3, 4),
        metric: str = "correlation",
        n_neighbors: int = 15,
        n_landmarks: int | str | None = "auto",
        n_anchors: int | str | None = "auto",
        n_pairs: int | str | None = "auto",
        sharpness: float = 3.0,
        effective_rank: float = 16.0,
        affinity: str = "indecomposable",
        cosine: str = "absolute",
        weights: Mapping[int, float] | None = None,
        solver: str = "spectral",
        solver_params: Mapping[str, float] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: Callable[[str], object] | None = None,
        progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.orders = orders
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_landmarks = n_landmarks
        self.n_anchors = n_anchors
        self.n_pairs = n_pairs
        self.sharpness = sharpness
        self.effective_rank = effective_rank
        self.affinity = affinity
        self.cosine = cosine
        self.weights = weights
        self.solver = solver
        self.solver_params = solver_params
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of a matrix.

        Parameters
        ----------
        X
            Samples × features, dense or sparse (CSR or CSC), never densified; or a Dask array whose chunks hold whole
            rows, or a backed matrix. Without landmarks it is kept, not copied, for :meth:`transform`: do not change it.
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
        orders = self._check_parameters()
        X = self._check_matrix(X, reset=True)
        n_samples, n_features = X.shape
        n_landmarks = number_of_landmarks(self.n_landmarks, n_samples)
        if self.n_clusters is not None:
            check_n_clusters(self.n_clusters, n_samples, n_landmarks)
        self.orders_ = orders
        self.metric_ = usable_metric(self.metric, n_features)
        self.seed_ = draw_seed(self.random_state)
        # One BLAS thread, parallel over blocks of rows instead: BLAS sums in another order with more threads.
        with threadpool_limits(limits=1):
            if n_landmarks is None:
                self.landmarks_: NDArray[np.intp] | None = None
                known = X if in_memory(X) else read_rows(X, np.arange(n_samples), self.n_jobs, self._progress)
                check_finite(known)
            else:
                self._report(f"{n_landmarks} landmarks for {n_samples} samples")
                landmarks = choose_landmarks(X, n_landmarks, self.metric_, self.seed_, self.n_jobs, self._progress)
                self.landmarks_, known = landmarks.cells, landmarks.profiles
            self._solve(known)
        self._extension = Extension(known, self.metric_, self.n_neighbors)
        self._landmark_weights = None
        if n_landmarks is not None:
            self._report(f"{n_samples} samples from their nearest landmarks")
            self._landmark_weights = self._extend(X)
        iterations = self._solution.iterations
        self.objective_history_ = None if iterations is None else iterations.objective
        self.n_iter_ = 0 if iterations is None else iterations.n_iter
        self.converged_ = iterations is None or iterations.converged
        self.relative_gradient_ = None if iterations is None else iterations.relative_gradient
        self.spectrum_ = self._solution.spectrum
        self.order_spectra_ = self._solution.order_spectra
        embedding = self._known_embedding
        self.embedding_ = embedding if self._landmark_weights is None else self._landmark_weights @ embedding
        self.labels_, self.agreement_, self._known_labels = self._cut(self.n_clusters_)
        return self

    def _solve(self, known: Any) -> None:
        """Find the embeddings of the samples or landmarks, and the number of clusters if it is not given."""
        n_known = known.shape[0]
        settings = AffinitySettings(
            n_neighbors=self.n_neighbors,
            n_anchors=self.n_anchors,
            n_pairs=self.n_pairs,
            sharpness=self.sharpness,
            cosine=self.cosine,
            seed=self.seed_,
        )
        solver_settings = SolverSettings(
            n_clusters=self.n_clusters or 1,
            effective_rank=min(self.effective_rank, n_known * MAX_RANK_PER_SAMPLE),
            seed=self.seed_,
            weights=dict(self.weights or {}),
            report=self._report,
            progress=self._progress,
        )
        self._report(f"distances between {n_known} samples")
        geometry = compute_geometry(known, self.metric_, self.n_jobs)
        affinities = {order: AFFINITIES[self.affinity][order](geometry, settings) for order in self.orders_}
        if self.solver == "spectral" or self.n_clusters is None:
            self._solution = solve_spectral(affinities, solver_settings)
        if self.n_clusters is None:
            estimate = estimate_n_clusters(self._solution, self.seed_, self._report)
            self.n_clusters_ = estimate.n_clusters
            self.n_clusters_candidates_: NDArray[np.intp] | None = estimate.candidates
            self.n_clusters_scores_: NDArray[np.float64] | None = estimate.scores
        else:
            self.n_clusters_ = int(self.n_clusters)
            self.n_clusters_candidates_ = None
            self.n_clusters_scores_ = None
        if self.solver != "spectral":
            solver_settings = replace(solver_settings, n_clusters=self.n_clusters_)
            solve = SOLVERS[self.solver]
            self._solution = solve(affinities, solver_settings, **dict(self.solver_params or {}))

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[np.float64]:
        """Cluster the rows of a matrix and return the fused embedding.

        Parameters
        ----------
        X
            Samples × features, dense or sparse.
        y
            Ignored.

        Returns
        -------
        ``embedding_``, samples × max(2, number of clusters).

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
        >>> UTC(n_clusters=3).fit_transform(X).shape
        (60, 3)
        """
        return self.fit(X).embedding_

    def cut(self, n_clusters: int) -> tuple[NDArray[np.intp], dict[int, float]]:
        """Labels for another number of clusters, and each order's agreement with them, from the same decomposition.

        With ``"ascent"`` and ``"admm"`` these are clusters in the columns that were found for the fitted number;
        fitting for the other number would find other columns.

        Parameters
        ----------
        n_clusters
            Number of clusters, at most the number of samples. Best well below 32, or below the number that was fitted:
            no more directions of the embedding are kept.

        Returns
        -------
        The labels, and a dictionary from orders to the adjusted Rand index.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=60, n_features=500, centers=3, random_state=0)
        >>> labels, agreement = UTC(n_clusters=2).fit(X).cut(3)
        >>> np.bincount(labels)
        array([20, 20, 20])
        """
        check_is_fitted(self)
        check_n_clusters(n_clusters, len(self.labels_), None if self.landmarks_ is None else len(self.landmarks_))
        labels, agreement, _ = self._cut(n_clusters)
        return labels, agreement

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Place new samples in the fused embedding, each at a weighted mean of the nearest fitted ones.

        Samples that were fitted come out where they are in ``embedding_``, those that coincide at their mean.

        Parameters
        ----------
        X
            Samples × features, as for :meth:`fit`.

        Examples
        --------
        >>> from sklearn.datasets import make_blobs
        >>> from scutc import UTC
        >>> X, _ = make_blobs(n_samples=80, n_features=500, centers=3, random_state=0)
        >>> model = UTC(n_clusters=3).fit(X[:60])
        >>> model.transform(X[60:]).shape
        (20, 3)
        """
        check_is_fitted(self)
        return self._extend(self._check_matrix(X, reset=False)) @ self._known_embedding

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Label new samples by a weighted vote of the nearest fitted ones.

        Samples that were fitted get the label that they have in ``labels_``, with two exceptions: those that coincide
        get one label, and with landmarks a cluster for which no sample votes most, but which has one in ``labels_``.

        Parameters
        ----------
        X
            Samples × features, as for :meth:`fit`.

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
        check_is_fitted(self)
        weights = self._extend(self._check_matrix(X, reset=False))
        return vote(weights, self._known_labels, self.n_clusters_).argmax(axis=1)

    @property
    def _known_embedding(self) -> NDArray[np.float64]:
        return self._solution.embedding[:, : max(2, self.n_clusters_)]

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def _extend(self, X: Any) -> Any:
        """The weights that each row gives to the samples or landmarks that were embedded."""
        with threadpool_limits(limits=1):
            return self._extension.weights(X, self.n_jobs, self._progress)

    def _cut(self, n_clusters: int) -> tuple[NDArray[np.intp], dict[int, float], NDArray[np.intp]]:
        """Labels of all samples, each order's agreement, and labels of those that were embedded."""
        solution = self._solution
        self._report(f"{n_clusters} clusters")
        with threadpool_limits(limits=1):
            votes = {
                orders: partition(solution.points(orders, n_clusters), n_clusters, self.seed_)
                for orders in solution.embeddings
            }
            known = consensus(list(votes.values()), solution.points(solution.orders, n_clusters), n_clusters)
        agreement = {
            order: float(adjusted_rand_score(known, votes[order,])) for order in solution.orders if (order,) in votes
        }
        if self.landmarks_ is None:
            return known, agreement, known
        elected = elect(vote(self._landmark_weights, known, n_clusters), self.landmarks_, known)
        labels = number_by_size(elected)
        renumbered = np.empty(n_clusters, dtype=np.intp)
        renumbered[elected] = labels
        return labels, agreement, renumbered[known]

    def _check_matrix(self, X: Any, *, reset: bool) -> Any:
        """Raise on what cannot be clustered; return a matrix in memory, CSR if sparse, or one that is out of it."""
        min_samples = 2 if reset else 1
        if is_dask(X) or is_backed(X):
            check_out_of_memory(X, min_samples)
            return validate_data(self, X, reset=reset, skip_check_array=True)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", ensure_all_finite=False, ensure_min_samples=min_samples
        )
        check_finite(X)
        return X

    def _progress(self, steps: Iterable[Any]) -> Iterable[Any]:
        return steps if self.progress is None else self.progress(steps)

    def _report(self, message: str) -> None:
        if self.verbose is not None:
            self.verbose(message)

    def _check_parameters(self) -> tuple[int, ...]:
        """Raise on a bad parameter and return the orders, ascending."""
        given = list(self.orders) if np.iterable(self.orders) else [self.orders]
        if not given or not all(is_integer(order) and order in ORDERS for order in given):
            msg = f"orders={self.orders!r} is not a non-empty subset of {ORDERS}."
            raise ValueError(msg)
        check_choice("metric", self.metric, METRICS)
        check_choice("affinity", self.affinity, tuple(AFFINITIES))
        check_choice("cosine", self.cosine, COSINES)
        check_choice("solver", self.solver, tuple(SOLVERS))
        check_positive_integer("n_neighbors", self.n_neighbors)
        check_positive_integer("n_landmarks", self.n_landmarks, "auto", None)
        if self.n_landmarks == 1:
            msg = "n_landmarks=1 has no neighbours to be compared with: take at least 2, better many more."
            raise ValueError(msg)
        check_positive_integer("n_anchors", self.n_anchors, "auto", None)
        check_positive_integer("n_pairs", self.n_pairs, "auto", None)
        check_positive_number("sharpness", self.sharpness)
        check_positive_number("effective_rank", self.effective_rank)
        self._check_solver_params()
        self._check_weights()
        check_seed(self.random_state)
        check_n_jobs(self.n_jobs)
        if self.verbose is not None and not callable(self.verbose):
            msg = f"verbose={self.verbose!r} is not a function that takes a line of text, such as print."
            raise ValueError(msg)
        if self.progress is not None and not callable(self.progress):
            msg = f"progress={self.progress!r} is not a function that wraps an iterable, such as tqdm.tqdm."
            raise ValueError(msg)
        return tuple(sorted({int(order) for order in given}))

    def _check_weights(self) -> None:
        check_mapping("weights", self.weights)
        for order, weight in (self.weights or {}).items():
            if order not in ORDERS:
                msg = f"weights names order {order!r}. Valid: {', '.join(map(repr, ORDERS))}."
                raise ValueError(msg)
            check_positive_number(f"weights[{order}]", weight)

    def _check_solver_params(self) -> None:
        check_mapping("solver_params", self.solver_params)
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
