"""PyMC and ArviZ come on any account, with a home or without, and say nothing of themselves."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.installation import find_a_place_for_caches
from tests.config.helpers import BASE_DIR, own_folder

SLOW = "Matplotlib is building the font cache; this may take a moment.\n"  # told after 5 s
ARVIZ = """
import config.settings, os
from analysis.statistics.mixed.nuts import load
load("arviz")
print(os.environ["PYTENSOR_FLAGS"].partition("base_compiledir=")[2])
"""
ALL = f"""{ARVIZ}
load("pymc")
assert str(load("pytensor").config.base_compiledir) in os.environ["PYTENSOR_FLAGS"]
"""


@pytest.mark.slow
@pytest.mark.parametrize("code", [ARVIZ, pytest.param(ALL, marks=pytest.mark.soak)])
def test_libraries_of_models_need_no_home_and_print_nothing(code):
    """ArviZ warns where its cache holds no stamp of today, and fails where it cannot make one."""
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("XDG_", "MPL", "PYT"))}
    with own_folder() as var:
        done = subprocess.run(
            [sys.executable, "-W", "error::FutureWarning", "-c", code],
            cwd=BASE_DIR,
            env=bare | {"HOME": "/dev/null/none", "EARNEST_VAR": str(var)},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr.replace(SLOW, "")) == (0, "")
        assert done.stdout.split() == [str(var / "cache" / "pytensor")]


def test_who_has_a_home_keeps_its_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    variables: dict[str, str] = {}
    find_a_place_for_caches(variables, tmp_path / "other")
    assert variables == {}


def test_a_cache_that_cannot_be_written_is_replaced_and_flags_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    variables = {"XDG_CACHE_HOME": "/dev/null/none", "PYTENSOR_FLAGS": "mode=JAX"}
    find_a_place_for_caches(variables, Path("/there"))
    assert variables == {
        "XDG_CACHE_HOME": "/there",
        "MPLCONFIGDIR": "/there/matplotlib",
        "PYTENSOR_FLAGS": "mode=JAX,base_compiledir=/there/pytensor",
    }
