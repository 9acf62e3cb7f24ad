"""A database with every migration and collected static files, made once: houses start from copies.

That a house starts from nothing is seen in tests/config/test_supervisor.py.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from tests.config.helpers import BASE_DIR, own_folder, processes_in, wait_for
from tests.migrated import digest

PREFIX = "house-migrated-"
COLLECT = "import django; django.setup(); import config.run.preparation as p; p.collect_static()"


def migrated_into(var: Path) -> None:
    """Gives the new folder of a house a database that is migrated and stopped, and its files."""
    home = Path(os.environ["EARNEST_VAR"])
    kept = home / f"{PREFIX}{digest()}"
    with (home / "house-migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            for other in home.glob(f"{PREFIX}*"):
                shutil.rmtree(other)
            make(kept)
        collect()
        subprocess.run(["cp", "-a", home / "static", var / "static"], check=True)
    subprocess.run(["cp", "-a", kept, var / "postgres"], check=True)


@cache
def collect() -> None:
    """Static files under hashed names, in EARNEST_VAR; not made again where nothing changed."""
    own = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    with (Path(os.environ["EARNEST_VAR"]) / "static.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, "-c", COLLECT], cwd=BASE_DIR, env=own, check=True)


def make(kept: Path) -> None:
    """In a folder with a short name, as sockets need it; kept when its server has stopped."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("DJANGO_", "EARNEST_"))}
    with own_folder() as var:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            cwd=BASE_DIR,
            env=clean | {"EARNEST_VAR": str(var)},
            check=True,
        )
        wait_for(lambda: processes_in(var) == [])
        half = kept.with_name(f"{PREFIX}half-made")
        subprocess.run(["cp", "-a", var / "postgres", half], check=True)
        half.rename(kept)
