"""Which genes carry structure: each is judged by what the cells show in other genes, never by itself.

Parts of the genes are views of the same cells with independent noise. The leading directions of the cells in some genes
explain, of the variance of another gene, the part m / (n − 1) if it knows nothing of them, and more if it shares their
structure: that is its score. Which genes show directions best is itself found inside the genes that they come from, so
that nothing of a gene enters its score. It is found in two ways, of which one counts for all genes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse, special

from .eigen import ROUNDING, leading_eigenpairs
from .metric import METRICS
from .parallel import ENTRIES_TO_READ, row_blocks
from .sampling import evenly_spread, halve

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from .settings import Settings

# With fewer genes nothing is screened, as parts of them would find no directions, and with fewer cells neither, as any
# gene is explained by directions of so few.
MIN_GENES, MIN_CELLS = 200, 16
# Directions that a gene is compared with, fewer where there are few cells.
MAX_DIRECTIONS = 10
CELLS_PER_DIRECTION = 8
# Genes are dealt to so many folds, and those of each judged by directions that were found in the others.
N_FOLDS = 5
# Finding the structure wants a strict choice: the probability, without structure, with which genes go on to the next
# round. Rounds end where noise is not the majority, and more than this part of the genes goes on.
ROUNDS = (0.05, 0.05, 0.05, 0.01, 0.01, 0.01, 0.001, 0.001, 0.001)
ENOUGH = 0.5
SPLITS_PER_ROUND = 2
# Where noise is the majority all rounds are gone through so many times.
N_TRIES = 3
# How much genes of a certain mean usually vary is seen in so many groups of them.
GROUPS_BY_MEAN = 20
# Variances that differ by less than this part, as those of standardised genes do, are the same, and means of less than
# this part of the standard deviation, as those of centred genes are, are none.
SAME_UP_TO = 1e-6
# A gene counts for no more where the two ways are compared.
SMALLEST_P_VALUE = 1e-10
# Fewer genes than this show next to nothing, so a round hands on at least so many.
MIN_GENES_IN_ROUND = 8
# Using the structure wants a generous choice, as many weak genes carry much together: so large a part of the genes that
# are called informative may be noise.
FALSE_DISCOVERY_RATE = 0.5
# But at first it must be beyond doubt that there is structure: at this rate a gene is found, or none is informative.
# Else a few genes that are so by chance would choose others like them, which then seem to agree.
STRICT_RATE = 0.05
# Nor does noise do harm among so few genes: the best ones up to this number stay, informative or not. Dropping those of
# 2000 variable genes that were not informative cost 0.03 in mean ARI. So many that vary most find directions, too.
# Where there are no more, rounds take several times as long, change no label, and find fewer informative genes where
# structure is weak.
MIN_KEPT = 2000
# So many cells, evenly spread, are enough to judge by.
MAX_CELLS = 1000
# Up to this many a dense eigensolver is faster.
MAX_CELLS_DENSE = 200
EIGENVALUE_TOLERANCE = 1e-3
# A gene whose variance is below this part of its mean square is constant up to rounding.
NEGLIGIBLE = 1e-10


@dataclass(frozen=True, eq=False)
class GeneScreen:
    """How every gene was judged."""

    informative: NDArray[np.bool_]
    """Genes that share structure with others; none, where there is no structure that parts of the genes agree on."""
    kept: NDArray[np.bool_]
    """Genes to cluster by: the informative ones and the best others up to a number; the most variable ones, where none
    is informative."""
    scores: NDArray[np.float64]
    """Part of each gene's variance that directions of other genes explain."""
    score_of_noise: float
    """The score that is expected of a gene without structure."""


