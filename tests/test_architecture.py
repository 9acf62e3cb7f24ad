"""Imports point one way, pure packages stay pure, every module says what it is in a sentence."""

import ast
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter

import pytest

from tools.layers import APPS, BETWEEN, ORDER, PURE, ROOT, across, imports, modules, upward

HEAVY = ("django", "torch", "pymc", "rest_framework", "celery", "psycopg")
QUOTES = '"""'
NEVER_IN_LISTENING = {"pandas", "torch", "torchaudio", "pymc", "arviz"}


@pytest.mark.slow
@pytest.mark.parametrize("app", ORDER)
def test_a_package_imports_only_packages_before_it(app):
    top = {module.split(".")[1] for module in modules(app) if "." in module}
    assert top <= set(ORDER[app])
    assert upward(app) == []


@pytest.mark.slow
@pytest.mark.parametrize("app", BETWEEN)
def test_an_app_imports_of_others_only_what_they_offer(app):
    assert across(app) == []


@pytest.mark.slow
@pytest.mark.parametrize("app", APPS)
def test_no_module_imports_itself_by_a_detour(app):
    files = modules(app)
    graph = {}
    for module, path in files.items():
        named = imports(path) & set(files)
        packages = {name for name in named if files[name].name == "__init__.py"}
        inner = {name.rpartition(".")[0] for name in named}
        graph[module] = named - {module, app} - (packages & inner)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}")


@pytest.mark.slow
def test_listening_needs_no_tables_and_no_tensors():
    wrong = [
        f"{module} imports {name}"
        for module, path in modules("listening").items()
        for name in imports(path)
        if name.split(".")[0] in NEVER_IN_LISTENING
    ]
    assert wrong == []


def test_the_client_imports_no_app_and_nothing_that_a_laptop_lacks():
    """It is for other machines than the server's: httpx, and pandas where somebody wants frames."""
    server = {"mcp", "mcp_types"}  # of one module, which the command mcp alone imports
    for module, path in modules("earnest").items():
        found = {name.split(".")[0] for name in imports(path)} - set(sys.stdlib_module_names)
        beside = server if module == "earnest.mcp_server" else {"pandas"}
        assert found <= {"earnest", "httpx"} | beside, module


IMPORT_ALL = """
import importlib, pkgutil, sys
for name in sys.argv[1].split():
    module = importlib.import_module(name)
    for part in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
        importlib.import_module(part.name)
    if found := sorted(set(sys.modules) & set(sys.argv[2].split())):
        sys.exit(f"{name} or a part of it imports {', '.join(found)}")
"""


@pytest.mark.slow
def test_a_pure_package_brings_no_framework_along():
    command = [sys.executable, "-c", IMPORT_ALL, " ".join(PURE), " ".join(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_clock_brings_no_app_and_no_page_along():
    heavy = "listening.apps listening.models listening.selectors analysis metrics rest"
    heavy += " config.urls allauth rest_framework torch"
    command = [sys.executable, "-c", IMPORT_ALL, "config.clock", heavy]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_columns_of_the_ratings_table_are_the_keys_of_a_rating_row():
    from analysis.ratings.cells import COLUMNS
    from listening.selectors import RatingRow

    assert list(COLUMNS) == list(RatingRow.__annotations__)


@pytest.mark.slow
def test_every_module_opens_with_one_sentence():
    wrong = []
    for app in (*APPS, "earnest"):
        for module, path in modules(app).items():
            text = path.read_text("utf-8")
            first = first_line(text)
            if not first.endswith(".") and (text.strip() or path.name != "__init__.py"):
                wrong.append(f"{module}: {first!r}")
    assert wrong == []


def first_line(text: str) -> str:
    """The docstring's; only what stands before its end is parsed."""
    head = text[: text.find(QUOTES, text.find(QUOTES) + 3) + 3] if QUOTES in text else text
    try:
        tree = ast.parse(head)
    except SyntaxError:  # the first quotes are those of something else
        tree = ast.parse(text)
    return (ast.get_docstring(tree) or "").split("\n")[0]


def test_only_settings_read_the_environment():
    """And what torchrun starts, which says nothing elsewhere; Ray, which reads nothing else; and
    what the hub's and torch's own packages read, so that one account has one cache and token."""
    found = [
        module
        for app in ("listening", "metrics", "analysis", "rest")
        for module, path in modules(app).items()
        if "os.environ" in (text := path.read_text("utf-8")) or "getenv" in text
    ]
    assert found == [
        "metrics.auto_att.distributed",
        "metrics.core.model_hosts",
        "metrics.management.commands.score_dataset",
    ]
