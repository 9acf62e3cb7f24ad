"""Where Earnest's own files lie, and where data goes by default: in a clone, and in a wheel."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from listening.common.command_name import IN_A_CLONE

CODE = Path(__file__).resolve().parent.parent
# In a wheel, templates, static files, words and the demo have a folder beside the code.
FILES = CODE if IN_A_CLONE else CODE / "earnest_files"


def default_var() -> Path:
    """`var` in a clone; else the place that this system keeps a user's data in."""
    if IN_A_CLONE:
        return CODE / "var"
    home = Path.home()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "earnest"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / "earnest"
