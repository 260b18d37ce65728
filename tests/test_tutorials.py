from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

import scutc
from run_tutorials import FOLDER, code_cells, differences, main, warnings_of

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def texts(cell):
    """What a cell printed or showed, as text."""
    for output in cell.outputs:
        yield output.get("text", "")
        yield from (str(value) for kind, value in output.get("data", {}).items() if kind.startswith("text/"))


def test_tutorials_are_numbered_in_order():
    assert [path.name.split("_")[0] for path in NOTEBOOKS] == ["1", "2", "3", "4", "5", "6"]


def new_notebook(*cells):
    """Code cells that were run, by their outputs."""
    numbered = enumerate(cells, start=1)
    run = [nbformat.v4.new_code_cell(execution_count=number, outputs=list(outputs)) for number, outputs in numbered]
    return nbformat.v4.new_notebook(cells=run)


PRINTED = nbformat.v4.new_output("stream", name="stdout", text="ARI 0.9")
PICTURE = nbformat.v4.new_output("display_data", data={"image/png": "", "text/plain": "<Figure>"})


def warned(where):
    return nbformat.v4.new_output("stream", name="stderr", text=f"{where}:7: UserWarning: careful\n  call()")


@pytest.mark.parametrize(
    ("new", "found"),
    [
        (new_notebook([PRINTED], [PICTURE]), []),
        (new_notebook([PRINTED | {"text": "ARI 0.8"}], [PICTURE]), []),  # numbers may differ from machine to machine
        (new_notebook([PRINTED, warned("/elsewhere/sklearn/base.py")], [PICTURE]), []),
        (new_notebook([PRINTED, warned(Path(scutc.__file__))], [PICTURE]), ["cell 1: .*careful"]),
        (new_notebook([PRINTED], [PICTURE, warned("/tmp/ipykernel_12/3.py")]), ["cell 2: .*careful"]),
        (new_notebook([PRINTED], []), ["cell 2 yields .*saved is .*image/png"]),
        (new_notebook([PICTURE], [PRINTED]), ["cell 1 yields", "cell 2 yields"]),
    ],
)
def test_the_check_that_runs_tutorials_finds_what_differs_from_what_is_saved(new, found):
    faults = differences(new, new_notebook([PRINTED], [PICTURE]))
    assert len(faults) == len(found)
    for fault, expected in zip(faults, found, strict=True):
        assert re.match(expected, fault)


def test_the_check_fails_for_other_outputs_and_files_left_behind_and_saves_nothing(tmp_path, capsys):
    notebook = new_notebook([PICTURE])
    notebook.cells[0].source = "open('a.txt', 'w').close()\nprint(1)"
    nbformat.write(notebook, path := tmp_path / "a.ipynb")
    before = path.read_bytes()
    assert main(["--check", str(path)]) == 1
    assert path.read_bytes() == before
    name, output, left_behind = capsys.readouterr().out.splitlines()
    assert name == "a.ipynb"
    assert "cell 1 yields ['stdout']" in output
    assert "a.txt is left behind" in left_behind


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
