"""Run the tutorials from start to finish and save them with their outputs: ``python tests/run_tutorials.py``.

``--check`` saves nothing and fails where a cell fails, warns, or yields other kinds of output than are saved: a table
in place of a figure, but not another number, since machines differ in the last digits. Names of notebooks run only
those. Nothing that differs from run to run is saved: no times, no versions, no folders.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

import scutc

FOLDER = Path(__file__).parent.parent / "tutorials"
SECONDS_PER_CELL = 300


def run_tutorial(path: Path, folder: str) -> Any:
    """The notebook with new outputs, run in this folder; raises where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        timeout=SECONDS_PER_CELL,
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": folder}},
    )
    # Where this variable is set to a backend without a screen, notebooks would show no figures.
    client.execute(env=os.environ | {"MPLBACKEND": "module://matplotlib_inline.backend_inline"})
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def code_cells(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def kinds_of_output(cell: Any) -> list[Any]:
    """Pictures, tables, text: what a cell yields, whatever it says."""
    return [output.get("name") or sorted(output.get("data", {})) for output in cell.outputs]


def warnings_of(cell: Any) -> str:
    return "".join(output.text for output in cell.outputs if output.get("name") == "stderr")


def is_about_us(line: str) -> bool:
    """Whether a line of a warning points to scutc's files or to a cell of the notebook."""
    return str(Path(scutc.__file__).parent) in line or "ipykernel_" in line


def differences(new: Any, saved: Any) -> list[str]:
    """What a notebook that was run warns of, or yields of another kind than what is saved."""
    found = []
    for number, (cell, kept) in enumerate(zip(code_cells(new), code_cells(saved), strict=True), start=1):
        # Other packages may begin to warn; scutc and the tutorials themselves may not.
        found += [f"cell {number}: {line}" for line in warnings_of(cell).splitlines() if is_about_us(line)]
        shown, expected = [kind for kind in kinds_of_output(cell) if kind != "stderr"], kinds_of_output(kept)
        if shown != expected:
            found.append(f"cell {number} yields {shown}, saved is {expected}")
        if cell.execution_count != kept.execution_count:
            found.append(f"cell {number} runs as number {cell.execution_count}, saved is {kept.execution_count}")
    return found


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("notebooks", nargs="*", type=Path, default=sorted(FOLDER.glob("*.ipynb")))
    parser.add_argument("--check", action="store_true", help="save nothing, fail on other kinds of output")
    chosen = parser.parse_args(arguments)
    n_faults = 0
    for path in chosen.notebooks:
        with tempfile.TemporaryDirectory() as folder:
            notebook = run_tutorial(path, folder)
            faults = differences(notebook, nbformat.read(path, as_version=4)) if chosen.check else []
            faults += [f"{left.name} is left behind" for left in Path(folder).iterdir()]
        if not chosen.check:
            nbformat.write(notebook, path)
        print(path.name, *faults, sep="\n    ", flush=True)
        n_faults += len(faults)
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main())
