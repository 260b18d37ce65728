from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from scutc.core.extension import Rule, Speakers
from scutc.core.metric import METRICS


def speakers_of(cells, labels, n_labels, metric="correlation", n_neighbors=3, genes=None) -> Speakers:
    return Speakers.of(Rule.of(cells, metric, n_neighbors, genes=genes), cells, labels, n_labels)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("metric", METRICS)
def test_nearness_and_distances_to_mean_profiles_equal_those_of_the_formula(metric, container):
    rng = np.random.default_rng(0)
    landmarks, cells = (rng.gamma(2.0, size=(n, 80)) * (rng.random((n, 80)) < 0.8) for n in (30, 12))
    labels = np.arange(30) % 4
    speakers = speakers_of(container(landmarks), labels, 5, metric)
    nearness, squared = speakers.profiles.compare(speakers.rule.standardize(container(cells), 0))
    points, new = (METRICS[metric].of(landmarks).standardize(X).values for X in (landmarks, cells))
    means = np.array([points[labels == label].mean(axis=0) for label in range(4)])
    np.testing.assert_allclose(squared[:, :4], [[np.sum((cell - mean) ** 2) for mean in means] for cell in new])
    if metric != "euclidean":
        means /= np.linalg.norm(means, axis=1, keepdims=True)
    # The nearer a mean, made a cell itself, the larger; by half the squared distance, up to what all have in common.
    half = np.array([[-np.sum((cell - mean) ** 2) / 2 for mean in means] for cell in new])
    np.testing.assert_allclose(nearness[:, :4] - nearness[:, :1], half - half[:, :1], atol=1e-9)
    np.testing.assert_array_equal(nearness[:, 4], 0.0)  # a label that no cell has


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("metric", METRICS)
def test_typicality_is_the_share_of_cells_that_lie_as_far_from_the_mean_of_their_label_s_others(metric, container):
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 3], [9, 6, 1])
    cells = rng.poisson(2.0, size=(16, 12)) * (rng.random((16, 12)) < 0.7) + np.eye(4, 12)[labels]
    new = rng.poisson(2.0, size=(5, 12)) + np.eye(12)[:5]
    points, points_of_new = (METRICS[metric].of(cells).standardize(X).values for X in (cells, new))
    speakers = speakers_of(container(cells), labels, 4, metric)
    typicality = speakers.typicality(container(cells))
    _, squared = speakers.profiles.compare(speakers.rule.standardize(container(new), 0))
    apart = []
    for label in (0, 1):  # the other has no second cell
        for cell in np.flatnonzero(labels == label):
            others = points[(labels == label) & (np.arange(16) != cell)]
            apart.append(np.sum((points[cell] - others.mean(axis=0)) ** 2) / (1 + 1 / len(others)))
    for label in (0, 1, 3):
        own = points[labels == label]
        far = np.sum((points_of_new - own.mean(axis=0)) ** 2, axis=1)
        np.testing.assert_allclose(squared[:, label], far)
        expected = [(1 + np.sum(apart >= each / (1 + 1 / len(own)))) / 16 for each in far]
        np.testing.assert_allclose(typicality(squared[:, label], np.full(5, label)), expected)


def typicality_of(speakers, cells, new, labels_of_new):
    """Of new cells with labels."""
    squared = speakers.profiles.compare(speakers.rule.standardize(new, 0))[1]
    return speakers.typicality(cells)(squared[np.arange(len(new)), labels_of_new], labels_of_new)


def test_typicality_is_missing_where_no_label_has_two_cells():
    cells = np.random.default_rng(0).random((4, 30))
    labels = np.arange(4)
    assert np.isnan(typicality_of(speakers_of(cells, labels, 4), cells, cells, labels)).all()


def test_copies_of_a_label_s_cells_are_typical_of_it():
    cells = np.repeat(np.random.default_rng(0).random((2, 30)), 8, axis=0)
    labels = np.repeat([0, 1], 8)
    speakers = speakers_of(cells, labels, 2)
    np.testing.assert_array_equal(typicality_of(speakers, cells, 3 * cells, labels), 1.0)
    assert (typicality_of(speakers, cells, cells, 1 - labels) == 1 / 17).all()


@pytest.mark.parametrize("metric", ["correlation", "spearman"])
def test_a_cell_of_which_the_genes_say_nothing_is_typical_of_no_label(metric):
    cells = np.random.default_rng(0).random((12, 6))
    genes = np.array([0, 1, 2, 3])
    labels = np.repeat([0, 1], 6)
    part = cells[:, genes]
    speakers = speakers_of(part, labels, 2, metric, genes=genes)
    new = cells.copy()
    new[4, genes] = 1.0
    typical, before = (typicality_of(speakers, part, each, labels) for each in (new, cells))
    assert typical[4] == 1 / 13
    np.testing.assert_array_equal(np.delete(typical, 4), np.delete(before, 4))
    # It lies in the middle, also where no other cell comes with it.
    np.testing.assert_array_equal(speakers(new[4:5], 4).weights.toarray(), speakers(new, 0).weights[[4]].toarray())
    # And has the label that most of its landmarks have, whatever the labels are called.
    placed = speakers(new[4:5], 4)
    renamed = speakers_of(part, 1 - labels, 2, metric, genes=genes)(new[4:5], 4)
    assert placed.labels == 1 - renamed.labels
    assert placed.shares > 0.5
    assert np.isinf(speakers(new[4:5], 4).squared_distances).all()
