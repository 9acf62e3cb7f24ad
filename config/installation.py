"""An installation: where its files lie, which version runs, where libraries keep their caches."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import MutableMapping
from functools import cache
from importlib import metadata
from pathlib import Path

from listening.common.command_name import CODE, IN_A_CLONE


def default_var() -> Path:
    """`var` in a clone; else the place that this system keeps a user's data in."""
    if IN_A_CLONE:
        return CODE / "var"
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "earnest"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "earnest"


@cache
def version() -> str:
    """Like 0.1.0+1a2b3c4; of an installed wheel 0.1.0."""
    project = CODE / "pyproject.toml"
    if not project.exists():
        return metadata.version("earnest")
    number = str(tomllib.loads(project.read_text())["project"]["version"])
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=7", "HEAD"],
            cwd=CODE,
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return number
    commit = done.stdout.strip()
    return f"{number}+{commit}" if commit else number


def find_a_place_for_caches(variables: MutableMapping[str, str], folder: Path) -> None:
    """Where home or cache cannot be written, e.g. of a service, libraries get `folder`.

    ArviZ and PyTensor (and so PyMC) could not be imported otherwise; Matplotlib and those that
    fetch models would start anew each time.
    """
    usual = Path(variables.get("XDG_CACHE_HOME") or "~/.cache")
    if _can_be_written(Path("~")) and _can_be_written(usual):
        return
    variables["XDG_CACHE_HOME"] = str(folder)
    variables.setdefault("MPLCONFIGDIR", str(folder / "matplotlib"))
    flags = variables.get("PYTENSOR_FLAGS", "")
    if "compiledir" not in flags:
        own = f"base_compiledir={folder / 'pytensor'}"
        variables["PYTENSOR_FLAGS"] = f"{flags},{own}" if flags else own


def _can_be_written(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is not there."""
    try:
        place = folder.expanduser()
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except (OSError, RuntimeError):  # RuntimeError: nobody knows a home
        return False
