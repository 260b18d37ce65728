"""The method from end to end: what a model is, and that nothing is computed twice or changed behind one's back."""

from __future__ import annotations

import dataclasses
import pickle
import warnings

import numpy as np
import pytest

import scutc
from conftest import make_groups
from scutc import UTC
from scutc.core import geometry, pipeline
from scutc.core.affinities import AFFINITIES, Affinity, pairwise, pairwise_affinity
from scutc.core.affinities.neighborhoods import Neighborhoods
from scutc.core.geometry import Geometry
from scutc.core.solvers import SOLVERS
from scutc.core.warn import warn


def fitted(**parameters) -> pipeline.Model:
    X = make_groups().X
    return pipeline.fit(X, UTC(3, **parameters)._settings(X.shape[1]))


@pytest.mark.parametrize("n_landmarks", [None, 25])
def test_predicting_and_cutting_do_not_change_a_model(n_landmarks):
    X = make_groups().X
    model = UTC(3, n_landmarks=n_landmarks).fit(X)
    before = pickle.dumps(model)
    model.predict(X)
    model.transform(X[:3])
    model.cut(5)
    assert pickle.dumps(model) == before


def test_a_model_keeps_nothing_of_whom_it_told(adata):
    lines = []
    model = UTC(3, verbose=lambda line: lines.append(line), progress=lambda steps: steps).fit(adata.X)
    assert "3 clusters" in lines
    pickle.dumps(model.set_params(verbose=None, progress=None))
    lines.clear()
    model.cut(2)
    assert lines == []


def test_the_rule_for_new_cells_is_made_once(adata, monkeypatch):
    model = UTC(3).fit(adata.X)
    calls = []
    make_rule = pipeline.make_rule
    monkeypatch.setattr(pipeline, "make_rule", lambda *a: calls.append(1) or make_rule(*a))
    for _ in range(3):
        model.predict(adata.X)
    assert calls == [1]


def test_a_narrower_estimator_of_ones_own(adata):
    class Three(UTC):
        def __init__(self, random_state=0):
            super().__init__(3, random_state=random_state)

    np.testing.assert_array_equal(Three().fit_predict(adata.X), UTC(3).fit_predict(adata.X))


def test_clusters_of_another_cut_are_extended(adata):
    model = fitted()
    clustering = model.cut(5)
    _, labels = model.extend(clustering, adata.X)
    np.testing.assert_array_equal(labels, clustering.labels)


def test_a_model_and_its_parts_are_frozen():
    model = fitted()
    for part in (model, model.settings, model.embedded, model.solution, model.cut(2)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, dataclasses.fields(part)[0].name, None)


@pytest.mark.parametrize(("solver", "nested"), [("spectral", True), ("ascent", False), ("admm", False)])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_solution_says_whether_its_columns_are_nested(solver, nested):
    solution = fitted(solver=solver).solution
    assert solution.nested == nested
    assert (solution.iterations.n_iter == 0) == nested
    views = fitted(solver=solver).tree.views
    assert next(iter(views)) == solution.orders
    assert len(views) == (4 if nested else 1)
    for view in views.values():
        assert (view.points(2).shape[1] < view.embedding.shape[1]) == nested


@pytest.mark.parametrize("affinity", AFFINITIES)
@pytest.mark.parametrize("solver", ["spectral", "ascent"])
def test_the_pairwise_affinity_and_the_neighborhoods_are_computed_once(solver, affinity, monkeypatch):
    calls = []
    rows, init, nearest = pairwise._entropic_rows, Neighborhoods.__init__, geometry._nearest_neighbors
    monkeypatch.setattr(pairwise, "_entropic_rows", lambda *a: calls.append("pairwise") or rows(*a))
    monkeypatch.setattr(Neighborhoods, "__init__", lambda *a: calls.append("neighborhoods") or init(*a))
    monkeypatch.setattr(geometry, "_nearest_neighbors", lambda g, n: calls.append(f"nearest {n}") or nearest(g, n))
    X = make_groups().X
    pipeline.fit(X, UTC(solver=solver, affinity=affinity)._settings(X.shape[1]))  # the number is estimated, too
    assert calls.count("pairwise") == 1
    assert calls.count("neighborhoods") == (solver == "ascent" and affinity == "indecomposable")
    assert sum(call.startswith("nearest") for call in calls) == 2  # of order 2, and of the others


class FifthOrder(Affinity):
    """An order that is none of the paper's."""

    def contract(self):
        return pairwise_affinity(self.geometry, self.settings.n_neighbors)

    def tensor(self):
        return AFFINITIES["indecomposable"][2](self.geometry, self.settings).tensor()


@pytest.mark.parametrize("solver", ["spectral", "ascent"])
def test_another_order_is_taken_by_the_solvers_that_know_no_orders(solver, monkeypatch):
    monkeypatch.setitem(AFFINITIES["indecomposable"], 5, FifthOrder)
    adata = make_groups()
    settings = dataclasses.replace(UTC(3, solver=solver)._settings(60), orders=(2, 5))
    model = pipeline.fit(adata.X, settings)
    assert set(model.solution.order_spectra) == {2, 5}
    with pytest.raises(ValueError, match="affinity='decomposable' has no order 5"):
        pipeline.fit(adata.X, dataclasses.replace(settings, affinity="decomposable"))


def test_admm_refuses_orders_that_it_does_not_know(monkeypatch):
    monkeypatch.setitem(AFFINITIES["indecomposable"], 5, FifthOrder)
    settings = dataclasses.replace(UTC(3)._settings(60), orders=(2, 5))
    with pytest.raises(ValueError, match=r"solver='admm' .* does not know 5\. Use solver='ascent' or 'spectral'"):
        SOLVERS["admm"](Geometry.of(make_groups().X, "correlation"), settings, 3)


@pytest.mark.parametrize("metric", ["correlation", "spearman", "euclidean"])
def test_predicting_and_transferring_take_one_path(metric):
    adata = make_groups((40, 30, 20))
    reference, new = adata[::2].copy(), adata[1::2].copy()
    scutc.tl.utc(reference, 3, metric=metric)
    scutc.tl.transfer(new, reference)
    model = UTC(3, metric=metric).fit(reference.X)
    np.testing.assert_array_equal(new.obs["utc"].cat.codes, model.predict(new.X))
    np.testing.assert_allclose(new.obsm["X_utc"], model.transform(new.X), atol=1e-12)


def test_warnings_point_to_the_line_of_the_user(adata):
    one_gene = adata[:, :1].copy()
    for call in (
        lambda: UTC(2).fit(one_gene.X),
        lambda: UTC(2).fit_predict(one_gene.X),
        lambda: UTC(2).fit_transform(one_gene.X),
        lambda: scutc.tl.utc(one_gene, 2),
        lambda: warn("from here"),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert [each.filename for each in caught] == [__file__]
