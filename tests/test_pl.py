from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial
from itertools import pairwise

import anndata
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import scanpy as sc
from anndata import AnnData
from matplotlib.colors import to_hex, to_rgba

import scutc
from conftest import make_groups, snapshot
from scutc._anndata import recorded_parameters
from scutc.core.affinities import pairwise_affinity
from scutc.core.geometry import Geometry

ALL_PLOTS = sorted(scutc.pl.__all__)
PLOTS_OF_RESULTS = ["embedding", "affinity", "orders", "spectrum", "convergence", "n_clusters", "stability"]
# Of the plots that not every result has.
KEYS = {"convergence": "ascent", "n_clusters": "estimated"}


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def clustered() -> AnnData:
    """Groups of 20, 15 and 10 cells, shuffled, and the clusters 0, 1 and 2 that are these groups."""
    adata = make_groups()
    adata = adata[np.random.default_rng(0).permutation(adata.n_obs)].copy()
    adata.obs["group"] = adata.obs["group"].astype("category")  # scanpy's plots do it otherwise
    scutc.tl.utc(adata, n_clusters=3)
    scutc.tl.utc(adata, n_clusters=[4, 2], key_added="several")
    scutc.tl.utc(adata, n_clusters=3, n_neighbors=5, solver="ascent", key_added="ascent")
    scutc.tl.utc(adata, key_added="estimated")
    return adata


@pytest.fixture
def adata(clustered) -> AnnData:
    return clustered.copy()


@pytest.fixture(scope="module")
def of_genes(clustered) -> AnnData:
    """The same with scores of genes."""
    adata = clustered.copy()
    adata.var["utc_score"], adata.var["utc_informative"] = np.linspace(0.9, 0.0, adata.n_vars), True
    adata.uns["utc"]["score_of_noise"] = 0.1
    return adata


@pytest.fixture(scope="module")
def thirty() -> AnnData:
    """Thirty clusters, of which it is not known how stable they are."""
    adata = make_groups((4,) * 30)
    scutc.tl.utc(adata, 30, n_splits=0)
    adata.uns["utc"]["stability"] = np.full(30, np.nan)
    return adata


@pytest.fixture
def autoshow():
    """Sets ``scanpy.settings.autoshow`` for one test."""
    before = sc.settings.autoshow
    yield lambda value: setattr(sc.settings, "autoshow", value)
    sc.settings.autoshow = before


def draw(name: str, adata: AnnData, **kwargs):
    arguments = ("group",) if name == "confusion" else ()
    return getattr(scutc.pl, name)(adata, *arguments, **({"show": False} | kwargs))


def picture(axes) -> np.ndarray:
    """The pixels of the figure to which the axes belong."""
    canvas = np.ravel(np.array(axes, dtype=object))[0].figure.canvas
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())


