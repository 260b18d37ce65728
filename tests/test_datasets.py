from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata import AnnData
from sklearn.cluster import SpectralClustering

from scutc.datasets import read_labelled, syndata1, syndata2
from scutc.metrics import adjusted_rand

# What cannot be a standard deviation or a mean.
NO_SCALES = [-1.0, float("nan"), float("inf"), True, "wide"]


@pytest.mark.parametrize("n", [4, 10, 11, 13, 40])
def test_syndata1_is_two_evenly_spaced_lines_that_share_no_point(n):
    adata = syndata1(n)
    assert adata.shape == (n, 2)
    on_first = (adata.obs["label"] == "horizontal").to_numpy()
    assert on_first.sum() == n - n // 2
    assert not adata.X[on_first, 1].any()
    assert not adata.X[~on_first, 0].any()
    for positions in (adata.X[on_first, 0], adata.X[~on_first, 1]):
        steps = np.diff(positions)
        np.testing.assert_allclose(steps, steps[0])
        # The crossing is in the middle of the line, halfway between two of its samples.
        assert abs((positions < 0).sum() - (positions > 0).sum()) <= 1
        np.testing.assert_allclose(np.abs(positions).min(), steps[0] / 2)
        assert np.abs(positions).max() == 1.0


def test_syndata1_defeats_spectral_clustering():
    adata = syndata1()
    labels = SpectralClustering(2, random_state=0).fit_predict(adata.X)
    assert adjusted_rand(adata.obs["label"], labels) < 0.5


def test_syndata1_noise_has_the_standard_deviation_asked_for():
    shift = syndata1(4000, noise=0.2).X - syndata1(4000).X
    assert shift.std() == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 3}, "n=3, but two crossing lines need at least 4"),
        ({"n": 10.5}, "n=10.5 is not a positive integer"),
        *(({"noise": value}, f"noise={value!r} is not a number") for value in NO_SCALES),
    ],
)
def test_syndata1_refuses_what_it_cannot_make(arguments, message):
    with pytest.raises(ValueError, match=message):
        syndata1(**arguments)


def test_syndata2_groups_are_orthogonal_in_the_signal_and_have_its_moments():
    adata = syndata2(200, group_sizes=(400, 400, 400))
    signal = adata.X[:, adata.var["signal"]]
    assert signal.shape[1] == 10
    groups = [signal[adata.obs["label"] == name] for name in "ABC"]
    assert [int((group != 0).any(axis=0).sum()) for group in groups] == [4, 3, 3]
    for i, group in enumerate(groups):
        values = group[group != 0]
        assert values.mean() == pytest.approx(2, abs=0.05)
        assert values.std() == pytest.approx(0.5, abs=0.05)
        for other in groups[:i]:
            assert not (group @ other.T).any()


def test_syndata2_noise_does_not_know_the_groups():
    adata = syndata2(5000)
    noise = adata.X[:, ~adata.var["signal"]]
    assert noise.shape[1] == 4990
    assert noise.std() == pytest.approx(0.5, abs=0.01)
    for name in "ABC":
        assert noise[adata.obs["label"] == name].mean() == pytest.approx(0, abs=0.01)


def test_syndata2_with_fewer_features_is_the_start_of_one_with_more():
    np.testing.assert_array_equal(syndata2(10).X, syndata2(50).X[:, :10])


@pytest.mark.parametrize(
    "make", [lambda seed: syndata1(noise=0.1, random_state=seed), lambda seed: syndata2(20, random_state=seed)]
)
def test_values_follow_the_seed(make):
    np.testing.assert_array_equal(make(1).X, make(1).X)
    assert (make(1).X != make(2).X).any()
    state = np.random.RandomState(1)
    np.testing.assert_array_equal(make(state).X, make(1).X)
    assert (make(state).X != make(1).X).any()


@pytest.mark.parametrize("adata", [syndata1(), syndata2(10)], ids=["syndata1", "syndata2"])
def test_labels_are_categories_of_str_and_survive_a_file(adata, tmp_path):
    assert isinstance(adata.obs["label"].dtype, pd.CategoricalDtype)
    assert all(type(name) is str for name in adata.obs["label"].cat.categories)
    assert adata.obs_names.is_unique
    adata.write_h5ad(tmp_path / "data.h5ad")
    found = read_labelled(tmp_path)["data"]
    np.testing.assert_array_equal(found.X, adata.X)
    assert found.obs["label"].to_list() == adata.obs["label"].to_list()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_features": 9}, "n_features=9"),
        ({"group_sizes": ()}, "group_sizes="),
        ({"group_sizes": (1,) * 11}, "group_sizes="),
        ({"group_sizes": (5, 0)}, "group_sizes="),
        ({"group_sizes": (5, 2.5)}, "group_sizes="),
        ({"group_sizes": 3}, "group_sizes=3 must be a list"),
        ({"n_features": 20.5}, "n_features=20.5 is not a positive integer"),
        ({"n_features": True}, "n_features=True is not a positive integer"),
        *(({name: value}, f"{name}={value!r} is not a number") for name in ("mean", "sd") for value in NO_SCALES),
    ],
)
def test_syndata2_refuses_what_it_cannot_make(arguments, message):
    with pytest.raises(ValueError, match=message):
        syndata2(**arguments)


def test_read_labelled_knows_the_names_without_reading(tmp_path):
    for name in ("b", "a"):
        (tmp_path / f"{name}.h5ad").write_text("not an h5ad file")
    (tmp_path / "notes.txt").touch()
    (tmp_path / "folder.h5ad").mkdir()
    found = read_labelled(str(tmp_path))
    assert list(found) == ["a", "b"]
    assert len(found) == 2
    assert "a" in found
    assert "notes" not in found
    assert repr(found) == "labelled data: a, b"
    with pytest.raises(OSError):  # noqa: PT011  (h5py's, whatever it says)
        found["a"]


@pytest.mark.parametrize("labels", [pd.Categorical(["a", None, None]), [1.0, np.nan, np.nan]])
def test_read_labelled_counts_missing_labels(labels, tmp_path):
    obs = pd.DataFrame({"label": labels}, index=list("xyz"))
    AnnData(np.ones((3, 1)), obs=obs).write_h5ad(tmp_path / "a.h5ad")
    with pytest.raises(ValueError, match=r"a.h5ad has 2 of 3 labels missing in obs\['label'\]"):
        read_labelled(tmp_path)["a"]


def test_read_labelled_names_what_is_missing(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere"):
        read_labelled(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match=r"no .h5ad file in"):
        read_labelled(tmp_path)
    AnnData(np.ones((2, 1)), obs=pd.DataFrame({"batch": ["1", "2"]}, index=["x", "y"])).write_h5ad(tmp_path / "a.h5ad")
    found = read_labelled(tmp_path)
    with pytest.raises(ValueError, match=r"a.h5ad has no obs\['label'\].*'batch'"):
        found["a"]
    with pytest.raises(KeyError, match="b"):
        found["b"]
