"""Which version runs: that of the project, and the commit where there is a clone."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache
from importlib import metadata

from config.paths import CODE


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
