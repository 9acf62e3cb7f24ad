"""A database with every migration and collected static files, made once: houses start from copies.

The tables are those of tests/migrated.py: the migrations run once for both.

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
from subprocess import PIPE

from config.run.embedded_servers import POSTGRES, postgres_bin, socket_folder
from config.run.shared_server import join
from tests.config.helpers import BASE_DIR, own_folder, processes_in, wait_for
from tests.migrated import digest, template

PREFIX = "house-migrated-"
COLLECT = "import django; django.setup(); import config.run.preparation as p; p.collect_static()"
COPY = "import sys, django, pathlib; django.setup(); from tests import migrated_house; "
COPY += "migrated_house.copy_template(pathlib.Path(sys.argv[1]))"


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
    own = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    with own_folder() as var:
        copy = [sys.executable, "-c", COPY, str(var)]
        subprocess.run(copy, cwd=BASE_DIR, env=own, check=True)
        wait_for(lambda: processes_in(var) == [])
        half = kept.with_name(f"{PREFIX}half-made")
        subprocess.run(["cp", "-a", var / "postgres", half], check=True)
        half.rename(kept)


def copy_template(var: Path) -> None:
    """Fill a new PostgreSQL in this folder with the database that tests copy.

    What is read is a copy in turn: nobody can copy a database while another one reads it.
    """
    from django.conf import settings
    from django.db import connection

    join(settings.EARNEST_VAR, settings.EMBEDDED)
    join(var, [POSTGRES])
    taken = f"earnest_taken_{os.getpid()}"
    with connection.creation._nodb_cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{taken}" TEMPLATE "{template(settings.EARNEST_VAR)}"')
        tables = _run("pg_dump", settings.EARNEST_VAR, taken)
        cursor.execute(f'DROP DATABASE "{taken}"')
    _run("psql", var, "earnest", "-q", "-v", "ON_ERROR_STOP=1", text=tables)


def _run(program: str, var: Path, database: str, *words: str, text: str = "") -> str:
    """The output of one of PostgreSQL's programs, asked for a database of this folder."""
    at = ["-h", socket_folder(var), "-U", "earnest", "-d", database]
    done = subprocess.run(
        [postgres_bin() / program, *at, *words], input=text, stdout=PIPE, text=True, check=True
    )
    return done.stdout
