"""Figures on README and pages are those of benchmarks/results."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIGURES = runpy.run_path(str(ROOT / "docs" / "figures.py"))
PAGES, NOTEBOOKS = FIGURES["PAGES"], FIGURES["NOTEBOOKS"]
# Numbers of which nobody would ask how they were measured: versions, identifiers, settings, and what others say.
GIVEN = re.compile(
    r"Python 3\.\d+(,\s3\.\d+)*\s(or|and)\s3\.\d+|(pynndescent|scikit-learn|docutils) \d\.\d+"
    r"|(doi|arXiv):[\d./\w-]+"
    r"|from 0\.05 to 0\.001|cluster of 2 % of|Above 0\.75 a cluster|below 0\.5 dissolved|group, 0\.2 % of"
    r"|lost 30 % of|3\.3 million|0\.05 for all|difference of 0\.01"
)


def untraced(text: str) -> list[str]:
    """Decimals, percentages and counts such as 19 of 20 in what readers see, without those whose origin is given."""
    text = FIGURES["TRACED"].sub("", text)
    for left_out in (r"```.*?```", r"<!--.*?-->", r"`[^`]*`", r"\$[^$\n]*\$", r"\]\([^)]*\)", r"</?[a-zA-Z][^>\n]*>"):
        text = re.sub(left_out, " ", text, flags=re.DOTALL)
    figure = r"(?<![\d.\w])(?:\d*\.\d+|\d+ (?:out )?of \d+|\d+ ?%)(?![\d.]*\.\d)"
    return re.findall(figure, GIVEN.sub(" ", text))


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_figures_are_those_of_the_results(page):
    text = page.read_text()
    assert FIGURES["refresh"](text) == text, "run: python docs/figures.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_says_where_it_is_from(page):
    assert untraced(page.read_text()) == []


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=lambda page: page.name)
def test_every_trace_follows_its_figure(page):
    text = page.read_text()
    assert re.findall(r"<!--[^>]*; [^>]*-->", FIGURES["TRACED"].sub("", text)) == []


TABLES = """\
# Page

## Means

| what | who | value | lead |
| --- | --- | --- | --- |
| tasks | UTC, n_jobs=None | 0.684 | +0.105 ± 0.021 |
| tasks | Leiden | -0.0004 | -0.1 ± 0.02 |
| both | Leiden | – | 0.80 / 0.60 |
| both | Leiden | 1 | 2 |

UTC is ahead of Leiden.

## Silence
"""


@pytest.mark.usefixtures("page_of_results")
def test_words_are_those_of_the_results():
    page = "<!-- page says: {} -->\n{}\n<!-- end --> and 0.5"
    assert FIGURES["refresh"](page.format("Means", "UTC is far ahead.")) == page.format(
        "Means", "UTC is ahead of Leiden."
    )
    with pytest.raises(LookupError, match="0 times under “Silence”"):
        FIGURES["refresh"](page.format("Silence", "UTC is far ahead."))


@pytest.fixture
def page_of_results(tmp_path, monkeypatch):
    (tmp_path / "page.md").write_text(TABLES)
    monkeypatch.setitem(FIGURES["tables"].__wrapped__.__globals__, "RESULTS", tmp_path)


@pytest.mark.usefixtures("page_of_results")
@pytest.mark.parametrize(
    ("stale", "row", "column", "fresh"),
    [
        ("0.9", "tasks, UTC, n_jobs=None", "value", "0.7"),
        ("9.99", "tasks, UTC, n_jobs=None", "value", "0.68"),
        ("+9.9 ± 9.99", "tasks, UTC, n_jobs=None", "lead", "+0.1 ± 0.02"),
        ("+9.99 ± 9.99", "tasks, Leiden", "lead", "−0.10 ± 0.02"),
        ("−9.99", "tasks, UTC, n_jobs=None", "value", "0.68"),
        ("9.99", "tasks, Leiden", "value", "0.00"),
    ],
)
def test_a_stale_figure_is_replaced_in_its_own_precision(stale, row, column, fresh):
    trace = f"<!-- page: Means; {row}; {column} -->"
    assert FIGURES["refresh"](f"It has {stale}{trace}.") == f"It has {fresh}{trace}."


@pytest.mark.usefixtures("page_of_results")
@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("No such heading; tasks, Leiden; value", "0 cells"),
        ("Means; CAN; value", "0 cells"),
        ("Means; tasks, Leiden; no such column", "0 cells"),
        ("Means; both, Leiden; value", "2 cells"),
    ],
)
def test_a_figure_from_nowhere_or_from_two_places_is_an_error(place, words):
    with pytest.raises(LookupError, match=words):
        FIGURES["refresh"](f"0.5<!-- page: {place} -->")


@pytest.mark.parametrize("cell", ["–", "0.80 / 0.60", "1e-3", ""])
def test_a_cell_without_a_figure_is_an_error(cell):
    with pytest.raises(LookupError, match="is no figure"):
        FIGURES["_as_precise"](cell, "0.5")


def test_an_error_that_is_not_there_is_an_error():
    with pytest.raises(LookupError, match="has no error"):
        FIGURES["_as_precise"]("0.684", "0.68 ± 0.02")


def test_figures_without_origin_are_noticed():
    text = "0.71, .71, 19 of 20, 19 out of 20, 40 %, 40%; numpy < 2, `0.5`, scutc 0.2.0, [a](b0.5), doi:10.1/2.3 > 1."
    assert untraced(text) == ["0.71", ".71", "19 of 20", "19 out of 20", "40 %", "40%"]
