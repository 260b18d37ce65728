from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score

import scutc
from scutc.metrics import adjusted_rand, clustering_accuracy, nmi, pairwise_f_score, purity, score

ALL = [clustering_accuracy, adjusted_rand, pairwise_f_score, nmi, purity]

# Rows of the contingency table: a has 3 in cluster 0 and 1 in cluster 1; b has 1 in 0 and 2 in 1; c has 1 in 1.
TRUTH = ["a"] * 4 + ["b"] * 3 + ["c"]
LABELS = [0, 0, 0, 1, 0, 1, 1, 1]

paired_labels = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30)


def entropy(*counts: int) -> float:
    shares = np.array(counts) / sum(counts)
    return -(shares * np.log(shares)).sum()


# Of 28 pairs 9 are within classes (6 + 3), 12 within clusters (6 + 6) and 4 in both (3 + 1).
INFORMATION = entropy(4, 3, 1) + entropy(4, 4) - entropy(3, 1, 1, 2, 1)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (clustering_accuracy, 5 / 8),  # a is 0, b is 1, c has no cluster left
        (adjusted_rand, (4 - 9 * 12 / 28) / ((9 + 12) / 2 - 9 * 12 / 28)),
        (pairwise_f_score, 2 * 4 / (9 + 12)),
        (nmi, INFORMATION / ((entropy(4, 3, 1) + entropy(4, 4)) / 2)),
        (purity, 5 / 8),
    ],
)
def test_values_computed_by_hand(metric, expected):
    assert metric(TRUTH, LABELS) == pytest.approx(expected)


def test_accuracy_is_the_best_matching_not_the_greedy_one():
    # Greedily the largest cell, a with 0, leaves only one right for b: 3 + 1; the other way round it is 2 + 3.
    truth = ["a"] * 5 + ["b"] * 4
    labels = [0, 0, 0, 1, 1, 0, 0, 0, 1]
    assert clustering_accuracy(truth, labels) == 5 / 9
    assert purity(truth, labels) == 5 / 9


def test_more_clusters_than_classes_lower_accuracy_but_not_purity():
    truth, labels = ["a", "a", "b", "b"], [0, 1, 2, 2]
    assert clustering_accuracy(truth, labels) == 3 / 4
    assert purity(truth, labels) == 1.0
    assert purity(labels, truth) == 3 / 4


@pytest.mark.parametrize("metric", ALL)
def test_any_container_of_any_labels_gives_the_same(metric):
    expected = metric(TRUTH, LABELS)
    truths = [np.array(TRUTH), pd.Series(TRUTH, index=range(8, 0, -1)), pd.Categorical(TRUTH), pd.Index(TRUTH)]
    truths += [pd.Series(TRUTH, dtype="category"), pd.Series(TRUTH, dtype="string"), ["abc".index(c) for c in TRUTH]]
    labels = [np.array(LABELS), np.array(LABELS, dtype=float), np.array(LABELS, dtype=bool), tuple(LABELS)]
    labels += [
        np.ma.array(LABELS),
        pd.Series(LABELS, dtype="Int64"),
        pd.Categorical([0, 1, 2])[LABELS],
        list(map(str, LABELS)),
    ]
    for truth in truths:
        assert metric(truth, LABELS) == expected
    for other in labels:
        assert metric(TRUTH, other) == expected


def test_labels_of_mixed_types_stay_different():
    assert purity([1, "1", "nan"], [0, 0, 0]) == pytest.approx(1 / 3)


@given(paired_labels)
@settings(deadline=None)
def test_equal_to_scikit_learn(pairs):
    truth, labels = zip(*pairs, strict=True)
    assert adjusted_rand(truth, labels) == adjusted_rand_score(truth, labels)
    # The order in which labels are numbered is that of the sums.
    expected = normalized_mutual_info_score(truth, labels, average_method="arithmetic")
    assert nmi(truth, labels) == pytest.approx(expected, abs=1e-12)


@given(paired_labels)
@settings(deadline=None, max_examples=50)
def test_equal_to_the_definitions(pairs):
    truth, labels = zip(*pairs, strict=True)
    namings = itertools.permutations(range(5))
    assert clustering_accuracy(truth, labels) == max(
        np.mean([naming[label] == true for true, label in pairs]) for naming in namings
    )
    clusters = [[true for true, label in pairs if label == cluster] for cluster in set(labels)]
    assert purity(truth, labels) == sum(max(map(members.count, members)) for members in clusters) / len(pairs)
    together = [(a == b, c == d) for (a, c), (b, d) in itertools.combinations(pairs, 2)]
    assert pairwise_f_score(truth, labels) == (
        f1_score(*zip(*together, strict=True), zero_division=1.0) if together else 1.0
    )


