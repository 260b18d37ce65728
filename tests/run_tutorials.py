"""Run the tutorials from start to finish and save them with their outputs: ``python tests/run_tutorials.py``.

Names of notebooks run only those. Nothing that differs from run to run is saved: no times, no versions, no folders.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

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


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:] or sorted(FOLDER.glob("*.ipynb"))):
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(run_tutorial(path, folder), path)
        print(path.name)