def screen_genes(cells: Any, settings: Settings, numbers: NDArray[np.intp] | None = None) -> GeneScreen | None:
    """Judge the genes of a dense or CSR matrix, cells × genes; ``None`` where there are too few of either.

    ``numbers`` are the cells' numbers in the data, for errors.
    """
    n_cells, n_genes = cells.shape
    if n_genes < MIN_GENES or n_cells < MIN_CELLS:
        return None
    some = evenly_spread(n_cells, MAX_CELLS)
    genes = Genes(cells[some], settings.metric, some if numbers is None else numbers[some])
    rng = np.random.default_rng([settings.seed, n_genes])
    fold = rng.permutation(np.arange(n_genes) % N_FOLDS)
    ways = [_variable] if n_genes <= MIN_KEPT else [_variable, _reproducible]
    all_scores, all_p_values = np.empty((2, len(ways), n_genes))
    by_chance = np.empty((len(ways), N_FOLDS))
    for number in settings.progress(range(N_FOLDS)):
        others, judged = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        variance_in_cells = genes.variance_in_cells(others)
        for way, find in enumerate(ways):
            directions = genes.directions(find(genes, others, rng))
            scores, expected = genes.scores(judged, directions), genes.expected_score(directions, variance_in_cells)
            all_scores[way, judged], by_chance[way, number] = scores, expected
            all_p_values[way, judged] = genes.p_values(judged, scores, directions, expected)
    # That way counts whose directions other genes share most. Any could have been it, so chance had as many goes.
    best = np.argmin(np.log(np.maximum(all_p_values, SMALLEST_P_VALUE)).mean(axis=1))
    scores, p_values = all_scores[best], all_p_values[best]
    informative = np.zeros(n_genes, dtype=bool)
    varies = np.flatnonzero(genes.varies)  # of the others there is nothing to test
    if benjamini_hochberg(p_values[varies], STRICT_RATE / len(ways)).any():
        informative[varies] = benjamini_hochberg(p_values[varies], FALSE_DISCOVERY_RATE)
    kept = informative.copy()
    if informative.any():
        kept[np.lexsort((-scores, p_values))[:MIN_KEPT]] = True
    else:
        kept[_variable(genes, np.arange(n_genes), rng)] = True
    if not kept.all():
        kept[_genes_of_constant_cells(cells, kept, scores)] = True
    return GeneScreen(informative, kept, scores, float(by_chance[best].mean()))


