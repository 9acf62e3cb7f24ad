"""The house stands as drawn: arrows between rooms, pure modules, sizes, one sentence per module."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("config", "listening", "metrics", "analysis", "rest")
DOORS = {  # of each room what needs a framework; all else in it is pure
    "listening": (
        *(
            "access",
            "addresses",
            "asked_jobs",
            "queues",
            "judging",
            "pay_marks",
            "summaries",
            "account_urls",
            "accounts",
            "events",
            "projects",
            "versions",
            "admin",
            "allocation",
            "answers",
            "api",
            "apps",
            "audio",
            "bots",
            "consumers",
            "decisions",
            "draws",
        ),
        *(
            "feedback",
            "jobs",
            "kept",
            "languages",
            "layout",
            "line_marks",
            "fetches",
            "drafts",
            "erasure",
            "retention",
            "leases",
            "outcomes",
            "pay_marks",
            "management",
            "migrations",
            "models",
        ),
        *(
            "models",
            "monitor",
            "notifications",
            "prolific_links",
            "source_quotas",
            "invitations",
            "previews",
            "recruitment",
            "researcher_urls",
            "review",
            "routing",
            "selectors",
        ),
        *(
            "sessions",
            "signals",
            "stages",
            "statements",
            "studies",
            "tables",
            "task_rules",
            "templatetags",
            "throttling",
            "trial_rows",
            "urls",
        ),
        "views",
    ),
    "metrics": (
        *("admin", "apps", "beside_raters", "clip_warnings", "code_suggestions", "code_views"),
        *("details", "event_views", "remainder"),
        *("forms", "hints", "imports", "jobs"),
        *("management", "migrations"),
        *(
            "models",
            "pages",
            "runs",
            "scoring",
            "selectors",
            "score_tables",
            "sums",
            "urls",
            "views",
        ),
    ),
    "analysis": ("admin", "apps", "management", "migrations", "models", "web"),
}
STOREYS = {  # of analysis, from the ground up: a module imports of its own storey and those below
    "types and words": ("arrays", "formatting"),
    "the table": ("ratings",),
    "statistics": ("statistics",),
    "reports": ("report",),
    "pages, jobs and commands": DOORS["analysis"],
}
HEAVY = ("django", "torch", "pymc", "rest_framework", "celery", "psycopg")
ALLOWED = {  # room -> what it may import of other rooms, and of the hall: one sentence for what is
    # not installed, and how a command is typed, the same on pages, in jobs and in commands
    "listening": (),
    "metrics": (
        *("listening.selectors", "listening.methods", "listening.registry"),
        *("listening.signals", "listening.program", "config.missing"),
        *("listening.asked_jobs", "listening.queues", "listening.sound_files"),
        *("listening.spreadsheets", "listening.plain_yaml", "listening.loudness"),
        *("listening.plain_json", "listening.plain_toml", "listening.input_limits"),
        "listening.reading_process",
        "listening.ages",
    ),
    "analysis": (
        *("listening.selectors", "listening.methods", "listening.registry", "metrics.selectors"),
        *(
            "metrics.score_rows",
            "listening.signals",
            "listening.spreadsheets",
            "listening.program",
            "config.missing",
        ),
        "listening.asked_jobs",
        "listening.ages",
    ),
    "rest": ("listening", "metrics", "analysis"),  # doors for scripts: nobody imports it but config
}
NEVER_IN_LISTENING = ("pandas", "torch", "torchaudio", "pymc", "arviz")


def sources(room: str) -> list[Path]:
    return [p for p in sorted((ROOT / room).rglob("*.py")) if "migrations" not in p.parts]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(named_by(path))


def named_by(path: Path) -> Iterator[str]:
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inside(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.slow
@pytest.mark.parametrize("room", ALLOWED)
def test_arrows_between_rooms_point_one_way(room):
    wrong = []
    for path in sources(room):
        for name in imports(path):
            other = next((r for r in ROOMS if r != room and inside(name, r)), None)
            if other is None or name == other:
                continue
            if not any(inside(name, allowed) for allowed in ALLOWED[room]):
                wrong.append(f"{path.relative_to(ROOT)} imports {name}")
    assert wrong == []


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def arrows(room: str) -> dict[str, set[str]]:
    """Each module of a room with the modules of the room that it imports, anywhere in its file."""
    modules = {module_of(path): path for path in sources(room)}
    found: dict[str, set[str]] = {}
    for module, path in modules.items():
        named = set(imports(path)) & set(modules)
        packages = {name for name in named if modules[name].name == "__init__.py"}
        inner = {name.rpartition(".")[0] for name in named}
        found[module] = named - {module, room} - (packages & inner)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("room", ROOMS)
def test_no_module_imports_itself_by_a_detour(room):
    try:
        TopologicalSorter(arrows(room)).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of imports: {' -> '.join(reversed(error.args[1]))}")


@pytest.mark.slow
@pytest.mark.parametrize("room", ["statistics", "report", "ratings", "web"])
def test_no_package_of_a_storey_imports_itself_by_a_detour(room):
    def package(module: str) -> str:
        return ".".join(module.split(".")[:3])

    inside_of: dict[str, set[str]] = {}
    for module, others in arrows("analysis").items():
        if inside(module, f"analysis.{room}"):
            near = {package(other) for other in others if inside(other, f"analysis.{room}")}
            inside_of.setdefault(package(module), set()).update(near - {package(module)})
    try:
        TopologicalSorter(inside_of).prepare()
    except CycleError as error:
        pytest.fail(f"a circle of packages: {' -> '.join(reversed(error.args[1]))}")


@pytest.mark.slow
def test_storeys_of_analysis_import_downwards():
    floor = {noun: at for at, nouns in enumerate(STOREYS.values()) for noun in nouns}
    assert {module_of(path).split(".")[1] for path in sources("analysis")[1:]} <= set(floor)
    wrong = [
        f"{module} imports {other}"
        for module, others in arrows("analysis").items()
        if module != "analysis"  # the names for scripts, loaded when they are asked for
        for other in others
        if floor[other.split(".")[1]] > floor[module.split(".")[1]]
    ]
    assert wrong == []


@pytest.mark.slow
def test_listening_knows_nothing_of_tables_and_tensors():
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in sources("listening")
        for name in imports(path)
        if any(inside(name, heavy) for heavy in NEVER_IN_LISTENING)
    ]
    assert wrong == []


@pytest.mark.slow
def test_doors_of_listening_are_not_imported_by_its_rules():
    doors = ("views", "api", "consumers", "jobs", "bots", "management", "admin", "urls", "routing")
    rules = ("models", "methods", "checks", "design", "audio")
    singles = (
        "studies",
        "allocation",
        "fetches",
        "leases",
        "outcomes",
        "sessions",
        "answers",
        "refusals",
        "statements",
    )
    singles += ("review", "task_rules", "feedback", "layout", "stages", "selectors", "prelaunch")
    wrong = []
    for path in sources("listening"):
        noun = path.relative_to(ROOT / "listening").parts[0].removesuffix(".py")
        if noun in rules + singles:
            wrong += [
                f"{path.relative_to(ROOT)} imports {name}"
                for name in imports(path)
                if any(inside(name, f"listening.{door}") for door in doors)
            ]
    assert wrong == []


def test_the_client_imports_no_room_and_nothing_that_a_laptop_lacks():
    """It is for other machines than the server's: httpx, and pandas where somebody wants frames."""
    found = {name.split(".")[0] for path in sources("earnest") for name in imports(path)}
    assert found - set(sys.stdlib_module_names) == {"earnest", "httpx", "pandas"}


