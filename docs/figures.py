"""Figures on the pages, read from ``benchmarks/results``, so that none is stale: ``python docs/figures.py``.

A figure is followed by a comment that readers do not see and that says where it stands:
``0.68<!-- quality: Tasks; UTC; mean ARI -->`` is in results/quality.md, under the heading "Tasks", in the row of UTC
and the column "mean ARI". Where rows have names in two columns both are given, ``unequal, UTC``. Run after measuring
this writes what the results say in place of what the pages say, in as many decimals. A test sees to it that nothing is
left to write, and that no page has a figure without such a comment.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

NUMBER = r"[+−-]?\d+(?:\.\d+)?"
TRACED = re.compile(rf"(?P<figure>{NUMBER}(?: ± {NUMBER})?)<!-- (?P<file>\w+): (?P<place>[^>]+?) -->")


def refresh(text: str) -> str:
    """The same page with the figures that the results have now."""

    def current(match: re.Match[str]) -> str:
        figure, file, place = match["figure"], match["file"], match["place"]
        return match[0].replace(figure, _as_precise(cell(file, *place.split("; ")), figure), 1)

    return TRACED.sub(current, text)


def cell(file: str, heading: str, row: str, column: str) -> str:
    """What a results page says under a heading, in a row and a column."""
    found = [
        line[header.index(column)]
        for header, *lines in tables(file).get(heading, [])
        if column in header
        for line in lines
        if line[: len(row.split(", "))] == row.split(", ") or line[0] == row
    ]
    if len(found) != 1:
        msg = f"{file}.md has {len(found)} cells under “{heading}”, in the row “{row}” and the column “{column}”."
        raise LookupError(msg)
    return found[0]


@cache
def tables(file: str) -> dict[str, list[list[list[str]]]]:
    """The tables of a results page by their headings, each a list of rows, the first of them the names of columns."""
    found: dict[str, list[list[list[str]]]] = {}
    heading, inside = "", False
    for line in (RESULTS / f"{file}.md").read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        row = [part.strip() for part in line.strip("|").split("|")]
        if not line.startswith("|"):
            inside = False
        elif not inside:
            found.setdefault(heading, []).append([row])
            inside = True
        elif not set(line) <= set("| -:"):
            found[heading][-1].append(row)
    return found


def _as_precise(value: str, figure: str) -> str:
    """The numbers of a cell in as many decimals as the figure on the page has, and signed if it is."""
    numbers = iter(re.findall(NUMBER, value))

    def rounded(match: re.Match[str]) -> str:
        number = float(next(numbers).replace("−", "-"))
        decimals = len(match[0].partition(".")[2])
        sign = "+" if match[0].startswith(("+", "−")) else ""
        return f"{number:{sign}.{decimals}f}".replace("-", "−")

    return re.sub(NUMBER, rounded, figure)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(refresh(page.read_text()))