def _variable(genes: Genes, candidates: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Those of some genes that vary most: weak structure is seen in many of them before halves agree on any.

    Genes that vary alike stay or go together, lest their order in the data decide.
    """
    variability = genes.variability(candidates)
    least = np.sort(variability)[-MIN_KEPT:].min()
    return candidates[variability >= least]


def _reproducible(genes: Genes, candidates: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Those of some genes that show the same structure in halves of them.

    Where most genes are noise, rounds may end at structure that is none: of several tries that one counts which keeps
    most genes.
    """
    tries = []
    for _ in range(N_TRIES):
        tries.append(_find(genes, candidates, rng))
        if len(tries[-1]) > ENOUGH * len(candidates):
            break
    return max(tries, key=len)


def _find(genes: Genes, candidates: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Those that show the same structure in halves of them, found in rounds of growing strictness.

    Genes that one round drops are judged again in the next.
    """
    kept = np.ones(len(candidates), dtype=bool)
    for probability in ROUNDS:
        margins = np.zeros(len(candidates))
        for _ in range(SPLITS_PER_ROUND):
            # The kept ones are halved by themselves, so that either half has as many to find directions with.
            halves, dropped = halve(np.flatnonzero(kept), rng), halve(np.flatnonzero(~kept), rng)
            for half, others in zip(halves, map(np.concatenate, zip(halves[::-1], dropped, strict=True)), strict=True):
                directions = genes.directions(candidates[half])
                by_chance = genes.score_by_chance(probability, directions.shape[1])
                margins[others] += genes.scores(candidates[others], directions) - by_chance
        kept = margins > 0
        kept[np.argsort(-margins, kind="stable")[:MIN_GENES_IN_ROUND]] = True
        if np.count_nonzero(kept) > ENOUGH * len(candidates):
            break
    return candidates[kept]


def benjamini_hochberg(p_values: NDArray[np.float64], rate: float) -> NDArray[np.bool_]:
    """Which genes to call informative so that this false discovery rate is expected to be kept (Benjamini–Hochberg)."""
    ranking = np.argsort(p_values, kind="stable")
    limits = rate * np.arange(1, len(p_values) + 1) / len(p_values)
    below = np.flatnonzero(p_values[ranking] <= limits)
    informative = np.zeros(len(p_values), dtype=bool)
    informative[ranking[: below.max(initial=-1) + 1]] = True
    return informative


def _genes_of_constant_cells(cells: Any, kept: NDArray[np.bool_], scores: NDArray[np.float64]) -> NDArray[np.intp]:
    """For each cell that has one value in all kept genes, 0 for example, the best other gene in which it has another.

    Without it the cell would be left without a direction.
    """
    part = cells[:, np.flatnonzero(kept)]
    highest, lowest = (np.asarray(_dense(extreme(axis=1))).ravel() for extreme in (part.max, part.min))
    constant = np.flatnonzero(highest == lowest)
    differs = _dense(cells[constant]) != highest[constant, None]
    return np.argmax(np.where(differs, scores, -1.0), axis=1)[differs.any(axis=1)]


def _dense(matrix: Any) -> Any:
    return matrix.toarray() if sparse.issparse(matrix) else matrix


class Genes:
    """The genes of cells, what the cells show in some of them, and how much of that others share.

    What cells show is what the metric sees; how much of it a gene shares is asked of its values as they are. Cells that
    have been centred and scaled carry their own centre and scale in every gene, which would then seem to agree.
    """

    def __init__(self, cells: Any, metric: str, numbers: NDArray[np.intp] | None = None) -> None:
        self.n_cells = cells.shape[0]
        self.n_directions = min(MAX_DIRECTIONS, self.n_cells // CELLS_PER_DIRECTION)
        precision = np.float64 if self.n_cells <= MAX_CELLS_DENSE else np.float32
        # Genes as rows, since sets of them are taken out again and again.
        rows = METRICS[metric].of(cells).standardize(cells, numbers)
        self._standard, self._unit = _transposed(rows.values, precision), rows.unit
        self._values = _transposed(cells)
        largest = np.asarray(_dense(abs(self._values).max(axis=1))).ravel()
        # Each gene in a unit of its own, lest powers overflow or vanish; that of a gene of zeros makes no difference.
        self._units = np.where(largest > 0, largest, largest.max() or 1.0)
        self._values = _in_units(self._values, self._units)
        self._means, variances, fourth = self._central_moments()
        if not sparse.issparse(self._values):  # what is left of lower precision is then all of the variance
            self._values = (self._values - self._means[:, None]).astype(precision)
        # Genes that are not the same in all cells; the others tell nothing.
        self.varies = variances > NEGLIGIBLE * (variances + self._means**2)
        self._variances = np.where(self.varies, variances, 1.0)
        # Of each gene, centred and of length 1, Σz⁴: 3 / n of a normal one, near 1 of one that is loud in one cell.
        self._fourth = np.clip(fourth / self._variances**2, 1.0, self.n_cells) / self.n_cells

    def _central_moments(self) -> NDArray[np.float64]:
        """Mean, variance and fourth moment about the mean of each gene, as rows."""
        moments = np.empty((3, self._values.shape[0]))
        for block in row_blocks(*self._values.shape):
            values = self._values[block]
            mean = np.asarray(values.sum(axis=1)).ravel() / self.n_cells
            # Of a sparse matrix zeros are not stored, and count as often as they are not.
            n_missing = self.n_cells - (np.diff(values.indptr) if sparse.issparse(values) else self.n_cells)
            squares = _squares(_less(values, mean))
            moments[:, block] = (
                mean,
                (np.asarray(squares.sum(axis=1)).ravel() + n_missing * mean**2) / self.n_cells,
                (np.asarray(_squares(squares).sum(axis=1)).ravel() + n_missing * mean**4) / self.n_cells,
            )
        return moments

    def variability(self, genes: NDArray[np.intp]) -> NDArray[np.float32]:
        """How much more than is usual at its mean each of some genes varies, in units of how variances scatter there.

        Dealing a gene's values to the cells anew changes nothing of it, so noise does not choose itself.
        """
        found = np.full(len(genes), -np.inf, dtype=np.float32)
        varies = self.varies[genes]  # else genes of zeros would vary as is usual, and come before half of the others
        if not varies.any():
            return found
        genes = genes[varies]
        units = (self._units / self._units.max())[genes]
        variances = self._variances[genes] * units**2
        # In single precision, lest genes that are alike be told apart by how rounding errors fell.
        means = (self._means[genes] * units).astype(np.float32)
        means[np.abs(means) <= SAME_UP_TO * np.sqrt(variances)] = 0.0
        bounds = np.quantile(means, np.arange(1, GROUPS_BY_MEAN) / GROUPS_BY_MEAN, method="lower")
        number = np.searchsorted(bounds, means, side="right")
        groups = [number == each for each in np.unique(number)]
        centres = [np.median(means[group]) for group in groups]
        # What is usual changes with the mean inside a group, too: else one end of each would be chosen.
        usual = np.interp(means, centres, [np.median(variances[group]) for group in groups])
        difference = variances - usual
        difference[np.abs(difference) <= SAME_UP_TO * usual] = 0.0
        sizes = [np.abs(difference[group]) for group in groups]
        scatter = np.interp(means, centres, [np.median(size) or np.mean(size) or 1.0 for size in sizes])
        largest = np.finfo(np.float32).max
        found[varies] = np.clip(difference / scatter, -largest, largest)
        return found

    def directions(self, genes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Leading directions of the cells in some genes, as many as there are: orthonormal columns that add up to 0."""
        means, scales = self._standardization(genes)
        inner_products = np.zeros((self.n_cells, self.n_cells), dtype=self._standard.dtype)
        for some in row_blocks(len(genes), self.n_cells, ENTRIES_TO_READ):
            part = _dense(self._standard[genes[some]])
            part -= means
            part *= scales
            part -= part.mean(axis=1, keepdims=True)
            inner_products += part.T @ part
        values, vectors = leading_eigenpairs(
            inner_products, self.n_directions, tolerance=EIGENVALUE_TOLERANCE, max_dense=MAX_CELLS_DENSE
        )
        # Few genes have few directions; any others are rounding errors.
        there = values > ROUNDING * np.finfo(values.dtype).eps * values.max()
        there[0] = True
        return _centred(vectors[:, there])

    def _standardization(self, genes: NDArray[np.intp]) -> tuple[NDArray[Any], NDArray[Any]]:
        """What to take off each cell and multiply it with, in these genes as the metric did in all.

        A cell that has the same value in all of them has no say.
        """
        dtype = self._standard.dtype
        if not self._unit:
            return np.zeros(self.n_cells, dtype), np.ones(self.n_cells, dtype)
        # In double precision, lest a cell that does not vary seem to.
        part = self._standard[genes].astype(np.float64, copy=False)
        means = np.asarray(part.sum(axis=0)).ravel() / len(genes)
        squares = np.asarray(_squares(part).sum(axis=0)).ravel()
        lengths = np.sqrt(np.maximum(squares - len(genes) * means**2, 0.0))
        varies = lengths > np.sqrt(NEGLIGIBLE * squares)
        scales = np.divide(1.0, lengths, out=np.zeros(self.n_cells), where=varies)
        return means.astype(dtype), scales.astype(dtype)

    def scores(self, genes: NDArray[np.intp], directions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The part of each gene's variance over cells that lies in these directions."""
        products = self._values[genes] @ directions
        explained = np.einsum("ij,ij->i", products, products) / (self.n_cells * self._variances[genes])
        return np.where(self.varies[genes], np.clip(explained, 0.0, 1.0), 0.0)

    def variance_in_cells(self, genes: NDArray[np.intp]) -> NDArray[np.float64]:
        """Of a gene's variance the part that is in each cell, on average over some genes: 1 / n, if cells are alike."""
        varying = genes[self.varies[genes]]
        parts = np.zeros(self.n_cells)
        for some in row_blocks(len(varying), self.n_cells, ENTRIES_TO_READ):
            values, weights = self._values[varying[some]], 1 / self._variances[varying[some]]
            if sparse.issparse(values):
                means = self._means[varying[some]]
                parts += values.power(2).T @ weights - 2 * (values.T @ (means * weights)) + means**2 @ weights
            else:  # centred already
                parts += (values**2).T @ weights
        return parts / (self.n_cells * max(len(varying), 1))

    def expected_score(self, directions: NDArray[np.float64], variance_in_cells: NDArray[np.float64]) -> float:
        """The score of a gene that knows nothing of the directions: m / (n − 1), if cells are alike.

        It is more where directions dwell on cells in which genes vary more, such as shallow ones.
        """
        parts = np.einsum("ij,ij->i", directions, directions) * self.n_cells / (self.n_cells - 1)
        return float(variance_in_cells @ parts)

    def score_by_chance(self, probability: float, n_directions: int) -> float:
        """The score that a normal gene without structure exceeds with this probability."""
        n_others = self.n_cells - 1 - n_directions
        return float(special.betainccinv(n_directions / 2, n_others / 2, probability))

    def p_values(
        self, genes: NDArray[np.intp], scores: NDArray[np.float64], directions: NDArray[np.float64], expected: float
    ) -> NDArray[np.float64]:
        """Probability of such a score, or a higher one, if a gene's values were dealt to the cells at random.

        Cells that are not alike raise it on average to what is expected, and are taken to raise all of it so.
        The score's mean and variance over all permutations of the cells are known; a Beta distribution has the same.
        For a normal gene it is Beta(m / 2, (n − 1 − m) / 2). One that is loud in few cells scores high by chance where
        directions dwell on few cells, too, and gets no credit for that.
        """
        n, m = directions.shape
        # Σ_i (Σ_k u_ik²)²: m² / n where directions are spread evenly over the cells, more where they dwell on few.
        concentration = float(np.sum(np.einsum("ij,ij->i", directions, directions) ** 2))
        # Expected products of four values of a gene in cells all the same, three, two and two, two, or none the same.
        all_same = self._fourth[genes] / n
        three = -self._fourth[genes] / (n * (n - 1))
        two_and_two = (1 - self._fourth[genes]) / (n * (n - 1))
        two = (2 * self._fourth[genes] - 1) / (n * (n - 1) * (n - 2))
        none = -3 * two / (n - 3)
        of_concentration = all_same - 3 * two_and_two - 4 * three + 12 * two - 6 * none
        of_pairs = two_and_two - 2 * two + none
        mean = m / (n - 1)
        variance = of_concentration * concentration + of_pairs * (m**2 + 2 * m) - mean**2
        # At most, with a margin, that of a score that is either 0 or 1.
        variance = np.clip(variance, 1e-12, 0.999 * mean * (1 - mean))
        total = mean * (1 - mean) / variance - 1
        scores = scores * min(mean / expected, 1.0) if expected > 0 else scores
        p_values = special.betaincc(mean * total, (1 - mean) * total, scores)
        return np.where(self.varies[genes], p_values, 1.0)


def _transposed(values: Any, dtype: DTypeLike = np.float64) -> Any:
    """Genes × cells, dense or CSR."""
    if sparse.issparse(values):
        return values.astype(dtype).T.tocsr()
    return np.ascontiguousarray(values.T, dtype=dtype)


def _less(values: Any, offsets: NDArray[np.float64]) -> Any:
    """The stored values of each row less an offset."""
    if not sparse.issparse(values):
        return values - offsets[:, None]
    data = values.data - np.repeat(offsets, np.diff(values.indptr))
    return sparse.csr_matrix((data, values.indices, values.indptr), shape=values.shape)


def _in_units(values: Any, units: NDArray[np.float64]) -> Any:
    """Each row in a unit of its own."""
    if not sparse.issparse(values):
        return values / units[:, None]
    data = values.data / np.repeat(units, np.diff(values.indptr))
    return sparse.csr_matrix((data, values.indices, values.indptr), shape=values.shape)


def _squares(values: Any) -> Any:
    return values.power(2) if sparse.issparse(values) else values**2


def _centred(columns: NDArray[Any]) -> NDArray[Any]:
    return columns - columns.mean(axis=0)
