"""The paper's model: its tensors tuple by tuple, its gradients, its two solvers, and why the printed one fails."""

from __future__ import annotations

import numpy as np
import pymanopt
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from test_affinities import METRICS, cells, distance, settings, tetradic

from scutc import UTC
from scutc.core.affinities import AFFINITIES
from scutc.core.affinities.tetradic import RELATIVE_EPSILON
from scutc.core.geometry import Geometry
from scutc.core.parallel import no_progress
from scutc.core.solvers.admm import SplitProblem, alternate
from scutc.core.solvers.ascent import ascend
from scutc.core.solvers.column_form import ColumnForm, polar, riemannian_gradient, starting_columns

KINDS = list(AFFINITIES)


def nearest(points: np.ndarray, i: int, n_neighbors: int) -> list[int]:
    others = [j for j in range(len(points)) if j != i]
    return sorted(others, key=lambda j: distance(points, i, j))[:n_neighbors]


def literal_third(points: np.ndarray, n_neighbors: int, cosine: str) -> np.ndarray:
    """L₃ as a dense tensor, with i and k among the neighbours of the anchor j."""
    n = len(points)
    tensor = np.zeros((n, n, n))
    for j in range(n):
        for i in nearest(points, j, n_neighbors):
            for k in nearest(points, j, n_neighbors):
                to_i, to_k = points[i] - points[j], points[k] - points[j]
                value = to_i @ to_k / (np.linalg.norm(to_i) * np.linalg.norm(to_k))
                tensor[i, j, k] = abs(value) if cosine == "absolute" else value
    totals = tensor.sum(axis=(0, 2))
    return tensor / (np.einsum("i,k->ik", totals, totals)[:, None, :] ** 0.25 * totals[None, :, None] ** 0.5)


def literal_fourth(points: np.ndarray, n_neighbors: int, sigma: float) -> np.ndarray:
    """L₄ as a dense tensor, of four cells in the neighbourhood of one."""
    n = len(points)
    epsilon = RELATIVE_EPSILON * np.mean([distance(points, i, j) for i in range(n) for j in range(n)])
    tensor = np.zeros((n, n, n, n))
    for cell in range(n):
        members = [cell, *nearest(points, cell, n_neighbors)]
        for i in members:
            for j in members:
                for k in members:
                    for m in members:
                        tensor[i, j, k, m] = tetradic(points, sigma, epsilon, i, j, k, m)
    degrees = tensor.sum(axis=(2, 3))
    products = np.sqrt(np.einsum("ij,kl->ijkl", degrees, degrees))
    return np.divide(tensor, products, out=tensor, where=products > 0)


def refold(tensor, n: int) -> np.ndarray:
    """A sparse unfolding as a dense one, with a row for each of all pairs."""
    entries = sparse.coo_array(tensor.unfolding)
    codes = tensor.pairs.first * n + tensor.pairs.second
    columns = entries.coords[1] if entries.shape[1] == n else codes[entries.coords[1]]
    dense = np.zeros((n * n, n if entries.shape[1] == n else n * n))
    dense[codes[entries.coords[0]], columns] = entries.data
    return dense