def names_in_legend(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def bars(ax) -> list[tuple[str, float]]:
    """Colour and length of each part of the bars around a heatmap."""
    lines = [line for line in ax.get_children() if isinstance(line, plt.Line2D) and line.get_linewidth() > 5]
    return [(to_hex(line.get_color()), float(np.ptp(line.get_xydata(), axis=0).sum())) for line in lines]


def is_all_in_the_figure(ax) -> bool:
    """Whether nothing of a drawn figure is cut off."""
    figure = ax.figure
    box, page = figure.get_tightbbox(), figure.get_size_inches()
    return bool(box.x0 >= 0 and box.y0 >= 0 and box.x1 <= page[0] and box.y1 <= page[1])


def counts_in(ax) -> np.ndarray:
    counts = np.zeros(ax.images[0].get_array().shape, dtype=int)
    for text in ax.texts:
        column, row = text.get_position()
        counts[row, column] = int(text.get_text())
    return counts


def tick_labels(axis) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


# all plots


def test_importing_scutc_imports_neither_matplotlib_nor_scanpy():
    code = "import sys, scutc; sys.exit(any(name in sys.modules for name in ('matplotlib', 'scanpy')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("name", [*PLOTS_OF_RESULTS, "confusion"])
def test_shows_unless_told_not_to_and_then_returns_axes(adata, name, monkeypatch, autoshow):
    key = KEYS.get(name, "utc")
    shown = []
    monkeypatch.setattr(plt, "show", lambda *_, **__: shown.append(name))
    assert draw(name, adata, key=key, show=True) is None
    assert shown == [name]
    autoshow(False)
    assert all(isinstance(ax, plt.Axes) for ax in np.ravel(draw(name, adata, key=key, show=None)))
    autoshow(True)
    assert draw(name, adata, key=key, show=None) is None
    assert shown == [name] * 2


@pytest.mark.parametrize("name", PLOTS_OF_RESULTS)
def test_missing_key_says_what_there_is_and_what_to_do(adata, name):
    with pytest.raises(KeyError, match=r"'foo'.*There: 'utc', 'several', 'ascent', 'estimated'\. Run scutc\.tl\.utc"):
        draw(name, adata, key="foo")
    with pytest.raises(KeyError, match="There: none"):
        draw(name, make_groups())
    with pytest.raises(TypeError, match="not an AnnData"):
        draw(name, adata.X)


@pytest.mark.parametrize("name", [*PLOTS_OF_RESULTS, "confusion"])
def test_adata_is_untouched(adata, name):
    key = KEYS.get(name, "utc")
    before = snapshot(adata)
    draw(name, adata, key=key)
    if name == "embedding":
        assert len(adata.uns.pop("utc_colors")) == 3
    assert snapshot(adata) == before


@pytest.mark.parametrize("name", [*PLOTS_OF_RESULTS, "confusion"])
def test_draws_on_the_axes_that_are_given(adata, name):
    key = KEYS.get(name, "utc")
    figure, axes = plt.subplots(1, {"affinity": 2, "orders": 3}.get(name, 1))
    returned = draw(name, adata, key=key, ax=axes)
    assert plt.get_fignums() == [figure.number]
    np.testing.assert_array_equal(np.ravel(np.array(returned, dtype=object)), np.ravel(axes))
    assert all(ax.has_data() for ax in np.ravel(axes))
    figure.canvas.draw()


@pytest.mark.parametrize("name", ALL_PLOTS)
def test_figure_has_the_size_that_is_asked_for(of_genes, name):
    key = KEYS.get(name, "utc")
    for figsize in ((7.0, 5.0), (9.0, 6.0)):
        axes = draw(name, of_genes, key=key, figsize=figsize)
        assert tuple(np.ravel(np.array(axes, dtype=object))[0].figure.get_size_inches()) == figsize
        picture(axes)
    with pytest.raises(ValueError, match=r"Both ax= and figsize=\(9\.0, 6\.0\) are given: the figure that ax"):
        draw(name, of_genes, key=key, figsize=figsize, ax=plt.subplots()[1])


def test_figure_of_several_panels_has_the_size_that_is_asked_for(adata):
    axes = scutc.pl.embedding(adata, key="several", figsize=(9.0, 4.0), show=False)
    assert tuple(axes[0].figure.get_size_inches()) == (9.0, 4.0)


@pytest.mark.parametrize("name", ["affinity", "embedding", "orders", "stability"])
def test_legend_takes_no_room_from_the_plot_and_is_not_cut_off(thirty, name):
    widths = []
    adata = thirty.copy()
    for names in ([str(i) for i in range(30)], [f"{LONG} {i}" for i in range(30)]):
        adata.obs["utc"] = adata.obs["utc"].cat.rename_categories(names)
        axes = draw(name, adata)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # of matplotlib, where there is no room
            picture(axes)
        ax = np.ravel(np.array(axes, dtype=object))[-1]
        assert names_in_legend(ax) == names
        assert is_all_in_the_figure(ax)
        widths.append(ax.get_window_extent().width / ax.figure.dpi)
    assert widths[0] > 2.5
    np.testing.assert_allclose(*widths, rtol=0.05)


def test_wrong_number_of_axes_is_an_error(adata):
    with pytest.raises(ValueError, match=r"ax has 1 Axes, this plot 2: .*plt\.subplots\(1, 2\)"):
        scutc.pl.affinity(adata, ax=plt.subplots()[1])


@pytest.mark.parametrize("name", [*PLOTS_OF_RESULTS, "confusion"])
def test_draws_the_same_after_a_round_trip_through_a_file(adata, name, tmp_path):
    scutc.tl.utc(adata, n_clusters=3, n_anchors=None, mask_var=np.arange(adata.n_vars) < 50)
    adata.write_h5ad(tmp_path / "clustered.h5ad")
    reread = anndata.read_h5ad(tmp_path / "clustered.h5ad")
    for key in [KEYS[name]] if name in KEYS else ["utc", "ascent"]:
        pictures = [picture(draw(name, drawn, key=key)) for drawn in (adata, reread)]
        np.testing.assert_array_equal(*pictures)
        assert len(np.unique(pictures[0])) > 2


@pytest.mark.parametrize("name", ["affinity", "orders"])
def test_several_numbers_of_clusters_ask_for_a_choice(adata, name):
    with pytest.raises(ValueError, match=r"several clusterings: choose one with color=\. Valid: 'several_4', 'sev"):
        draw(name, adata, key="several")
    axes = draw(name, adata, key="several", color="several_2")
    assert names_in_legend(axes[-1]) == ["0", "1"]


@pytest.mark.parametrize("name", ["affinity", "orders"])
def test_unknown_labels_are_a_key_error(adata, name):
    with pytest.raises(KeyError, match=r"color='foo' is not in adata\.obs\. Valid: 'group'"):
        draw(name, adata, color="foo")


@pytest.mark.parametrize("name", ["affinity", "orders"])
def test_cells_without_a_label_are_left_out_and_the_title_says_so(adata, name):
    adata.obs["partial"] = adata.obs["group"].where(adata.obs["group"] != "2")
    axes = draw(name, adata, color="partial")
    assert all(ax.get_title().endswith("\n35 of 45 cells") for ax in axes)
    adata.obs["none"] = pd.Categorical([None] * adata.n_obs)
    with pytest.raises(ValueError, match="nothing to show of 0 cells"):
        draw(name, adata, color="none")


# colours


@pytest.mark.parametrize("n_clusters", [3, 15, 25, 60, 110])
def test_colors_are_those_that_scanpy_would_choose(n_clusters):
    labels = [str(i % n_clusters) for i in range(150)]
    adata = AnnData(np.zeros((150, 1)), obs={"labels": pd.Categorical(labels)}, obsm={"X_any": np.zeros((150, 2))})
    colors = scutc._colors.label_colors(adata, "labels", n_clusters)
    sc.pl.embedding(adata, "any", color="labels", show=False)
    assert colors == [to_hex(color) for color in adata.uns["labels_colors"]]
    assert scutc._colors.label_colors(adata, "labels", n_clusters) == colors


@pytest.mark.parametrize("stored", [["#ff0000"], ["no colour"] * 3])
def test_stored_colors_are_used_if_they_fit(adata, stored):
    default = bars(scutc.pl.confusion(adata, "group", show=False))
    adata.uns["utc_colors"] = stored
    assert bars(scutc.pl.confusion(adata, "group", show=False)) == default
    adata.uns["utc_colors"] = np.array(["#ff0000", "#00ff00", "#0000ff"])
    assert [color for color, _ in bars(scutc.pl.confusion(adata, "group", show=False))] == list(adata.uns["utc_colors"])


# embedding


def test_embedding_shows_two_columns_in_cluster_colors(adata):
    ax = scutc.pl.embedding(adata, dimensions=(2, 1), show=False)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("utc3", "utc2", "utc")
    assert names_in_legend(ax) == ["0", "1", "2"]
    shown = pd.Series(map(tuple, np.round(ax.collections[0].get_offsets(), 12)))
    assert set(shown) == set(map(tuple, np.round(adata.obsm["X_utc"][:, [2, 1]], 12)))


def test_embedding_passes_keywords_on(adata):
    ax = scutc.pl.embedding(adata, color="group", title="groups", size=7, legend_loc="on data", show=False)
    assert ax.get_title() == "groups"
    assert ax.collections[0].get_sizes().tolist() == [7]
    assert sorted(text.get_text() for text in ax.texts) == ["0", "1", "2"]


def test_embedding_shows_the_clusters_beside_how_sure_they_are(adata):
    axes = scutc.pl.embedding(adata, color=["utc", "utc_confidence"], show=False)
    assert [ax.get_title() for ax in axes] == ["utc", "utc_confidence"]
    np.testing.assert_allclose(np.sort(axes[1].collections[0].get_array()), np.sort(adata.obs["utc_confidence"]))


def test_embedding_says_which_columns_there_are(adata):
    for color in ("foo", ["utc", "foo"]):
        with pytest.raises(
            KeyError, match=r"color='foo' is neither a gene nor a column of adata\.obs\. Columns: .*'utc'"
        ):
            scutc.pl.embedding(adata, color=color, show=False)
    adata.var["symbol"] = "S" + adata.var_names
    scutc.pl.embedding(adata, color="S" + adata.var_names[0], gene_symbols="symbol", show=False)
    scutc.pl.embedding(adata, color=[adata.var_names[0], None], show=False)


def test_embedding_has_a_panel_for_each_number_of_clusters(adata):
    axes = scutc.pl.embedding(adata, key="several", show=False)
    assert [ax.get_title() for ax in axes] == ["several_4", "several_2"]


@pytest.mark.parametrize(("key", "labels"), [("utc", ("utc1", "utc2")), ("k3", ("k3 1", "k3 2"))])
def test_embedding_names_its_axes_after_the_key(adata, key, labels):
    scutc.tl.utc(adata, n_clusters=3, key_added=key)
    ax = scutc.pl.embedding(adata, key=key, show=False)
    assert (ax.get_xlabel(), ax.get_ylabel()) == labels


def test_embedding_leaves_room_for_long_names_between_panels(adata):
    adata.obs["long"] = adata.obs["utc"].cat.rename_categories([f"{LONG} {i}" for i in range(3)])
    left, right = scutc.pl.embedding(adata, color=["long", "utc"], show=False)
    picture(left)
    assert left.get_legend().get_window_extent().x1 < right.get_window_extent().x0
    assert left.get_window_extent().width > 300


def test_embedding_returns_the_figure_if_asked_to(adata, autoshow):
    autoshow(True)
    figure = scutc.pl.embedding(adata, return_fig=True, figsize=(7, 3))
    assert isinstance(figure, plt.Figure)
    assert tuple(figure.get_size_inches()) == (7, 3)


@pytest.mark.parametrize("where", ["on data", "lower left", None])
def test_embedding_is_no_wider_for_a_legend_inside(adata, where):
    figure = scutc.pl.embedding(adata, legend_loc=where, show=False).figure
    assert figure.get_size_inches().tolist() == plt.rcParams["figure.figsize"]


# results that were restricted to some cells, of which the others have no embedding


@pytest.fixture
def restricted(adata) -> AnnData:
    """As if only 25 of the cells, the clusters 1 and 2 of three, had been looked at, and called 1,0 and 1,1."""
    outside = (adata.obs["utc"] == "0").to_numpy()
    adata.obs["utc"] = adata.obs["utc"].cat.rename_categories({"1": "1,0", "2": "1,1"})
    adata.obsm["X_utc"][outside], adata.obsm["utc_votes"][outside] = np.nan, -1
    adata.obs.loc[outside, "utc_confidence"] = np.nan
    adata.uns["utc"]["params"]["restrict_to"] = {"key": "coarse", "categories": np.array(["1"])}
    adata.uns["utc"] |= {"n_clusters": 2, "stability": np.array([0.25, 0.75]), "tree": np.array([[0, 1, 0.5, 2.0]])}
    return adata


@pytest.mark.parametrize("color", ["utc", "utc_confidence", ["utc", "utc_confidence"]])
def test_embedding_leaves_cells_out_that_have_none(restricted, color):
    axes = np.ravel(np.array(scutc.pl.embedding(restricted, color=color, show=False), dtype=object))
    picture(axes)
    for ax in axes:
        places = np.ma.masked_invalid(ax.collections[0].get_offsets())
        assert np.count_nonzero(~places.mask.any(axis=1)) == 25
        assert np.isfinite([ax.get_xlim(), ax.get_ylim()]).all()


@pytest.mark.parametrize("name", ["affinity", "orders", "stability"])
def test_cells_without_an_embedding_and_their_clusters_are_left_out(restricted, name):
    colors = scutc._colors.label_colors(restricted, "utc", 3)
    axes = np.ravel(np.array(draw(name, restricted), dtype=object))
    picture(axes)
    assert all(ax.get_title().endswith("\n25 of 45 cells") for ax in axes)
    legend = axes[-1].get_legend()
    names = ["1,0 (0.25)", "1,1 (0.75)"] if name == "stability" else ["1,0", "1,1"]
    assert names_in_legend(axes[-1]) == names
    assert [dot.get_color() for dot in legend.get_lines()] == colors[1:]


def test_tree_is_of_the_cells_that_have_an_embedding(restricted):
    colors = scutc._colors.label_colors(restricted, "utc", 3)
    top, below = rows_of_tree(scutc.pl.tree(restricted, show=False))
    assert top == [(0.0, 1.0, colors[1])]
    assert sorted((round(width, 9), color) for _, width, color in below) == [(0.4, colors[2]), (0.6, colors[1])]


# affinity


def test_affinity_is_ordered_by_cluster_with_bars_as_long_as_the_clusters(adata):
    before, after = scutc.pl.affinity(adata, show=False)
    assert before.get_title() == "before: pairwise affinity of the data"
    assert after.get_title() == "after: cosine in the fused embedding"
    assert names_in_legend(after) == ["0", "1", "2"]
    colors = scutc._colors.label_colors(adata, "utc", 3)
    parts = list(zip(colors, [20 / 45, 15 / 45, 10 / 45], strict=True))
    for ax in (before, after):
        found = bars(ax)
        assert [color for color, _ in found] == [color for color, _ in parts] * 2  # left and top
        np.testing.assert_allclose([length for _, length in found], [length for _, length in parts] * 2)
        image = np.asarray(ax.images[0].get_array())
        assert image.shape == (45, 45)
        groups = np.repeat([0, 1, 2], [20, 15, 10])
        same = groups[:, None] == groups
        assert image[same].mean() > 10 * image[~same].mean()


def test_affinity_before_is_order_2_with_the_recorded_choices(adata):
    adata.layers["other"] = np.random.default_rng(0).random(adata.shape)
    scutc.tl.utc(adata, n_clusters=3, layer="other", metric="euclidean", n_neighbors=4, key_added="other")
    before, after = scutc.pl.affinity(adata, key="other", show=False)
    cells = np.argsort(adata.obs["other"].cat.codes, kind="stable")
    expected = pairwise_affinity(Geometry.of(adata.layers["other"][cells], "euclidean"), 4).toarray()
    np.testing.assert_allclose(before.images[0].get_array(), expected)
    points = adata.obsm["X_other"][cells]
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose(after.images[0].get_array(), np.clip(points @ points.T, 0, 1), atol=1e-12)


def test_affinity_of_large_data_shows_a_sample_and_says_so(adata):
    axes = scutc.pl.affinity(adata, max_cells=18, show=False)
    again = scutc.pl.affinity(adata, max_cells=18, show=False)
    for ax, same in zip(axes, again, strict=True):
        n_shown = len(ax.images[0].get_array())
        assert ax.get_title().endswith(f"\n{n_shown} of 45 cells")
        np.testing.assert_allclose([length * 45 for _, length in bars(ax)[:3]], [20, 15, 10], atol=3)
        np.testing.assert_array_equal(ax.images[0].get_array(), same.images[0].get_array())


def test_sample_has_all_clusters_in_proportion():
    labels = pd.Categorical(np.repeat(list("abcd"), [7000, 2990, 9, 1])[np.random.default_rng(0).permutation(10_000)])
    cells, note = scutc.pl._shared.sample_cells(labels, 100)
    sizes = np.bincount(labels.codes[cells])
    np.testing.assert_allclose(sizes, [70, 30, 1, 1], atol=1.5)
    assert sizes.min() == 1
    assert note == f"{len(cells)} of 10000 cells"
    assert len(np.unique(cells)) == len(cells)
    assert (np.diff(labels.codes[cells]) >= 0).all()


def test_sample_needs_a_positive_number(adata):
    with pytest.raises(ValueError, match="max_cells=0 is not a positive integer"):
        scutc.pl.affinity(adata, max_cells=0)


# orders


def test_orders_has_a_panel_with_the_agreement_of_each(adata):
    adata.uns["utc"]["agreement"] = {"2": 1.0, "3": 0.123, "4": -0.02}
    axes = scutc.pl.orders(adata, show=False)
    assert [ax.get_title() for ax in axes] == [
        "order 2\nagreement 1.00",
        "order 3\nagreement 0.12",
        "order 4\nagreement -0.02",
    ]
    assert [ax.get_legend() is None for ax in axes] == [True, True, False]
    colors = scutc._colors.label_colors(adata, "utc", 3)
    expected = [to_rgba(colors[code]) for code in adata.obs["utc"].cat.codes]
    for order, ax in zip((2, 3, 4), axes, strict=True):
        dots = ax.collections[0]
        np.testing.assert_allclose(dots.get_facecolors(), expected)
        alone = scutc.UTC(n_clusters=2, orders=(order,)).fit_transform(adata.X)
        np.testing.assert_allclose(dots.get_offsets(), alone)


def test_what_is_recorded_makes_the_same_estimator_again(adata, tmp_path):
    # None is not written, and keys of dictionaries come back as text.
    given = {"n_anchors": None, "n_pairs": 7, "weights": {3: 0.5}, "sharpness": 2.0, "orders": (2, 3)}
    scutc.tl.utc(adata, 3, **given)
    adata.write_h5ad(tmp_path / "a.h5ad")
    params = anndata.read_h5ad(tmp_path / "a.h5ad").uns["utc"]["params"]
    again = scutc.UTC(**recorded_parameters(params, scutc.UTC)).get_params()
    assert {name: tuple(again[name]) if name == "orders" else again[name] for name in given} == given
    expected = scutc.UTC(3, **given).fit_transform(adata.X)
    np.testing.assert_array_equal(scutc.UTC(**again).fit_transform(adata.X), expected)


def test_orders_shows_further_dimensions(adata):
    for ax in scutc.pl.orders(adata, dimensions=(2, 0), show=False):
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("dimension 3", "dimension 1")


def test_orders_says_the_agreement_with_the_chosen_number_of_clusters(adata):
    agreement = adata.uns["several"]["agreement"]
    for index, labels in enumerate(["several_4", "several_2"]):
        for order, ax in zip("234", scutc.pl.orders(adata, key="several", color=labels, show=False), strict=True):
            assert ax.get_title() == f"order {order}\nagreement {agreement[order][index]:.2f}"


def test_orders_says_no_agreement_with_other_labels_or_where_there_is_none(adata):
    for choice in ({"color": "group"}, {"key": "ascent"}):
        assert [ax.get_title() for ax in scutc.pl.orders(adata, **choice, show=False)] == [
            "order 2",
            "order 3",
            "order 4",
        ]


def test_orders_of_large_data_shows_a_sample_and_says_so(adata):
    for ax in scutc.pl.orders(adata, max_cells=30, show=False):
        n_shown = len(ax.collections[0].get_offsets())
        assert n_shown in (30, 31, 32)
        assert ax.get_title().endswith(f"\n{n_shown} of 45 cells")


def test_a_single_order_takes_a_single_axes(adata):
    scutc.tl.utc(adata, n_clusters=3, orders=(3,))
    (ax,) = scutc.pl.orders(adata, ax=plt.subplots()[1], show=False)
    assert ax.get_title().startswith("order 3")


# spectrum


def test_spectrum_marks_the_number_of_clusters_before_the_orders(adata):
    ax = scutc.pl.spectrum(adata, show=False)
    assert names_in_legend(ax) == ["order 2", "order 3", "order 4", "fused", "3 clusters"]
    *orders, fused, mark = ax.lines
    assert all(line.get_alpha() < 1 for line in orders)
    for line, values in zip([*orders, fused], [*map(adata.uns["utc"]["order_spectra"].get, "234"), None], strict=True):
        values = adata.uns["utc"]["spectrum"] if values is None else values
        np.testing.assert_array_equal(line.get_xdata(), np.arange(1, len(values) + 1))
        np.testing.assert_allclose(line.get_ydata(), values / values.max())
    # Three clusters lie along two directions: the mark is where the spectrum of three clear groups falls.
    falls = -np.diff(fused.get_ydata())
    assert set(mark.get_xdata()) == {2.5} == {fused.get_xdata()[np.argmax(falls)] + 0.5}


def test_spectrum_marks_all_numbers_of_clusters_with_one_entry_in_the_legend(adata):
    ax = scutc.pl.spectrum(adata, key="several", show=False)
    assert names_in_legend(ax) == ["order 2", "order 3", "order 4", "fused", "2 and 4 clusters"]
    assert [line.get_xdata()[0] for line in ax.lines[-2:]] == [1.5, 3.5]
    adata.uns["several"]["n_clusters"] = np.arange(20, 1, -1)
    ax = scutc.pl.spectrum(adata, key="several", show=False)
    assert names_in_legend(ax)[4:] == ["2 to 20 clusters\n(19 numbers)"]
    assert [line.get_xdata()[0] for line in ax.lines[4:]] == [number - 0.5 for number in range(2, 21)]


def test_spectrum_of_a_solver_that_iterates_is_the_objective_by_column(adata):
    ax = scutc.pl.spectrum(adata, key="ascent", show=False)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column of the embedding", "objective / largest")
    assert ax.get_ylim()[0] <= 0
    assert ax.get_ylim()[1] > 1  # so that the largest is not cut in half
    assert names_in_legend(ax) == ["order 2", "order 3", "order 4", "fused"]  # all columns are used: nothing to mark


# n_clusters


def numbers_tried(
    adata: AnnData, n_clusters: int, candidates: list[int], scores: list[float], spread: list[float], part: list[float]
) -> AnnData:
    """With a result that tried these numbers of clusters, and chose this one."""
    found = {"candidates": candidates, "scores": scores, "spread": spread, "reproduced": part}
    adata.uns["estimated"] |= {f"n_clusters_{name}": np.array(values) for name, values in found.items()}
    adata.uns["estimated"]["n_clusters"] = n_clusters
    return adata


def test_n_clusters_marks_the_choice_on_the_scores_with_their_spread(adata):
    scores, spread, part = [1.0, 3.0, 5.0, -1.0], [0.5, 0.25, 0.0, 2.0], [0.7, 0.8, 0.9, 0.1]
    ax = scutc.pl.n_clusters(numbers_tried(adata, 4, [2, 3, 4, 5], scores, spread, part), key="estimated", show=False)
    curve, mark, dot = ax.lines
    assert curve.get_xydata().tolist() == [[2, 1], [3, 3], [4, 5], [5, -1]]
    assert (set(mark.get_xdata()), mark.get_linestyle()) == ({4}, "--")
    assert (dot.get_xydata().tolist(), dot.get_marker()) == ([[4, 5]], "o")
    outline = pd.DataFrame(ax.collections[0].get_paths()[0].vertices).groupby(0)[1]
    assert outline.min().to_dict() == {2: 0.5, 3: 2.75, 4: 5.0, 5: -3.0}
    assert outline.max().to_dict() == {2: 1.5, 3: 3.25, 4: 5.0, 5: 1.0}
    assert ax.get_title() == "4 clusters"


def test_n_clusters_shows_what_comes_back_on_an_axis_from_0_to_1(adata):
    parts = {(0.5, 0.9): (0, 1), (-0.05, 1.02): (-0.05, 1.02)}  # less what is by chance, so it may be below 0
    for part, limits in parts.items():
        numbers_tried(adata, 2, [2, 3], [1.0, 0.0], [0.1, 0.1], list(part))
        ax = scutc.pl.n_clusters(adata, key="estimated", show=False)
        (back,) = set(ax.figure.axes) - {ax}
        assert back.lines[0].get_xydata().tolist() == [[2, part[0]], [3, part[1]]]
        assert back.get_ylim() == limits
        assert back.yaxis.get_label_position() == "right"
        assert back.get_zorder() < ax.get_zorder()  # so that it does not cover the score


def test_n_clusters_finds_the_groups(adata):
    ax = scutc.pl.n_clusters(adata, key="estimated", show=False)
    curve, mark, _ = ax.lines
    assert set(mark.get_xdata()) == {curve.get_xdata()[np.argmax(curve.get_ydata())]} == {3}


def test_n_clusters_marks_nothing_where_too_little_comes_back(adata):
    numbers_tried(adata, 1, [2, 3], [1.0, 0.5], [0.1, 0.1], [0.2, 0.1])
    ax = scutc.pl.n_clusters(adata, key="estimated", show=False)
    assert len(ax.lines) == 1
    assert ax.get_title() == "one cluster: too little comes back"


def test_n_clusters_of_a_handful_of_cells(adata):
    few = adata[:4].copy()
    scutc.tl.utc(few, key_added="few")
    ax = scutc.pl.n_clusters(few, key="few", show=False)
    picture(ax)
    assert ax.lines[-1].get_xydata().tolist() == [[1, 0]]
    assert ax.get_title() == "one cluster: no other number was tried"


@pytest.mark.parametrize("candidates", [range(1, 2), range(2, 6), range(2, 21)])
def test_n_clusters_has_ticks_at_whole_numbers(adata, candidates):
    zeros = [0.0] * len(candidates)
    ax = scutc.pl.n_clusters(numbers_tried(adata, 1, candidates, zeros, zeros, zeros), key="estimated", show=False)
    low, high = ax.get_xlim()
    ticks = [tick for tick in ax.get_xticks() if low < tick < high]
    assert set(ticks) & set(candidates) == set(ticks) != set()


@pytest.mark.parametrize("key", ["utc", "several"])
def test_n_clusters_that_were_given_are_an_error(adata, key):
    with pytest.raises(ValueError, match=rf"'{key}' has no scores .*'given'.*scutc\.tl\.utc with n_clusters=None"):
        scutc.pl.n_clusters(adata, key=key)


# stability


def votes_of_six(adata: AnnData) -> AnnData:
    """Six cells of the clusters 1, 0, 1, 0, 2 and 0, and four views, of which two did not look at the last cell."""
    six = adata[:6].copy()
    six.obs["utc"] = pd.Categorical(list("101020"))
    views = [[1, 0, 1, 0, 2, 0], [0, 1, 0, 1, 1, 1], [2, 0, 1, 0, 2, -1], [0, 2, 0, 1, 1, -1]]
    six.obsm["utc_votes"] = np.array(views, dtype=np.int32).T
    return six


def test_stability_is_how_often_two_cells_are_together_ordered_by_cluster(adata):
    ax = scutc.pl.stability(votes_of_six(adata), show=False)
    # Cells 1 and 3, then 0 and 2, then 4: the order that they have within a cluster stays.
    expected = [
        [1.0, 0.75, 0.0, 0.0, 0.25],
        [0.75, 1.0, 0.0, 0.0, 0.5],
        [0.0, 0.0, 1.0, 0.75, 0.25],
        [0.0, 0.0, 0.75, 1.0, 0.0],
        [0.25, 0.5, 0.25, 0.0, 1.0],
    ]
    np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.get_title() == "how often two cells are together\n5 of 6 cells"
    (scale,) = set(ax.figure.axes) - {ax}
    assert scale.get_xlabel() == "share of 4 views"
    np.testing.assert_allclose([length for _, length in bars(ax)], [0.4, 0.4, 0.2] * 2)  # left and top
    assert [color for color, _ in bars(ax)] == scutc._colors.label_colors(adata, "utc", 3) * 2


def test_stability_of_clear_groups_is_squares_on_the_diagonal(adata):
    ax = scutc.pl.stability(adata, show=False)
    groups = np.repeat([0, 1, 2], [20, 15, 10])
    np.testing.assert_allclose(ax.images[0].get_array(), groups[:, None] == groups, atol=0.2)
    assert ax.get_title() == "how often two cells are together"


def test_stability_of_large_data_shows_a_sample_and_says_so(adata):
    images = []
    for _ in range(2):
        ax = scutc.pl.stability(adata, max_cells=18, show=False)
        images.append(ax.images[0].get_array())
        assert len(images[-1]) < 22
        assert ax.get_title().endswith(f"\n{len(images[-1])} of 45 cells")
        np.testing.assert_allclose([length * 45 for _, length in bars(ax)[:3]], [20, 15, 10], atol=3)
    np.testing.assert_array_equal(*images)
    with pytest.raises(ValueError, match="max_cells=0 is not a positive integer"):
        scutc.pl.stability(adata, max_cells=0)


def test_stability_of_each_cluster_is_in_the_legend(adata):
    adata.uns["utc"]["stability"] = np.array([0.974, 0.5, np.nan])
    ax = scutc.pl.stability(adata, show=False)
    assert names_in_legend(ax) == ["0 (0.97)", "1 (0.50)", "2"]
    assert ax.get_legend().get_title().get_text() == "cluster (stability)"


def test_stability_of_some_clusters_only_is_still_their_own(adata):
    adata.uns["utc"]["stability"] = np.array([0.1, 0.2, 0.3])
    some = adata[adata.obs["utc"] != "1"].copy()
    assert names_in_legend(scutc.pl.stability(some, show=False)) == ["0 (0.10)", "2 (0.30)"]
    adata.obs["utc"] = adata.obs["utc"].cat.rename_categories(["B", "T", "NK"])
    ax = scutc.pl.stability(adata, show=False)
    assert names_in_legend(ax) == ["B", "T", "NK"]
    assert ax.get_legend().get_title().get_text() == ""  # which promises no stability


def test_stability_leaves_cells_out_that_not_all_views_looked_at(adata):
    adata.obsm["utc_votes"][adata.obs["utc"] == "1", 0] = -1
    ax = scutc.pl.stability(adata, show=False)
    np.testing.assert_allclose([length for _, length in bars(ax)], [2 / 3, 0, 1 / 3] * 2)
    assert len(names_in_legend(ax)) == 3


def test_stability_of_several_numbers_of_clusters_asks_for_a_choice(adata):
    with pytest.raises(ValueError, match=r"several clusterings: choose one with color=\. Valid: 'several_4', 'sev"):
        scutc.pl.stability(adata, key="several")
    adata.uns["several"]["stability"] = {"4": np.array([0.1, 0.2, 0.3, 0.4]), "2": np.array([0.5, 0.6])}
    adata.obsm["several_2_votes"] = np.zeros((45, 1), dtype=np.int32)
    ax = scutc.pl.stability(adata, key="several", color="several_2", show=False)
    assert names_in_legend(ax) == ["0 (0.50)", "1 (0.60)"]
    assert np.all(ax.images[0].get_array() == 1)
    assert ax.images[0].get_clim() == (0, 1)
    ax = scutc.pl.stability(adata, key="several", color="several_4", show=False)
    assert names_in_legend(ax) == ["0 (0.10)", "1 (0.20)", "2 (0.30)", "3 (0.40)"]


@pytest.mark.parametrize("color", ["group", "foo", "several_2"])
def test_stability_is_only_known_of_clusterings_of_the_result(adata, color):
    with pytest.raises(KeyError, match=rf"color='{color}' is no clustering of key='utc'\. Valid: 'utc'\."):
        scutc.pl.stability(adata, color=color)


def test_stability_without_votes_is_an_error(adata):
    del adata.obsm["utc_votes"]
    with pytest.raises(KeyError, match=r"adata\.obsm\['utc_votes'\].* is missing: run scutc\.tl\.utc again"):
        scutc.pl.stability(adata)
    new = make_groups(seed=1)
    scutc.tl.transfer(new, adata)
    with pytest.raises(KeyError, match=r"'utc' was transferred to these cells: use .* the reference"):
        scutc.pl.stability(new)


# convergence


def test_convergence_shows_the_objective_and_the_solution_that_was_taken(adata):
    ax = scutc.pl.convergence(adata, key="ascent", show=False)
    curve, dot = ax.lines
    result = adata.uns["ascent"]
    np.testing.assert_array_equal(curve.get_ydata(), result["objective_history"])
    assert dot.get_ydata().tolist() == [result["objective_history"].max()]
    assert ax.get_title() == f"ascent: converged after {result['n_iter']} iterations"
    adata.uns["ascent"]["converged"] = False
    assert "not converged" in scutc.pl.convergence(adata, key="ascent", show=False).get_title()


def test_convergence_of_the_spectral_solver_is_an_error(adata):
    with pytest.raises(ValueError, match="solver='spectral', which does not iterate"):
        scutc.pl.convergence(adata)


# confusion


def test_confusion_has_a_full_diagonal_and_five_scores(adata):
    ax = scutc.pl.confusion(adata, "group", show=False)
    np.testing.assert_array_equal(counts_in(ax), np.diag([20, 15, 10]))
    np.testing.assert_array_equal(ax.images[0].get_array(), np.eye(3))
    assert ax.get_title() == "ACC 1.00  ARI 1.00  F-score 1.00\nNMI 1.00  purity 1.00"
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("group", "utc")


def crossed(counts: pd.DataFrame) -> AnnData:
    """Cells of which so many are of each cluster in ``utc``, the rows, and each class in ``truth``, the columns."""
    cells = [(row, column) for row in counts.index for column in counts for _ in range(counts.loc[row, column])]
    names = [f"cell {i}" for i in range(len(cells))]
    obs = pd.DataFrame(cells, columns=["utc", "truth"], index=names, dtype="category")
    return AnnData(np.zeros((len(cells), 1)), obs=obs)


def test_confusion_has_the_clusters_of_a_split_class_side_by_side():
    table = [[0, 0, 9], [8, 0, 0], [0, 7, 1], [1, 0, 6], [5, 0, 0], [0, 0, 4]]
    counts = pd.DataFrame(table, index=list("012345"), columns=list("abc"))
    ax = scutc.pl.confusion(crossed(counts), "truth", show=False)
    assert tick_labels(ax.xaxis) == ["c", "a", "b"]
    assert tick_labels(ax.yaxis) == ["0", "3", "5", "1", "4", "2"]
    np.testing.assert_array_equal(counts_in(ax), counts.loc[list("035142"), list("cab")])


def test_confusion_has_the_classes_of_a_cluster_side_by_side():
    counts = pd.DataFrame([[1, 0, 8, 0], [0, 2, 0, 6], [0, 7, 0, 0]], index=list("012"), columns=list("wxyz"))
    adata = crossed(counts)
    ax = scutc.pl.confusion(adata, "truth", show=False)
    assert tick_labels(ax.yaxis) == ["0", "1", "2"]
    assert tick_labels(ax.xaxis) == ["y", "w", "z", "x"]  # w has no cluster, and is beside the class that hides it
    np.testing.assert_array_equal(counts_in(ax), counts[list("ywzx")])
    np.testing.assert_allclose(np.sum(ax.images[0].get_array(), axis=1), 1)
    assert len(ax.texts) == 5
    swapped = scutc.pl.confusion(adata, "utc", key="truth", show=False)
    assert tick_labels(swapped.yaxis) == ["x", "y", "w", "z"]
    assert tick_labels(swapped.xaxis) == ["2", "0", "1"]


def test_confusion_has_a_scale_of_colors(adata):
    ax = scutc.pl.confusion(adata, "group", show=False)
    (scale,) = set(ax.figure.axes) - {ax}
    assert scale.get_ylabel() == "share of cluster"
    assert scale.get_ylim() == (0, 1)


LONG = "effector memory CD8-positive, alpha-beta T cell, terminally differentiated"


@pytest.mark.parametrize("names", [["a", "b", "c"], [f"{LONG} {i}" for i in range(3)]])
def test_confusion_leaves_the_table_its_size_whatever_the_names(adata, names):
    for column in ("utc", "group"):
        adata.obs[column] = adata.obs[column].cat.rename_categories(names)
    ax = scutc.pl.confusion(adata, "group", show=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of matplotlib, where there is no room
        picture(ax)
    width, height = ax.get_window_extent().size / ax.figure.dpi
    np.testing.assert_allclose([width, height], [2.8, 1.5], rtol=0.1)
    assert is_all_in_the_figure(ax)


@pytest.mark.parametrize(("column", "kind"), [("depth", "float64"), ("number", "int64"), ("barcode", "object|str")])
def test_columns_that_hold_no_classes_are_refused(column, kind):
    adata = make_groups((60, 60))
    adata.obs["number"] = np.arange(120)
    adata.obs["depth"] = np.repeat([1.5, 2.5], 60)
    adata.obs["barcode"] = adata.obs_names
    scutc.tl.utc(adata, 2)
    for name, draws in (("reference", partial(scutc.pl.confusion, adata, column)),
                        ("key", partial(scutc.pl.confusion, adata, "utc", key=column)),
                        ("color", partial(scutc.pl.orders, adata, color=column)),
                        ("color", partial(scutc.pl.affinity, adata, color=column))):  # fmt: skip
        with pytest.raises(ValueError, match=rf"{name}='{column}' has \d+ different values, ({kind}): choose a column"):
            draws()
    adata.obs["depth"] = adata.obs["depth"].astype("category")
    assert counts_in(scutc.pl.confusion(adata, "depth", show=False)).sum() == 120


def test_confusion_leaves_cells_without_a_label_out_and_says_so(adata):
    adata.obs["partial"] = adata.obs["group"].where(adata.obs["group"] != "2").astype("category")
    ax = scutc.pl.confusion(adata, "partial", show=False)
    np.testing.assert_array_equal(counts_in(ax), np.diag([20, 15]))
    assert tick_labels(ax.yaxis) == ["0", "1"]
    assert ax.get_title().endswith("\n10 of 45 cells without a label left out")
    adata.obs["none"] = pd.Categorical([None] * adata.n_obs)
    with pytest.raises(ValueError, match="nothing to compare"):
        scutc.pl.confusion(adata, "none")


def test_confusion_takes_the_clusters_of_any_column(adata):
    ax = scutc.pl.confusion(adata, "utc", key="several_2", show=False)
    assert counts_in(ax).shape == (2, 3)


def test_confusion_names_the_columns_there_are(adata):
    with pytest.raises(KeyError, match=r"key='foo'.*Valid: .*'utc'.*scutc\.tl\.utc"):
        scutc.pl.confusion(adata, "group", key="foo")
    with pytest.raises(KeyError, match=r"reference='foo'.*Valid: .*'group'"):
        scutc.pl.confusion(adata, "foo")


# genes


@pytest.mark.parametrize("n_names", [10, 40])
def test_genes_are_named_beside_the_dots_without_overlap(of_genes, n_names):
    ax = scutc.pl.genes(of_genes, n_names=n_names, show=False)
    picture(ax)
    assert is_all_in_the_figure(ax)
    names = [plt.Text.get_window_extent(text) for text in ax.texts]
    assert len(names) == n_names
    assert all(name.x0 > ax.get_window_extent().x1 for name in names)
    assert all(below.y1 <= above.y0 + 1 for above, below in pairwise(names))


# tree


def rows_of_tree(ax):
    """For each row, from the top, the places, widths and colours of its clusters."""
    rows = {}
    for patch in ax.patches:
        height = round(patch.get_y() + patch.get_height() / 2)
        rows.setdefault(height, []).append((patch.get_x(), patch.get_width(), to_hex(patch.get_facecolor())))
    return [sorted(rows[height]) for height in sorted(rows, reverse=True)]


def test_tree_has_every_cluster_below_the_one_that_it_is_part_of():
    adata = make_groups((40, 30, 20, 10))
    scutc.tl.utc(adata, [2, 4, 7])
    ax = scutc.pl.tree(adata, show=False)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["2", "4", "7"]
    rows = rows_of_tree(ax)
    for row, number in zip(rows, (2, 4, 7), strict=True):
        sizes = adata.obs[f"utc_{number}"].value_counts().to_numpy() / adata.n_obs
        np.testing.assert_allclose(sorted(width for _, width, _ in row), sorted(sizes))
        assert {color for *_, color in row} == set(adata.uns[f"utc_{number}_colors"])
        # Side by side, from 0 to 1.
        ends = np.cumsum([width for _, width, _ in row])
        np.testing.assert_allclose([start for start, *_ in row], np.append(0, ends[:-1]), atol=1e-12)
    for coarse, fine in pairwise(rows):
        edges = {round(start, 9) for start, *_ in fine}
        assert {round(start, 9) for start, *_ in coarse} <= edges


def test_tree_of_one_number_shows_all_up_to_it():
    adata = make_groups((40, 30, 20, 10))
    scutc.tl.utc(adata, 4)
    assert [len(row) for row in rows_of_tree(scutc.pl.tree(adata, show=False))] == [1, 2, 3, 4]
    assert [len(row) for row in rows_of_tree(scutc.pl.tree(adata, numbers=[3, 2], show=False))] == [2, 3]
    names = {text.get_text() for text in scutc.pl.tree(adata, numbers=[4], show=False).texts}
    assert names == {"0", "1", "2", "3"}


def test_tree_has_the_colors_that_other_plots_show():
    adata = make_groups((40, 30, 20, 10))
    scutc.tl.utc(adata, [2, 4, 7])
    for numbers in (None, [2], [2, 7]):
        for row, number in zip(
            rows_of_tree(scutc.pl.tree(adata, numbers=numbers, show=False)), numbers or [2, 4, 7], strict=True
        ):
            sizes = adata.obs[f"utc_{number}"].value_counts(sort=False) / adata.n_obs
            expected = zip(sizes.round(9), adata.uns[f"utc_{number}_colors"], strict=True)
            assert sorted((round(width, 9), color) for _, width, color in row) == sorted(expected)
    adata.uns["utc_2_colors"] = ["#123456", "#654321"]
    assert {color for *_, color in rows_of_tree(scutc.pl.tree(adata, show=False))[0]} == {"#123456", "#654321"}


@pytest.mark.parametrize("plot", ["affinity", "orders", "stability", "embedding", "confusion"])
def test_nested_clusters_have_the_same_colors_in_all_plots(adata, plot):
    adata.uns["several_2_colors"], column = ["#123456", "#654321"], "several_2"
    if plot == "confusion":
        ax = scutc.pl.confusion(adata, "group", key=column, show=False)
        assert {color for color, _ in bars(ax)} == {"#123456", "#654321"}
        return
    axes = np.ravel(np.array(draw(plot, adata, key="several", color=column), dtype=object))
    handles = axes[-1].get_legend().legend_handles
    colors = [h.get_color() if hasattr(h, "get_color") else h.get_facecolor()[0] for h in handles]
    assert list(map(to_hex, colors)) == ["#123456", "#654321"]


def test_tree_names_clusters_as_far_as_there_is_room():
    adata = make_groups((40, 30, 20, 10))
    scutc.tl.utc(adata, 4)
    named = [len(scutc.pl.tree(adata, numbers=[4], figsize=(width, 2), show=False).texts) for width in (6, 1.2)]
    assert named == [4, 3]


def names_in(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def test_tree_has_the_names_that_clusters_were_given():
    adata = make_groups((40, 30, 20))
    scutc.tl.utc(adata, [2, 3])
    adata.obs["utc_3"] = adata.obs["utc_3"].cat.rename_categories(["B", "T", "NK"])
    assert sorted(names_in(scutc.pl.tree(adata, show=False))) == ["0", "1", "B", "NK", "T"]
    adata.obs["utc_3"] = adata.obs["utc_3"].cat.reorder_categories(["NK", "T", "B"])
    with pytest.raises(ValueError, match="no longer the 3 clusters"):
        scutc.pl.tree(adata, show=False)


def test_tree_of_parts_of_a_cluster_has_their_names():
    adata = make_groups((40, 30, 20))
    adata.obs["known"] = np.where(adata.obs["group"] == "2", "rest", "most")
    scutc.tl.utc(adata, 2, restrict_to=("known", ["most"]))
    assert names_in(scutc.pl.tree(adata, key="utc_R", numbers=[2], show=False)) == ["most,0", "most,1"]


@pytest.mark.parametrize("points", [10, 16])
def test_tree_of_few_numbers_is_as_high_as_the_name_of_its_axis(points):
    adata = make_groups()
    scutc.tl.utc(adata, 3)
    with plt.rc_context({"font.size": points}):
        ax = scutc.pl.tree(adata, numbers=[3], show=False)
        picture(ax)
    assert ax.yaxis.label.get_window_extent().height < ax.figure.bbox.height
    assert is_all_in_the_figure(ax)


def test_tree_says_what_it_cannot_show():
    adata = make_groups()
    scutc.tl.utc(adata, 3)
    for numbers in ([4], [0], [], [1.5]):
        with pytest.raises(ValueError, match="from 1 to 3"):
            scutc.pl.tree(adata, numbers=numbers, show=False)
    with pytest.raises(ValueError, match="no longer the 3 clusters"):
        scutc.pl.tree(adata[adata.obs["utc"] != "2"].copy(), show=False)
    scutc.tl.utc(adata, 1)
    with pytest.raises(KeyError, match="has no tree"):
        scutc.pl.tree(adata, show=False)