IMPORT_ALL = """
import importlib, pkgutil, sys
for name in sys.argv[1].split():
    module = importlib.import_module(name)
    for part in pkgutil.walk_packages(getattr(module, "__path__", []), name + "."):
        importlib.import_module(part.name)
    if found := sorted(set(sys.modules) & set(sys.argv[2].split())):
        sys.exit(f"{name} or a part of it imports {', '.join(found)}")
"""


def pure() -> list[str]:
    """All modules and packages of the rooms but their doors."""
    return [
        f"{room}.{path.stem}"
        for room, doors in DOORS.items()
        for path in sorted((ROOT / room).iterdir())
        if (path.suffix == ".py" or (path / "__init__.py").exists())
        if path.stem not in ("__init__", *doors)
    ]


@pytest.mark.slow
def test_a_pure_module_brings_no_framework_along():
    command = [sys.executable, "-c", IMPORT_ALL, " ".join(pure()), " ".join(HEAVY)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_the_clock_brings_no_room_and_no_page_along():
    left = "listening.apps listening.models listening.selectors analysis metrics rest"
    left += " config.urls allauth rest_framework torch"
    command = [sys.executable, "-c", IMPORT_ALL, "config.clock", left]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_columns_of_the_ratings_table_are_the_keys_of_a_rating_row():
    from analysis.ratings.table import COLUMNS
    from listening.selectors import RatingRow

    assert list(COLUMNS) == list(RatingRow.__annotations__)


@pytest.mark.slow
def test_every_module_opens_with_one_sentence():
    wrong = []
    for path in (p for room in (*ROOMS, "earnest") for p in sources(room)):
        if path.name == "__init__.py" and not path.read_text().strip():
            continue
        docstring = ast.get_docstring(tree(path)) or ""
        first = docstring.split("\n")[0]
        if not first.endswith("."):
            wrong.append(f"{path.relative_to(ROOT)}: {first!r}")
    assert wrong == []


def test_ids_and_file_names_of_the_machine_stay_out_of_the_house():
    """Settings read the environment; else only what torchrun starts: it says nothing elsewhere."""
    found = [
        str(path.relative_to(ROOT))
        for room in ("listening", "metrics", "analysis", "rest")
        for path in sources(room)
        if "os.environ" in path.read_text() or "getenv" in path.read_text()
    ]
    assert found == ["metrics/auto_att/ranks.py"]


def headings(name: str) -> list[str]:
    lines = (ROOT / "docs" / name).read_text().splitlines()
    return [line.lstrip("# ").strip() for line in lines if line.startswith("#")]


def test_every_method_and_check_has_its_heading_in_the_docs():
    from listening.checks import Check
    from listening.methods import Method

    found = " ".join(headings("methods.md"))
    assert [key for key in (*Method.registry, *Check.registry) if f"`{key}`" not in found] == []