@pytest.mark.parametrize("cosine", ["absolute", "signed"])
@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n", "n_neighbors"), [(9, 8), (12, 4), (3, 2)])
def test_third_order_is_the_dense_definition_on_near_neighbours(n, n_neighbors, metric, cosine):
    X, points = cells(n, metric)
    geometry = Geometry.of(X, metric)
    affinity = AFFINITIES["indecomposable"][3](geometry, settings(n_neighbors=n_neighbors, cosine=cosine))
    expected = literal_third(points, n_neighbors, cosine).transpose(0, 2, 1).reshape(n * n, n)
    np.testing.assert_allclose(refold(affinity.tensor(), n), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize(("n", "n_neighbors"), [(6, 5), (9, 3), (3, 2)])
def test_fourth_order_is_the_dense_definition_on_near_neighbours(n, n_neighbors, metric):
    X, points = cells(n, metric)
    geometry = Geometry.of(X, metric)
    affinity = AFFINITIES["indecomposable"][4](geometry, settings(n_neighbors=n_neighbors))
    expected = literal_fourth(points, n_neighbors, 3.0).reshape(n * n, n * n)
    np.testing.assert_allclose(refold(affinity.tensor(), n), expected, rtol=1e-10, atol=1e-12)


def make_form(n=12, seed=0, **parameters):
    """The objective, and a function that gives so many starting columns."""
    X = np.random.default_rng(seed).gamma(2.0, size=(n, 25))
    geometry, chosen = Geometry.of(X, "correlation"), settings(**parameters)
    form = ColumnForm.of(geometry, chosen)
    return form, lambda n_columns: starting_columns(geometry, chosen.n_neighbors, form, n_columns)


def random_columns(n: int, c: int, seed: int = 0) -> np.ndarray:
    return polar(np.random.default_rng(seed).standard_normal((n, c)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("orders", [(2,), (3,), (4,), (2, 3, 4)])
def test_gradient_equals_finite_differences(orders, kind):
    form, _ = make_form(orders=orders, affinity=kind, weights={3: 0.5, 4: 2.0})
    columns = random_columns(12, 3)
    _, gradient = form.evaluate(columns)
    step = 1e-6
    numeric = np.zeros_like(columns)
    for place in np.ndindex(columns.shape):
        shift = np.zeros_like(columns)
        shift[place] = step
        numeric[place] = (form.evaluate(columns + shift)[0] - form.evaluate(columns - shift)[0]) / (2 * step)
    assert np.linalg.norm(gradient - numeric) <= 1e-6 * np.linalg.norm(gradient)


@pytest.mark.parametrize("cosine", ["absolute", "signed"])
def test_values_equal_sums_over_all_tuples(cosine):
    n, sigma = 7, 3.0
    X, points = cells(n, "correlation")
    geometry = Geometry.of(X, "correlation")
    chosen = settings(n_neighbors=n - 1, sharpness=sigma, cosine=cosine)
    columns = random_columns(n, 2)
    third, fourth = literal_third(points, n - 1, cosine), literal_fourth(points, n - 1, sigma)
    for order, expected in (
        (3, [np.einsum("ijk,i,j,k", third, v, v, v) for v in columns.T]),
        (4, [np.einsum("ijkl,i,j,k,l", fourth, v, v, v, v) for v in columns.T]),
    ):
        values, gradients = AFFINITIES["indecomposable"][order](geometry, chosen).tensor().evaluate(columns)
        np.testing.assert_allclose(values, expected, rtol=1e-10)
        dense = third if order == 3 else fourth
        for v, gradient in zip(columns.T, gradients.T, strict=True):
            expected_gradient = np.zeros(n)
            for mode in range(order):
                contracted = np.moveaxis(dense, mode, 0)
                for _ in range(order - 1):
                    contracted = contracted @ v
                expected_gradient += contracted
            np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("order", [3, 4])
def test_decomposable_orders_agree_with_their_unfoldings(order):
    form, _ = make_form(orders=(order,), affinity="decomposable")
    tensor = form.tensors[order]
    columns = random_columns(12, 3)
    lifted = tensor.pairs.lift(columns)
    images = tensor.unfolding @ (columns if order == 3 else lifted)
    np.testing.assert_allclose(tensor.evaluate(columns)[0], np.sum(lifted * images, axis=0), rtol=1e-10)


def test_weights_scale_the_orders():
    plain, _ = make_form()
    weighted, _ = make_form(weights={3: 0.5, 4: 2.0})
    columns = random_columns(12, 3)
    terms = {order: values.sum() for order, values in plain.terms(columns).items()}
    assert weighted.evaluate(columns)[0] == pytest.approx(terms[2] + 0.5 * terms[3] + 2 * terms[4], rel=1e-12)


@hypothesis_settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(5, 14),
    c=st.integers(2, 4),
    orders=st.sampled_from([(2,), (3,), (4,), (2, 3), (3, 4), (2, 3, 4)]),
    kind=st.sampled_from(KINDS),
    cosine=st.sampled_from(["absolute", "signed"]),
)
def test_ascent_never_decreases_the_objective(seed, n, c, orders, kind, cosine):
    form, _ = make_form(n, seed, orders=orders, affinity=kind, cosine=cosine)
    columns, iterations = ascend(form, random_columns(n, c, seed), max_iter=60, tol=1e-6, progress=no_progress)
    assert np.all(np.diff(iterations.objective) >= 0)
    assert iterations.objective[-1] == form.evaluate(columns)[0]
    np.testing.assert_allclose(columns.T @ columns, np.eye(c), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_ascent_ends_where_the_riemannian_gradient_is_small(kind):
    form, start_with = make_form(30, affinity=kind)
    start = start_with(3)
    columns, iterations = ascend(form, start, max_iter=5000, tol=1e-6, progress=no_progress)
    assert iterations.converged
    assert iterations.objective[-1] > iterations.objective[0]
    _, gradient = form.evaluate(columns)
    assert np.linalg.norm(riemannian_gradient(columns, gradient)) <= 1e-6 * np.linalg.norm(gradient)
    assert iterations.relative_gradient <= 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_ascent_reaches_at_least_what_pymanopt_reaches_from_the_same_start(seed):
    form, start_with = make_form(30, seed=seed)
    start = start_with(3)
    manifold = pymanopt.manifolds.Stiefel(30, 3)
    problem = pymanopt.Problem(
        manifold,
        pymanopt.function.numpy(manifold)(lambda V: -form.evaluate(V)[0]),
        euclidean_gradient=pymanopt.function.numpy(manifold)(lambda V: -form.evaluate(V)[1]),
    )
    optimizer = pymanopt.optimizers.ConjugateGradient(verbosity=0, max_iterations=2000)
    peer = -optimizer.run(problem, initial_point=start).cost
    _, iterations = ascend(form, start, max_iter=5000, tol=1e-6, progress=no_progress)
    assert iterations.objective[-1] >= peer - 1e-6 * abs(peer)


def run_admm(form, start, **changes):
    options = {"mu": 3.0, "rho": 1.1, "mu_max": 10.0, "tol": 1e-3, "inner_tol": 1e-2, "max_iter": 200}
    return alternate(form, start, **(options | changes), progress=no_progress)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("orders", [(2,), (2, 3), (2, 4), (3,), (2, 3, 4)])
def test_admm_returns_the_best_orthonormal_columns_seen_and_not_more_than_ascent_finds(orders, kind):
    form, start_with = make_form(25, orders=orders, affinity=kind)
    start = start_with(3)
    columns, iterations = run_admm(form, start)
    np.testing.assert_allclose(columns.T @ columns, np.eye(3), atol=1e-10)
    value, gradient = form.evaluate(columns)
    assert value == iterations.objective.max() >= iterations.objective[0]
    symmetric = (columns.T @ gradient + gradient.T @ columns) / 2
    left = np.linalg.norm(gradient - columns @ symmetric) / np.linalg.norm(gradient)
    assert iterations.relative_gradient == pytest.approx(left)
    _, ascent = ascend(form, start, max_iter=5000, tol=1e-6, progress=no_progress)
    assert ascent.objective[-1] >= iterations.objective.max() - 1e-9


@pytest.mark.parametrize("weights", [None, {2: 0.5, 3: 3.0, 4: 2.0}])
@pytest.mark.parametrize("kind", KINDS)
def test_admm_steps_solve_their_subproblems(kind, weights):
    form, start_with = make_form(15, affinity=kind, weights=weights)
    start = start_with(3)
    problem, mu = SplitProblem(form, 15), 4.5
    rng = np.random.default_rng(0)
    lifted = problem.lift(start) + 0.01 * rng.standard_normal(problem.lift(start).shape)
    multiplier = 0.1 * rng.standard_normal(lifted.shape)

    columns = problem.update_columns(start, lifted, multiplier, mu, 1e-2)
    before = problem.lagrangian(start, lifted, multiplier, mu)[0]
    after = problem.lagrangian(columns, lifted, multiplier, mu)[0]
    assert after < before

    best = problem.update_lifted(columns, lifted, multiplier, mu)
    lowest = problem.lagrangian(columns, best, multiplier, mu)[0]
    assert lowest < after
    for seed in range(5):
        other = best + 1e-3 * np.random.default_rng(seed).standard_normal(best.shape)
        assert problem.lagrangian(columns, other, multiplier, mu)[0] > lowest


def test_lagrangian_gradient_equals_finite_differences():
    form, _ = make_form(10)
    columns = random_columns(10, 2)
    problem = SplitProblem(form, 10)
    rng = np.random.default_rng(1)
    lifted, multiplier = rng.standard_normal((2, *problem.lift(columns).shape))
    _, gradient = problem.lagrangian(columns, lifted, multiplier, 3.0)
    direction = rng.standard_normal(columns.shape)
    ahead, behind = (problem.lagrangian(columns + s * direction, lifted, multiplier, 3.0)[0] for s in (1e-6, -1e-6))
    assert (ahead - behind) / 2e-6 == pytest.approx(np.sum(gradient * direction), rel=1e-6)


# What is wrong with the algorithm as it is printed.


def printed_gradient(problem, columns, lifted, first_multiplier, second_multiplier, mu):
    """The paper's, with the multiplier and the penalty of V₁ᵀV₁ = I that scutc does without."""
    _, gradient = problem.lagrangian(columns, lifted, first_multiplier, mu)
    gap = columns.T @ columns - np.eye(columns.shape[1])
    return gradient + 2 * mu * columns @ (gap + second_multiplier / mu)


def test_printed_start_at_zero_never_moves():
    form, _ = make_form()
    problem, mu = SplitProblem(form, 12), 1e-3
    columns = np.zeros((12, 3))
    lifted = first_multiplier = problem.lift(columns)
    second_multiplier = np.zeros((3, 3))
    unfolding = form.tensors[4].unfolding.toarray()
    for _ in range(3):
        gradient = printed_gradient(problem, columns, lifted, first_multiplier, second_multiplier, mu)
        columns = columns + 1e-3 * gradient
        right = mu * problem.lift(columns) + form.tensors[3].unfolding @ columns + first_multiplier
        lifted = np.linalg.solve(mu * np.eye(len(unfolding)) - 2 * unfolding, right)
        first_multiplier = first_multiplier + mu * (problem.lift(columns) - lifted)
        second_multiplier = second_multiplier + mu * (columns.T @ columns - np.eye(3))
        np.testing.assert_array_equal(columns, 0.0)
        np.testing.assert_array_equal(lifted, 0.0)


def test_printed_mu_leaves_the_problem_of_the_lifted_columns_without_a_minimum():
    form, _ = make_form()
    unfolding = form.tensors[4].unfolding.toarray()
    values, vectors = np.linalg.eigh(unfolding)
    assert values[-1] == pytest.approx(1.0, abs=1e-10)
    problem, columns = SplitProblem(form, 12), random_columns(12, 3)
    lifted = problem.lift(columns)
    direction = vectors[:, -1:] * np.ones(3)

    def lagrangian(mu, length):
        return problem.lagrangian(columns, lifted + length * direction, np.zeros_like(lifted), mu)[0]

    assert lagrangian(1.9, 1e4) < lagrangian(1.9, 1e3) < lagrangian(1.9, 1e2) < -100
    assert lagrangian(2.1, 1e4) > lagrangian(2.1, 1e3) > lagrangian(2.1, 1e2)
    with pytest.raises(ValueError, match=r"mu=1\.9 is not above 2, twice"):
        UTC(2, solver="admm", solver_params={"mu": 1.9}).fit(make_blobs(20, 5, random_state=0)[0])


def test_printed_sign_ascends_the_lagrangian_that_is_to_be_minimised():
    form, start_with = make_form()
    columns = start_with(3)
    problem = SplitProblem(form, 12)
    lifted, multiplier, rate = problem.lift(columns), np.zeros_like(problem.lift(columns)), 1e-3
    none = np.zeros((3, 3))

    def run(sign, steps=200):
        moved = columns
        for _ in range(steps):
            moved = moved + sign * rate * printed_gradient(problem, moved, lifted, multiplier, none, 3.0)
        gap = moved.T @ moved - np.eye(3)
        return problem.lagrangian(moved, lifted, multiplier, 3.0)[0] + 1.5 * np.sum(gap**2)

    assert run(-1) < run(0) < run(+1)
    # What the algorithm is to maximise falls with it.
    mended = problem.update_columns(columns, lifted, multiplier, 3.0, 1e-2)
    assert form.evaluate(mended)[0] > form.evaluate(columns)[0]


# The two solvers from outside.


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # admm stops before a stationary point
@pytest.mark.parametrize("solver", ["ascent", "admm"])
def test_solvers_of_the_column_form_find_separate_groups(solver, kind):
    X, truth = make_blobs(45, 200, centers=3, random_state=0)
    model = UTC(3, solver=solver, affinity=kind).fit(X)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    np.testing.assert_allclose(model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-10)
    # The paper's algorithm stops moving before a stationary point.
    assert model.converged_ == (solver == "ascent")
    assert model.relative_gradient_ <= 1e-4 if solver == "ascent" else model.relative_gradient_ > 1e-2
    assert np.all(np.diff(model.spectrum_) <= 0)
    assert model.n_iter_ == len(model.objective_history_) - 1 > 0
    assert model.spectrum_.sum() == pytest.approx(model.objective_history_.max())
    assert sum(values.sum() for values in model.order_spectra_.values()) == pytest.approx(model.spectrum_.sum())


@pytest.mark.parametrize("solver", ["ascent", "admm"])
def test_a_solver_that_is_stopped_early_warns(solver):
    X, _ = make_blobs(45, 20, centers=3, random_state=0)
    with pytest.warns(match=f"solver='{solver}' did not converge in 1 iterations"):
        model = UTC(3, solver=solver, solver_params={"max_iter": 1, "tol": 1e-9}).fit(X)
    assert not model.converged_


def test_further_starts_find_a_higher_objective():
    X = np.random.default_rng(2).random((30, 20))
    one, many = (UTC(4, n_neighbors=5, solver="ascent", solver_params={"n_starts": n}).fit(X) for n in (1, 4))
    assert many.objective_history_[-1] > one.objective_history_[-1] + 1e-3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # not what this is about
@pytest.mark.parametrize("solver", ["ascent", "admm"])
@pytest.mark.parametrize(("n_clusters", "n_found"), [(1, 1), (2, 2), (9, 9), (None, 3)])
def test_any_number_of_clusters_can_be_asked_of_the_column_form(solver, n_clusters, n_found):
    X, _ = make_blobs(9, 20, centers=3, random_state=0)
    model = UTC(n_clusters, solver=solver).fit(X)
    assert len(np.unique(model.labels_)) == model.n_clusters_ == n_found
    assert model.embedding_.shape == (9, max(2, n_found))


# Whether admm moves far enough among identical cells depends on rounding.
@pytest.mark.filterwarnings("ignore:solver='admm' did not converge")
@pytest.mark.parametrize("solver", ["ascent", "admm"])
def test_identical_cells_do_not_stop_the_column_form(solver):
    X = np.repeat(make_blobs(4, 20, centers=2, random_state=0)[0], 5, axis=0)
    labels = UTC(2, solver=solver).fit(X).labels_
    assert len(np.unique(labels)) == 2


def test_weights_change_the_fused_embedding():
    X = np.random.default_rng(0).random((30, 20))
    plain, double, heavy = (UTC(3, weights=w).fit(X).embedding_ for w in (None, {2: 2.0, 3: 2.0, 4: 2.0}, {3: 9.0}))
    np.testing.assert_allclose(plain, double, atol=1e-10)
    assert not np.allclose(plain, heavy, atol=1e-3)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"affinity": "sparse"}, "affinity='sparse' is unknown. Valid: 'indecomposable', 'decomposable'"),
        ({"cosine": "squared"}, "cosine='squared' is unknown. Valid: 'absolute', 'signed'"),
        ({"weights": {5: 1.0}}, "weights names order 5. Valid: 2, 3, 4"),
        ({"weights": {3: 0.0}}, r"weights\[3\]=0.0 is not a positive number"),
        ({"solver_params": {"mu": 3.0}}, "'mu' is no parameter of solver='spectral'. It has none"),
        (
            {"solver": "ascent", "solver_params": {"mu": 3.0}},
            "'mu' is no parameter of solver='ascent'. Valid: 'max_iter'",
        ),
        ({"solver": "admm", "solver_params": {"rho": -1}}, r"solver_params\['rho'\]=-1 is not a positive number"),
        ({"solver": "admm", "solver_params": {"max_iter": 2.5}}, "=2.5 is not a positive integer"),
        ({"solver": "admm", "solver_params": {"mu": 2.0}}, "mu=2.0 is not above 2"),
        ({"solver": "admm", "solver_params": {"mu": 3.0}, "weights": {4: 2.0}}, "mu=3.0 is not above 4"),
        ({"solver": "admm", "solver_params": {"rho": 0.9}}, "rho=0.9 is below 1"),
        ({"progress": 1}, "progress=1 is not a function"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        UTC(2, **parameters).fit(np.random.default_rng(0).random((10, 5)))


@pytest.mark.parametrize("name", ["weights", "solver_params"])
def test_lists_in_the_place_of_dictionaries_are_named(name):
    with pytest.raises(TypeError, match=rf"{name}=\[1, 2\] is not a dictionary"):
        UTC(2, **{name: [1, 2]}).fit(np.random.default_rng(0).random((10, 5)))


@pytest.mark.parametrize("n_columns", range(1, 21))
def test_start_is_the_leading_eigenvectors_of_order_two(n_columns):
    form, start_with = make_form(20, orders=(2,))
    start = start_with(n_columns)
    values = np.linalg.eigvalsh(form.tensors[2].unfolding.toarray())[::-1]
    assert form.evaluate(start)[0] == pytest.approx(values[:n_columns].sum(), rel=1e-9)


@pytest.mark.parametrize("cosine", ["absolute", "signed"])
def test_start_has_the_signs_that_order_three_likes(cosine):
    form, start_with = make_form(20, cosine=cosine)
    assert np.all(form.tensors[3].evaluate(start_with(6))[0] >= 0)


@pytest.mark.parametrize("solver", ["ascent", "admm"])
@pytest.mark.parametrize("orders", [(2, 4), (2, 3, 4)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # not what this is about
def test_permuting_cells_permutes_the_columns(solver, orders):
    X, _ = make_blobs(30, 50, centers=3, random_state=1)
    order = np.random.default_rng(0).permutation(30)
    plain, permuted = (UTC(3, solver=solver, orders=orders).fit(data).embedding_ for data in (X, X[order]))
    np.testing.assert_allclose(permuted, plain[order], atol=1e-6)


def test_signed_cosines_that_cancel_do_not_drown_the_rest():
    X = np.vstack([np.linspace(0, 0.01, 60)[:, None], np.ones((1, 1))])
    geometry = Geometry.of(X, "euclidean")
    tensor = AFFINITIES["indecomposable"][3](geometry, settings(n_neighbors=4, cosine="signed")).tensor()
    assert np.abs(tensor.unfolding.data).max() < 10


@pytest.mark.parametrize("scale", [1e-6, 1e3])
def test_the_unit_of_the_objective_does_not_change_what_ascent_finds(scale):
    X = np.random.default_rng(0).random((25, 20))
    plain, scaled = (
        UTC(3, solver="ascent", weights=dict.fromkeys((2, 3, 4), weight)).fit(X) for weight in (1.0, scale)
    )
    np.testing.assert_allclose(plain.embedding_, scaled.embedding_, atol=1e-4)


def test_converged_means_stationary():
    X = np.random.default_rng(0).random((30, 20))
    with pytest.warns(match=r"solver='admm' did not converge in \d+ iterations \(relative gradient"):
        model = UTC(3, solver="admm", orders=(3,), solver_params={"mu_max": 100.0}).fit(X)
    assert not model.converged_
    assert model.relative_gradient_ > 1e-2


def test_a_solver_that_needs_just_max_iter_iterations_has_converged():
    X = np.random.default_rng(0).random((30, 20))
    needed = UTC(3, solver="ascent").fit(X).n_iter_
    assert UTC(3, solver="ascent", solver_params={"max_iter": needed}).fit(X).converged_


def test_penalty_stays_below_its_largest_value(monkeypatch):
    form, start_with = make_form(15)
    seen = []
    update = SplitProblem.update_lifted
    monkeypatch.setattr(SplitProblem, "update_lifted", lambda self, *a: seen.append(a[-1]) or update(self, *a))
    run_admm(form, start_with(3), mu_max=5.0, rho=1.5, tol=1e-12, max_iter=12)
    assert seen[0] == 3.0
    assert max(seen) == 5.0


@pytest.mark.parametrize("kind", KINDS)
def test_two_clusters_from_more_columns_do_not_hang_on_rounding(kind):
    X, _ = make_blobs(40, 30, centers=4, random_state=0)
    tree = UTC(6, solver="ascent", affinity=kind, solver_params={"tol": 1e-3}).fit(X)._model.tree
    assert [view.points(2).shape for view in tree.views.values()] == [(40, 6)]


def test_entries_grow_with_the_fourth_power_of_the_neighbours_at_most():
    form, _ = make_form(200, n_neighbors=5)
    assert form.tensors[3].unfolding.nnz <= 200 * 5**2
    assert form.tensors[4].unfolding.nnz <= 200 * 6**4
    assert form.tensors[4].unfolding.indices.dtype == np.int32


def test_decomposable_contractions_are_their_definitions():
    X, points = cells(9, "correlation")
    geometry = Geometry.of(X, "correlation")
    affinities = {order: AFFINITIES["decomposable"][order](geometry, settings(n_neighbors=3)) for order in (2, 3, 4)}
    similarity = affinities[2].contract().toarray()
    degrees = similarity.sum(axis=1)
    third, fourth = np.zeros((9, 9)), np.zeros((9, 9))
    near = {(i, j) for i in range(9) for j in nearest(points, i, 3)}
    near |= {(j, i) for i, j in near}
    for i in range(9):
        for k in range(9):
            third[i, k] = sum(similarity[i, j] * similarity[k, j] / degrees[j] ** 2 for j in range(9))
            fourth[i, k] = sum(similarity[i, p] * similarity[k, q] / (degrees[p] * degrees[q]) for p, q in near)
    np.testing.assert_allclose(affinities[3].contract().toarray(), third, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(affinities[4].contract().toarray(), fourth, rtol=1e-10, atol=1e-14)


def test_signed_contraction_counts_opposite_directions_as_nothing():
    n = 8
    X, points = cells(n, "correlation")
    geometry = Geometry.of(X, "correlation")
    expected = np.zeros((n, n))
    for j in range(n):
        slice_ = np.zeros((n, n))
        for i in range(n):
            for k in range(n):
                if j not in (i, k):
                    to_i, to_k = points[i] - points[j], points[k] - points[j]
                    slice_[i, k] = max(to_i @ to_k / (np.linalg.norm(to_i) * np.linalg.norm(to_k)), 0.0)
        expected += slice_ / slice_.sum()
    found = AFFINITIES["indecomposable"][3](geometry, settings(cosine="signed")).contract()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
