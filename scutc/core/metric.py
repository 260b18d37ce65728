"""What a distance between two cells is: one class for each metric, and nothing elsewhere asks which it is.

A metric turns cells into standard rows, points of a Euclidean space between which its distance is the ordinary one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from .parallel import row_blocks
from .warn import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

# A cell whose values differ by less than this part of its length is constant up to rounding.
CONSTANT = 1e-12
# Powers of two beyond this one, or below its inverse, are not all floating point numbers.
MAX_EXPONENT = 1000
# A cell may be larger than the cells that a metric learned from by two to this power.
FARTHEST_EXPONENT = 300


@dataclass(frozen=True, eq=False)
class StandardRows:
    """Points ``scales * (values + multiples ⊗ profile)``, where a sparse matrix has its zeros in ``values`` alone.

    Dense values are the points themselves. Sparse ones stay as they are until they have been multiplied: what is equal,
    as distances of cells with few distinct values often are, stays equal.
    """

    values: Any
    offset: tuple[NDArray[np.float64], NDArray[np.float64]] | None = None
    """The multiples, one for each row, and the profile, with an entry for each gene."""
    scales: NDArray[np.float64] | None = None
    """One for each row."""
    unit: bool = False
    """Whether all have length 1, up to rounding."""

    def inner_products(self, rows: slice, others: slice) -> NDArray[np.float64]:
        """Inner products of some of the rows with some others."""
        products = self.values[rows] @ self.values[others].T
        if sparse.issparse(products):
            products = products.toarray()
        if self.offset is not None:
            multiples, profile = self.offset
            towards = self._along_profile + (profile @ profile) * multiples
            products += np.outer(towards[rows], multiples[others])
            products += np.outer(multiples[rows], self._along_profile[others])
        if self.scales is not None:
            products *= self.scales[rows, None]
            products *= self.scales[others]
        return products

    @cached_property
    def _along_profile(self) -> NDArray[np.float64]:
        return self.values @ self.offset[1] if self.offset is not None else np.zeros(self.values.shape[0])

    def squared_lengths(self) -> NDArray[np.float64]:
        """Squared length of each row."""
        if self.unit:
            return np.ones(self.values.shape[0])
        if sparse.issparse(self.values):
            squares = _row_sums(self.values, self.values.data**2)
        else:
            squares = np.einsum("ij,ij->i", self.values, self.values)
        if self.offset is not None:
            multiples, profile = self.offset
            squares += multiples * (2 * self._along_profile + (profile @ profile) * multiples)
        return squares if self.scales is None else squares * self.scales**2

    def project(self, directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner products of all rows with directions, genes × directions."""
        products = self.values @ directions
        if self.offset is not None:
            multiples, profile = self.offset
            products += np.outer(multiples, profile @ directions)
        return products if self.scales is None else products * self.scales[:, None]

    def combine(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weighted sums of the rows, genes × columns of the weights."""
        if self.scales is not None:
            weights = weights * self.scales[:, None]
        sums = self.values.T @ weights
        if self.offset is not None:
            multiples, profile = self.offset
            sums += np.outer(profile, multiples @ weights)
        return sums


class UndefinedCellsError(ValueError):
    """Some cells have no distance to others under a metric; ``positions`` are theirs in the rows that were given.

    ``cell`` is the number of the first of them in the data.
    """

    def __init__(self, message: str, positions: NDArray[np.intp], cell: int) -> None:
        super().__init__(message)
        self.positions, self.cell = positions, cell

    def __reduce__(self) -> tuple[Any, ...]:  # it may come from another process
        return type(self), (str(self), self.positions, self.cell)


class Metric(ABC):
    """A distance between cells. What it has to know of the data it learns from some cells, by :meth:`of`."""

    words: ClassVar[str]
    """How it is described to users, after its name."""
    min_genes: ClassVar[int] = 1
    """With fewer genes it is undefined."""

    @classmethod
    def of(cls, cells: Any) -> Self:
        """The metric for data like the rows of this dense or CSR matrix."""
        return cls()

    @abstractmethod
    def standardize(self, cells: Any, numbers: NDArray[np.intp] | None = None) -> StandardRows:
        """The rows of a dense or CSR matrix as points; a sparse matrix is never densified.

        Raises on cells for which the metric is undefined; ``numbers`` are the cells' numbers in the data.
        """


class Correlation(Metric):
    """Every cell centred and scaled to unit length: the squared distance is 2 − 2 × the correlation."""

    words = "centres every cell and scales it to unit length first, which suits expression data"
    min_genes = 2

    def standardize(self, cells: Any, numbers: NDArray[np.intp] | None = None) -> StandardRows:
        """Centred rows of unit length; raises on cells that do not vary, which have no correlation."""
        values = _rescaled_rows(cells)
        n_genes = values.shape[1]
        means = np.asarray(values.sum(axis=1)).ravel() / n_genes
        if not sparse.issparse(values):
            lengths_before = _row_lengths(values)
            values -= means[:, None]
            lengths = _row_lengths(values)
            _check_varying(lengths, lengths_before, numbers)
            values /= lengths[:, None]
            return StandardRows(values, unit=True)
        n_stored = np.diff(values.indptr)
        squares_before = _row_sums(values, values.data**2)
        # The deviations themselves are squared, since the sum of squares less n_genes × means² cancels where a cell
        # varies little.
        deviations = values.data - np.repeat(means, n_stored)
        lengths = np.sqrt(_row_sums(values, deviations**2) + (n_genes - n_stored) * means**2)
        _check_varying(lengths, np.sqrt(squares_before), numbers)
        # For the same reason a cell without zeros, the only kind that can be nearly constant, is centred here and now.
        full = n_stored == n_genes
        values.data = np.where(np.repeat(full, n_stored), deviations, values.data)
        return StandardRows(values, (np.where(full, 0.0, -means), np.ones(n_genes)), 1 / lengths, unit=True)


class Spearman(Correlation):
    """Rank correlation: the correlation of the ranks of each cell's genes, tied ones sharing their mean rank."""

    words = "takes the ranks of each cell's genes in place of their values, then does the same"

    def standardize(self, cells: Any, numbers: NDArray[np.intp] | None = None) -> StandardRows:
        """Centred ranks of unit length; raises on cells that do not vary."""
        return super().standardize(_ranks_of_sparse(cells) if sparse.issparse(cells) else _ranks(cells), numbers)


@dataclass(frozen=True, eq=False)
class Euclidean(Metric):
    """The cells as they are, in units of the largest value, seen from their mean: neither changes what is near."""

    words = "takes the cells as they are"

    exponent: float = 0.0
    """Of two: the unit."""
    center: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, cells: Any) -> Self:
        """The unit and the mean of these cells."""
        # Distances are free of scale; squares of very large or small values are not.
        exponent = float(_exponents(_largest_in_rows(cells)).max())
        scaled = _times_rows(cells, np.full(cells.shape[0], np.exp2(-exponent)))
        return cls(exponent, np.asarray(scaled.mean(axis=0)).ravel())

    def standardize(self, cells: Any, numbers: NDArray[np.intp] | None = None) -> StandardRows:
        """Differences from the mean. No cell is undefined; one that is too far away to be squared is drawn nearer."""
        exponents = np.maximum(self.exponent, _exponents(_largest_in_rows(cells)) - FARTHEST_EXPONENT)
        values = _times_rows(cells, np.exp2(-exponents))
        if self.center is None:
            return StandardRows(values)
        if sparse.issparse(values):
            return StandardRows(values, (np.ones(values.shape[0]), -self.center))
        values -= self.center
        return StandardRows(values)


