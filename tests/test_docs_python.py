"""The page of docs about the statistics from Python: every line runs and prints what it says."""

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import analysis

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
def test_the_page_prints_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    blocks = BLOCK.findall(PAGE.read_text("utf-8"))
    assert len(blocks) >= 8
    for code, told in blocks:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(PAGE), "exec"), names)
        assert printed.getvalue() == told, code


def test_every_name_of_the_library_is_there_and_documented() -> None:
    for name in analysis.__all__:
        assert getattr(analysis, name).__doc__, name
    with pytest.raises(AttributeError):
        analysis.nothing_of_the_kind  # noqa: B018


def test_the_library_loads_nothing_heavy_until_it_is_used() -> None:
    code = (
        "import sys, analysis; print({'pandas', 'scipy', 'django', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "set()", done.stderr
