from __future__ import annotations

import pytest
import scanpy as sc

import scutc
from conftest import make_groups
from scutc.tl._progress import progress_bar


@pytest.fixture
def with_hints():
    before = sc.settings.verbosity
    sc.settings.verbosity = 3
    yield
    sc.settings.verbosity = before


def test_a_bar_is_shown_of_what_takes_a_while_and_then_is_gone(with_hints, capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("tqdm.std.time", lambda: now[0])
    for _ in progress_bar("quick")(range(100)):
        now[0] += 0.009
    assert capsys.readouterr().err == ""
    for _ in progress_bar("slow")(range(100)):
        now[0] += 0.5
    *moved, last = capsys.readouterr().err.rstrip("\r").split("\r")
    assert "100/100" in moved[-1]
    assert last.strip() == ""


@pytest.mark.parametrize("n_landmarks", [None, 40])
def test_a_run_names_its_stages_in_few_lines_that_speak_of_cells(monkeypatch, n_landmarks):
    lines = []
    monkeypatch.setattr(sc.logging, "hint", lines.append)
    scutc.tl.utc(make_groups((40, 30, 20), n_genes=300), n_landmarks=n_landmarks)
    assert 7 <= len(lines) == len(set(lines)) <= 10
    assert not any("sample" in line for line in lines)
    assert all(sum(f"order {order}" in line for line in lines) == 1 for order in (2, 3, 4))
