"""Which version runs: that of the project, and the commit where there is a clone."""

from __future__ import annotations

import subprocess
import tomllib
from functools import cache

from django.conf import settings


@cache
def version() -> str:
    """Like 0.1.0+1a2b3c4."""
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short=7", "HEAD"],
            cwd=settings.BASE_DIR,
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return str(project["version"])
    commit = done.stdout.strip()
    return f"{project['version']}+{commit}" if commit else str(project["version"])