@pytest.mark.parametrize("metric", ALL)
@given(pairs=paired_labels, truth_names=st.permutations("abcde"), label_names=st.permutations("vwxyz"))
@settings(deadline=None, max_examples=50)
def test_names_of_classes_and_clusters_do_not_matter(metric, pairs, truth_names, label_names):
    truth, labels = zip(*pairs, strict=True)
    renamed = metric([truth_names[i] for i in truth], [label_names[i] for i in labels])
    assert renamed == pytest.approx(metric(truth, labels), abs=1e-12)


@pytest.mark.parametrize("metric", ALL)
@given(pairs=paired_labels)
@settings(deadline=None, max_examples=50)
def test_one_for_the_same_partition_and_never_more(metric, pairs):
    truth, labels = zip(*pairs, strict=True)
    assert metric(truth, truth) == pytest.approx(1.0)
    assert metric(truth, labels) <= 1.0 + 1e-12


@given(paired_labels)
@settings(deadline=None)
def test_accuracy_is_at_most_purity(pairs):
    truth, labels = zip(*pairs, strict=True)
    assert clustering_accuracy(truth, labels) <= purity(truth, labels)


@pytest.mark.parametrize("metric", ALL)
@pytest.mark.parametrize(
    "with_missing",
    [
        ["a", None, "b", np.nan],
        [0, None, 1, pd.NA],
        np.array([0.0, np.nan, 1.0, np.nan]),
        pd.Series(["a", None, "b", None], dtype="category"),
        pd.Series([0, None, 1, None], dtype="Int64"),
        pd.Categorical.from_codes([0, -1, 1, -1], categories=["a", "b"]),
        np.ma.array([0, 0, 1, 1], mask=[False, True, False, True]),
    ],
)
def test_missing_labels_are_counted_in_the_error(metric, with_missing):
    with pytest.raises(ValueError, match="missing: 2 of 4 in labels"):
        metric(["a", "a", "b", "b"], with_missing)
    with pytest.raises(ValueError, match="missing: 2 of 4 in truth and 1 of 4 in labels"):
        metric(with_missing, [0, None, 1, 1])


@pytest.mark.parametrize("metric", ALL)
def test_what_cannot_be_compared_is_an_error(metric):
    with pytest.raises(ValueError, match="truth has 3 samples, labels has 2"):
        metric([0, 0, 1], [0, 1])
    with pytest.raises(ValueError, match="empty"):
        metric([], [])
    with pytest.raises(ValueError, match=r"labels must be .* 2-dimensional"):
        metric([0, 1], [[0], [1]])
    with pytest.raises(ValueError, match=r"truth must be .* 0-dimensional"):
        metric("ab", [0, 1])


@pytest.fixture
def labelled() -> AnnData:
    return AnnData(np.ones((8, 1)), obs=pd.DataFrame({"cell_type": TRUTH, "utc": LABELS}, index=list("stuvwxyz")))


def test_score_gives_all_five(labelled):
    found = score(labelled, "utc", "cell_type")
    assert found.name == "utc"
    assert list(found.index) == ["ACC", "ARI", "F-score", "NMI", "purity"]
    assert found.to_list() == [metric(TRUTH, LABELS) for metric in ALL]


def test_score_takes_the_clusters_first_and_the_truth_second(labelled):
    labelled.obs["fine"] = range(8)
    assert score(labelled, "fine", "cell_type")["purity"] == 1.0
    assert score(labelled, "cell_type", "fine")["purity"] < 1.0


def test_score_lists_the_columns_there_are(labelled):
    with pytest.raises(KeyError, match=r"key='leiden' is not in adata.obs. Valid: 'cell_type', 'utc'"):
        score(labelled, "leiden", "cell_type")
    with pytest.raises(KeyError, match=r"truth_key='type' is not in adata.obs. Valid: 'cell_type', 'utc'"):
        score(labelled, "utc", "type")


def test_score_wants_an_anndata(labelled):
    with pytest.raises(TypeError, match="DataFrame, not an AnnData"):
        score(labelled.obs, "utc", "cell_type")


def test_score_of_clusters_that_utc_wrote(adata):
    scutc.tl.utc(adata, n_clusters=3)
    assert (score(adata, "utc", "group") == 1.0).all()


def test_score_says_which_column_misses_labels(labelled):
    labelled.obs["some"] = labelled.obs["utc"].astype(object).where(np.arange(8) > 1)
    with pytest.raises(ValueError, match=r"^Labels are missing: 2 of 8 in adata.obs\['some'\]\. Leave"):
        score(labelled, "some", "cell_type")
    with pytest.raises(ValueError, match=r"2 of 8 in adata.obs\['some'\] and 2 of 8 in adata.obs\['some'\]"):
        score(labelled, "some", "some")


@pytest.mark.parametrize("convert", [pd.Series, np.array, list])
def test_score_says_what_to_do_with_labels_instead_of_a_column(labelled, convert):
    with pytest.raises(TypeError, match=r"^key is a \w+, not the name of a column.*adjusted_rand"):
        score(labelled, convert(LABELS), "cell_type")
    with pytest.raises(TypeError, match=r"^truth_key is a \w+, not the name"):
        score(labelled, "utc", convert(TRUTH))
