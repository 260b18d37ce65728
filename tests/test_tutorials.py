from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

import scutc
from run_tutorials import FOLDER, run_tutorial

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell):
    """What a cell printed or showed, as text."""
    for output in cell.outputs:
        yield output.get("text", "")
        yield from (str(value) for kind, value in output.get("data", {}).items() if kind.startswith("text/"))


def kinds_of_output(cell):
    """Pictures, tables, text: what a cell yields, whatever it says."""
    return [output.get("name") or sorted(output.get("data", {})) for output in cell.outputs]


def warnings_of(cell):
    return "".join(output.text for output in cell.outputs if output.get("name") == "stderr")


def test_tutorials_are_numbered_in_order():
    assert [path.name.split("_")[0] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5"]


@each_notebook
def test_tutorial_runs_and_yields_what_is_saved(path, tmp_path):
    new, saved = code_cells(run_tutorial(path, str(tmp_path))), code_cells(nbformat.read(path, as_version=4))
    assert [cell.execution_count for cell in new] == [cell.execution_count for cell in saved]
    for number, (cell, kept) in enumerate(zip(new, saved, strict=True), start=1):
        # Other packages may begin to warn; scutc and the tutorials themselves may not.
        ours = [line for line in warnings_of(cell).splitlines() if is_about_us(line)]
        assert not ours, f"cell {number}: {ours}"
        shown = [kind for kind in kinds_of_output(cell) if kind != "stderr"]
        assert shown == kinds_of_output(kept), f"cell {number}"
    assert not list(tmp_path.iterdir()), "files are left behind"


def is_about_us(line):
    """Whether a line of a warning points to scutc's files or to a cell of the notebook."""
    return str(Path(scutc.__file__).parent) in line or "ipykernel_" in line


@each_notebook
def test_tutorial_was_saved_after_a_run_from_start_to_finish(path):
    cells = code_cells(nbformat.read(path, as_version=4))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert all(output.get("execution_count") in {None, cell.execution_count} for output in cell.outputs)
        assert not any(output.output_type == "error" for output in cell.outputs)
        assert not warnings_of(cell)


@each_notebook
def test_saved_tutorial_is_clean(path):
    notebook = nbformat.read(path, as_version=4)
    assert set(notebook.metadata) == {"kernelspec", "language_info"}
    assert not any(cell.metadata for cell in notebook.cells)
    for text in (text for cell in code_cells(notebook) for text in texts(cell)):
        assert not re.search(r"/(tmp|home|root|work|Users|var)\b", text), text
    assert path.stat().st_size < 400_000


@each_notebook
def test_tutorial_has_one_title_and_no_jumps_between_headings(path):
    notebook = nbformat.read(path, as_version=4)
    markdown = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    prose = re.sub(r"(?ms)^```.*?^```", "", markdown)
    levels = [len(marks) for marks in re.findall(r"(?m)^(#+) ", prose)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
