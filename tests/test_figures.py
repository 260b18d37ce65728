"""Figures on README and pages are those of benchmarks/results."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FIGURES = runpy.run_path(str(ROOT / "docs" / "figures.py"))
PAGES = FIGURES["PAGES"]
# Numbers of which nobody would ask how they were measured: versions of Python, and definitions.
GIVEN = re.compile(r"Python 3\.\d+(,\s3\.\d+)*\s(or|and)\s3\.\d+|(doi|arXiv):[\d./\w-]+")


def untraced(text: str) -> list[str]:
    """Decimals, percentages and counts such as 19 of 20 in what readers see, without those whose origin is given."""
    text = FIGURES["TRACED"].sub("", text)
    for left_out in (r"```.*?```", r"\$\$.*?\$\$", r"<!--.*?-->", r"`[^`]*`", r"\$[^$]*\$", r"\]\([^)]*\)", r"<[^>]*>"):
        text = re.sub(left_out, " ", text, flags=re.DOTALL)
    return re.findall(r"(?<![\d.\w])(?:\d+\.\d+|\d+ of \d+|\d+ %)(?![\d.]*\.\d)", GIVEN.sub(" ", text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_figures_are_those_of_the_results(page):
    text = page.read_text()
    assert FIGURES["refresh"](text) == text, "run: python docs/figures.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_figure_says_where_it_is_from(page):
    assert untraced(page.read_text()) == []


def test_a_stale_figure_is_replaced_in_its_own_precision():
    place = ("How many, and how sure?", "mean ARI, k given", "mean, standard error")
    trace = f"<!-- halves: {'; '.join(place)} -->"
    value, error = re.findall(r"\d\.\d+", FIGURES["cell"]("halves", *place))
    stale = f"9.99{trace} and 9.9 ± 9.999{trace}"
    expected = f"{float(value):.2f}{trace} and {float(value):.1f} ± {float(error):.3f}{trace}"
    assert FIGURES["refresh"](stale) == expected


def test_a_figure_from_nowhere_is_an_error():
    with pytest.raises(LookupError, match=r"halves\.md has 0 cells"):
        FIGURES["refresh"]("0.5<!-- halves: No such heading; no row; no column -->")


def test_figures_without_origin_are_noticed():
    text = "An ARI of 0.71, 19 of 20 and 40 %; with `0.5`, scutc 0.2.0 on Python 3.11, 3.12 or 3.13, [a](b0.5)."
    assert untraced(text) == ["0.71", "19 of 20", "40 %"]
