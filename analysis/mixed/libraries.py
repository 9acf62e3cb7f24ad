"""PyMC, ArviZ and what they load: imported when asked for, on any account, without ArviZ's advert.

ArviZ 0.23 warns of its next edition at its first import of a day, and keeps a stamp in the user's
cache; PyMC 5 needs this edition. PyTensor keeps a folder in the user's home. An account without a
home (a service, a container) gets a temporary folder for both.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_NEXT_EDITION = r"\s*ArviZ is undergoing a major refactor"


def load(name: str) -> Any:
    """The module ``name``, e.g. ``"arviz"`` or ``"pymc"``; ImportError where it is missing."""
    _find_a_place_for_caches()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=_NEXT_EDITION, category=FutureWarning)
        return import_module(name)


@cache
def _find_a_place_for_caches() -> None:
    if _can_be_written(Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache")) and _can_be_written(
        Path("~")
    ):
        return
    folder = tempfile.mkdtemp(prefix="earnest-cache-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    os.environ["XDG_CACHE_HOME"] = folder
    os.environ.setdefault("MPLCONFIGDIR", folder)
    flags = os.environ.get("PYTENSOR_FLAGS", "")
    if "base_compiledir" not in flags:
        os.environ["PYTENSOR_FLAGS"] = ",".join(filter(None, [flags, f"base_compiledir={folder}"]))


def _can_be_written(folder: Path) -> bool:
    """Whether files can be made in the folder, which is made if it is not there."""
    try:
        place = folder.expanduser()
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return True
    except (OSError, RuntimeError):  # RuntimeError: no home is known
        return False