METRICS: dict[str, type[Metric]] = {"correlation": Correlation, "spearman": Spearman, "euclidean": Euclidean}
# What "auto" means for values of genes, and for coordinates that were made of them, such as principal components: these
# have no common level that a cell could be freed from, and their lengths tell.
AUTO, OF_GENES, OF_COORDINATES = "auto", "correlation", "euclidean"


def usable_metric(name: str, n_genes: int) -> str:
    """The name of the metric, or of the Euclidean one with a warning where there are too few genes for it."""
    name = OF_GENES if name == AUTO else name
    if n_genes >= METRICS[name].min_genes:
        return name
    msg = f"A single feature has no {name}: using metric='euclidean'."
    warn(msg)
    return "euclidean"


def _check_varying(
    lengths: NDArray[np.float64], lengths_before: NDArray[np.float64], numbers: NDArray[np.intp] | None
) -> None:
    constant = lengths <= CONSTANT * lengths_before
    if constant.any():
        first = int(np.argmax(constant) if numbers is None else numbers[np.argmax(constant)])
        msg = (
            f"{np.count_nonzero(constant)} of {len(constant)} cells have the same value in all genes (all-zero cells, "
            f"for example), the first of them is cell {first} (counted from 0): their correlation with other cells is "
            "undefined. Filter them or use metric='euclidean'."
        )
        raise UndefinedCellsError(msg, np.flatnonzero(constant), first)


