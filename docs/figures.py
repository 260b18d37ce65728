"""Figures on the pages, read from ``benchmarks/results``, so that none is stale: ``python docs/figures.py``.

A figure is followed by a comment that readers do not see and that says where it stands:
``0.68<!-- quality: Tasks; UTC; mean ARI -->`` is in results/quality.md, under the heading "Tasks", in the row of UTC
and the column "mean ARI". Where rows have names in two columns both are given, ``unequal, UTC``. A line between
``<!-- quality says: Tasks -->`` and ``<!-- end -->`` is the one in words under that heading. Run after measuring this
writes what the results say in place of what the pages say, in as many decimals. A test sees to it that nothing is
left to write, and that no page has a figure without such a comment; in notebooks it may be of their own cells.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
# Most of their figures are of their own cells, but some are copied from the results.
NOTEBOOKS = sorted((ROOT / "tutorials").glob("*.ipynb"))

NUMBER = r"[+−-]?\d+(?:\.\d+)?"
TRACED = re.compile(rf"(?P<figure>{NUMBER}(?: ± {NUMBER})?)<!-- (?P<file>\w+): (?P<place>[^>]+?) -->")

SAID = re.compile(r"(?P<open><!-- (?P<file>\w+) says: (?P<heading>[^>]+?) -->\n)(?P<words>.*)(?P<close>\n<!-- end -->)")


def refresh(text: str) -> str:
    """The same page with the figures that the results have now."""

    def current(match: re.Match[str]) -> str:
        figure, file, place = match["figure"], match["file"], match["place"]
        return match[0].replace(figure, _as_precise(cell(file, *place.split("; ")), figure), 1)

    text = SAID.sub(lambda match: match["open"] + sentence(match["file"], match["heading"]) + match["close"], text)
    return TRACED.sub(current, text)


def sentence(file: str, heading: str) -> str:
    """What a results page says in words under a heading: whom UTC is ahead of, level with and behind."""
    part = (RESULTS / f"{file}.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = [line for line in part.splitlines() if line.startswith("UTC is ")]
    if len(found) != 1:
        msg = f"{file}.md says {len(found)} times under “{heading}” whom UTC is ahead of."
        raise LookupError(msg)
    return found[0]


def cell(file: str, heading: str, row: str, column: str) -> str:
    """What a results page says under a heading, in a row and a column."""
    found = [
        line[header.index(column)]
        for header, *lines in tables(file).get(heading, [])
        if column in header
        for line in lines
        # A row may be named by several of its cells.
        if any(", ".join(line[:n_cells]) == row for n_cells in range(1, len(line)))
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
    """A cell's number, and its error if the page gives one, in as many decimals as the page has them."""
    if not re.fullmatch(rf"{NUMBER}( ± {NUMBER})?", value):
        msg = f"A cell that says “{value}” is no figure."
        raise LookupError(msg)
    numbers = [float(number.replace("−", "-")) for number in re.findall(NUMBER, value)]
    shown = re.findall(NUMBER, figure)
    if len(shown) > len(numbers):
        msg = f"A cell that says “{value}” has no error."
        raise LookupError(msg)
    sign = "+" if value.startswith("+") or (figure.startswith("+") and numbers[0] >= 0) else ""
    parts = [f"{number:z.{len(old.partition('.')[2])}f}" for number, old in zip(numbers, shown, strict=False)]
    return (sign + " ± ".join(parts)).replace("-", "−")


if __name__ == "__main__":
    for page in [*PAGES, *NOTEBOOKS]:
        page.write_text(refresh(page.read_text()))
