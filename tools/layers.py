"""The order of packages: a package imports only those before it in its line.

`tests/test_architecture.py` holds every import against these tables; decision 44 says why the
order is this one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tools.locks import ROOT

APPS = ("listening", "metrics", "analysis", "rest", "config")

ORDER = {
    "listening": (
        *("common", "models", "methods", "checks", "design", "audio", "sessions", "access"),
        *("review", "studies", "recruitment", "drafts", "selectors", "accounts", "notifications"),
        *("jobs", "web", "templatetags", "urls", "admin", "apps", "management"),
    ),
    "metrics": (
        *("core", "signal", "networks", "auto_att", "distribution", "models"),
        *("judges", "suite", "scoring", "jobs", "testing", "web", "admin", "apps", "management"),
    ),
    "analysis": (
        *("arrays", "formatting", "name_spans", "citations", "ratings", "statistics", "report"),
        "corpus",
        *("models", "web", "apps", "admin", "management"),
    ),
}

# What an app may import of the others. `rest` and `config` may import everything; nobody imports
# them, but for the sentence about a package that is not installed.
BETWEEN = {
    "listening": ("config.missing_packages",),
    "metrics": (
        *("listening.common", "listening.methods", "listening.models", "listening.selectors"),
        "config.missing_packages",
    ),
    "analysis": (
        *("listening.common", "listening.methods", "listening.models", "listening.selectors"),
        *("listening.design.analysis_rules", "listening.design.pasted_texts"),
        *("listening.design.scanning", "listening.audio.fetching"),
        *("listening.notifications.posting", "metrics.scoring", "config.missing_packages"),
    ),
}

# Packages that work without Django, a database or a deep-learning framework at import.
PURE = (
    *("listening.methods", "listening.checks", "listening.design", "listening.common.sound_files"),
    "listening.common.condition_names",
    *("listening.common.registry", "listening.common.plugins", "listening.common.spreadsheets"),
    *("listening.common.plain_yaml", "listening.common.remote_files"),
    "metrics.scoring.scored_rows",
    *("metrics.core", "metrics.signal", "metrics.networks", "metrics.auto_att"),
    *("metrics.distribution", "metrics.judges", "metrics.suite"),
    *(
        "analysis.arrays",
        "analysis.formatting",
        "analysis.name_spans",
        "analysis.citations",
        "analysis.ratings",
        "analysis.statistics",
    ),
    "analysis.report",
)


def modules(app: str) -> dict[str, Path]:
    """Return the files of an app by their dotted names, without migrations."""
    return {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in sorted((ROOT / app).rglob("*.py"))
        if "migrations" not in path.parts
    }


@cache
def imports(path: Path) -> frozenset[str]:
    """Return the dotted names that a file imports when it runs, at any level of its code."""
    return frozenset(_imports(ast.parse(path.read_text("utf-8"))))


def _imports(node: ast.AST) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        yield from _imports(child)


def upward(app: str) -> list[str]:
    """Return a sentence for each import of an app against the order of its packages."""
    order = ORDER[app]
    wrong = []
    for module, path in modules(app).items():
        own = module.split(".")[1:2]
        if not own:
            continue  # the app's own names, loaded when they are asked for
        for name in imports(path):
            parts = name.split(".")
            inside = parts[0] == app and len(parts) > 1 and parts[1] in order
            if inside and order.index(parts[1]) > order.index(own[0]):
                wrong.append(f"{module} imports {name}")
    return sorted(set(wrong))


def across(app: str) -> list[str]:
    """Return a sentence for each import of another app that `BETWEEN` does not list."""
    wrong = []
    for module, path in modules(app).items():
        for name in imports(path):
            other = name.split(".")[0]
            if other == app or other not in APPS or name == other:
                continue
            if not any(f"{name}.".startswith(f"{allowed}.") for allowed in BETWEEN[app]):
                wrong.append(f"{module} imports {name}")
    return sorted(set(wrong))
