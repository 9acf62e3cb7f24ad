"""The notebook of the docs runs from top to bottom, and is stored without output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "docs" / "notebooks" / "from-ratings-to-figure.ipynb"


def cells():
    return json.loads(NOTEBOOK.read_text("utf-8"))["cells"]


def test_the_notebook_is_stored_without_output():
    code = [cell for cell in cells() if cell["cell_type"] == "code"]
    assert len(code) > 4
    assert [(cell["outputs"], cell["execution_count"]) for cell in code] == [([], None)] * len(code)


@pytest.mark.slow
def test_the_notebook_goes_from_ratings_to_the_figure(tmp_path):
    from analysis import from_csv, to_csv

    source = ROOT / "tests" / "data" / "analysis" / "mos_s2.csv.gz"
    ratings = from_csv(
        source,
        columns={"condition": "system", "item": "text", "trap": "is_trap"},
        constants={"task": "mos", "method": "mos", "criterion": "naturalness"},
        ignore=["condition", "task", "trial"],
    )
    (tmp_path / "results").mkdir()
    to_csv(ratings.head(400), tmp_path / "results" / "ratings.csv")
    script = tmp_path / "notebook.py"
    sources = ["".join(cell["source"]) for cell in cells() if cell["cell_type"] == "code"]
    script.write_text("\n\n".join(sources), "utf-8")
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "400 ratings by 14 raters" in done.stdout
    assert "Before you rely on this:" in done.stdout
    assert (tmp_path / "own-figure.pdf").read_bytes().startswith(b"%PDF")
    drawn = sorted(tmp_path.glob("answer*"))
    assert [path.suffix for path in drawn] == [".pdf", ".png", ".svg"]
    assert "Naturalness" in drawn[2].read_text("utf-8") or "MOS" in drawn[2].read_text("utf-8")