def _rescaled_rows(cells: Any) -> Any:
    """A copy in double precision, each row times a power of two that brings its largest value near 1.

    So that squares neither overflow nor vanish, and without rounding.
    """
    return _times_rows(cells, np.exp2(-_exponents(_largest_in_rows(cells))))


def _times_rows(cells: Any, factors: NDArray[np.float64]) -> Any:
    """A copy in double precision, each row times a factor."""
    if sparse.issparse(cells):
        data = np.multiply(cells.data, np.repeat(factors, np.diff(cells.indptr)), dtype=np.float64)
        return sparse.csr_array((data, cells.indices, cells.indptr), shape=cells.shape)
    return np.multiply(cells, factors[:, None], dtype=np.float64)


def _largest_in_rows(cells: Any) -> NDArray[np.float64]:
    """The largest magnitude in each row."""
    if not sparse.issparse(cells):
        ends = (extreme(axis=1).astype(np.float64) for extreme in (cells.max, cells.min))
        return np.maximum(*map(np.abs, ends))
    filled = np.diff(cells.indptr) > 0
    largest = np.zeros(cells.shape[0])
    magnitudes = np.abs(cells.data.astype(np.float64))
    largest[filled] = np.maximum.reduceat(magnitudes, cells.indptr[:-1][filled]) if filled.any() else 0.0
    return largest


def _exponents(largest: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each value the power of two just above it, within the range of floating point numbers."""
    return np.clip(np.frexp(largest)[1], -MAX_EXPONENT, MAX_EXPONENT).astype(np.float64)


def _row_lengths(values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Unlike numpy.linalg.norm without a copy of the values.
    return np.sqrt(np.einsum("ij,ij->i", values, values))


def _row_sums(matrix: Any, data: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums by row of values that stand where those of a CSR matrix do."""
    return np.asarray(sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape).sum(axis=1)).ravel()


def _ranks(cells: NDArray[Any]) -> NDArray[np.float64]:
    """Rank of each value in its row, from 1 on, ties averaged; some rows at a time, since ranking needs much memory."""
    blocks = [rankdata(cells[rows], axis=1) for rows in row_blocks(*cells.shape)]
    return np.concatenate(blocks) if blocks else np.empty(cells.shape)


def _ranks_of_sparse(cells: Any) -> Any:
    """Ranks less that of a zero, so that what is not stored stays 0: a correlation does not see the difference."""
    n_genes = cells.shape[1]
    n_stored = np.diff(cells.indptr)
    rows = np.repeat(np.arange(cells.shape[0]), n_stored)
    order = np.lexsort((cells.data, rows))
    values, row_of = cells.data[order], rows[order]
    # Tied values stand in a run: each gets the mean place of the run in its row.
    differs = (values[1:] != values[:-1]) | (row_of[1:] != row_of[:-1])
    starts = np.flatnonzero(np.r_[True, differs][: len(order)])
    lengths = np.diff(np.r_[starts, len(order)])
    places = np.repeat(starts + (lengths + 1) / 2, lengths) - cells.indptr[row_of]
    # Zeros, stored or not, lie between the negative values and the positive ones.
    n_negative = _count(rows[cells.data < 0], len(n_stored))
    n_zero = n_genes - n_stored + _count(rows[cells.data == 0], len(n_stored))
    of_zero = n_negative + (n_zero + 1) / 2
    ranks = np.where(values > 0, places + (n_genes - n_stored)[row_of], places) - of_zero[row_of]
    data = np.empty(len(order))
    data[order] = np.where(values == 0, 0.0, ranks)
    return sparse.csr_array((data, cells.indices, cells.indptr), shape=cells.shape)


def _count(rows: NDArray[np.intp], n_rows: int) -> NDArray[np.intp]:
    return np.bincount(rows, minlength=n_rows)
