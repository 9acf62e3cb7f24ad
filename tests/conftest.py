"""What every test may rely on: servers for those that ask for a database, and cases that stay."""

# ruff: noqa: E402
import gc
import os
import sys
import threading
from collections.abc import Generator, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

# Before NumPy is loaded: a process per core runs tests, and threads of linear algebra on small
# matrices would only wait for one another.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# librosa is compiled where it is imported, in every new environment: half as long when nobody makes
# the result fast.
os.environ.setdefault("NUMBA_OPT", "0")

# Circles of objects are sought after 20,000 new ones, not 700: a tenth of all processor time.
gc.set_threshold(20_000, 20, 20)

import pytest
from django.conf import settings
from django.db import connection
from xdist.scheduler import LoadFileScheduling

from config.run.embedded_servers import POSTGRES, EmbeddedError
from config.run.shared_server import join

if TYPE_CHECKING:
    from tests.demo_house import DemoHouse
    from tests.listening.web import WebProcess

pytest_plugins = ["tests.costs"]
TESTS = Path(__file__).resolve().parent


@pytest.hookimpl(tryfirst=True)  # before Hypothesis loads the profile that is asked for
def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--hypothesis-profile", None):
        import_module("tests.property_profiles")
    if hasattr(config, "workerinput") and config.args == ["tests"] and not config.option.ignore:
        config.args = _begun_elsewhere(int(config.workerinput["workerid"].removeprefix("gw")))


def _begun_elsewhere(process: int) -> list[str]:
    """The folders of tests, largest first, from another one on for each process of a parallel run.

    All processes import all tests. In a new clone they would compile each file at the same time,
    each for itself; so they find most of them compiled by another one.
    """
    folders: dict[str, int] = {}
    for file in sorted(TESTS.rglob("test_*.py")):
        name = file.relative_to(TESTS.parent).parts[1]
        folders[f"tests/{name}"] = folders.get(f"tests/{name}", 0) + 1
    largest = sorted(folders, key=lambda name: -folders[name])
    begin = process % len(largest)
    return largest[begin:] + largest[:begin]


def pytest_pycollect_makemodule(module_path: Path) -> None:
    """Only files that use Hypothesis pay for its import."""
    if "hypothesis" in module_path.read_text():
        import_module("tests.property_profiles")


@pytest.fixture(scope="session")
def servers() -> None:
    """PostgreSQL and Valkey, from the first test that needs them to the last of this process."""
    try:
        join(settings.EARNEST_VAR, settings.EMBEDDED)
    except EmbeddedError as error:
        pytest.exit(f"The embedded servers do not start. {error}", returncode=3)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    servers: None, django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: Any
) -> None:
    """Before the database of the tests is made, its server runs, and there is one to copy."""
    if POSTGRES in settings.EMBEDDED:
        from django.test import TransactionTestCase

        from tests.migrated import delete_rows, template

        with django_db_blocker.unblock():
            name = template(settings.EARNEST_VAR)
        connection.settings_dict["TEST"]["TEMPLATE"] = name
        TransactionTestCase._fixture_teardown = lambda self: delete_rows()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    """A new database numbers its rows as the last run’s did: what was cached of those goes.

    Sessions that processes of tests left behind end, so that the database can be dropped.
    """
    from django.core.cache import cache as cached

    from config.operations.shared_counters import counter_server

    server = counter_server()
    for name in server.scan_iter(match=cached.make_key("*"), count=10_000):
        server.delete(name)
    with django_db_blocker.unblock():
        with connection.cursor() as cursor:  # no test cuts the power: nothing waits for the disk
            name = connection.ops.quote_name(connection.settings_dict["NAME"])
            cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        connection.close()
    yield
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A parallel run deals out what stays together first, then long files, then the others."""
    if not hasattr(config, "workerinput"):
        return
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(
        key=lambda item: (_unit(item.nodeid).endswith(".py"), item.path not in slow, item.path)
    )


def _unit(nodeid: str) -> str:
    """Tests of pages take half of the time: one process asks Earnest itself, one a fake server."""
    path = nodeid.split("::", 1)[0]
    if _names(path, "demo_house: DemoHouse"):
        return "DemoHouse"
    if path.startswith("tests/browser/"):
        return "Chromium and Earnest" if _names(path, "WebProcess") else "Chromium"
    return "networks" if path.startswith("tests/metrics/") else path


class Scheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """Files go to processes whole; files that share what is slow to start or import, together."""

    def _split_scope(self, nodeid: str) -> str:
        return _unit(nodeid)


@cache
def _names(path: str, fixture: str) -> bool:
    return fixture in (TESTS.parent / path).read_text()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


@pytest.hookimpl(wrapper=True, trylast=True)  # inside of pytest-cov's own
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """No coverage of tests marked no_cover; pytest-cov leaves a tracer in parallel runs."""
    if item.get_closest_marker("no_cover") is None:
        return (yield)
    here, threads = sys.gettrace(), threading.gettrace()
    sys.settrace(None)
    threading.settrace(None)  # type: ignore[arg-type]
    try:
        return (yield)
    finally:
        threading.settrace(threads)  # type: ignore[arg-type]
        sys.settrace(here)


@pytest.fixture(scope="session")
def web(django_db_setup: None) -> Iterator["WebProcess"]:
    """Pages, clips and sockets on the database of this process: they start once."""
    from tests.listening.web import WebProcess

    with WebProcess() as running:
        yield running


HOUSE = pytest.StashKey["DemoHouse"]()


@pytest.fixture(scope="session")
def demo_house(pytestconfig: pytest.Config) -> Iterator["DemoHouse"]:
    """A supervised house with the demo study, one for all tests of a process."""
    from tests.config.helpers import own_folder
    from tests.demo_house import DemoHouse
    from tests.migrated_house import migrated_into

    with own_folder() as var:
        migrated_into(var)
        house = pytestconfig.stash[HOUSE] = DemoHouse(var).start()
        try:
            yield house
        finally:
            house.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """In a parallel run the demo house ends with the last test that uses it, and idles no more."""
    done = yield
    if HOUSE in item.config.stash and hasattr(item.config, "workerinput"):
        path = str(nextitem.path.relative_to(item.config.rootpath)) if nextitem else ""
        if not (path and _names(path, "demo_house: DemoHouse")):
            item.config.stash[HOUSE].close()
            del item.config.stash[HOUSE]
    return done
