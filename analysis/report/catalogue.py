"""What parts there are, read from their source: for pages, in a process without pandas."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "parts"


@dataclass(frozen=True)
class Entry:
    """A part as a page offers it; ``about`` is the first line of its class's docstring."""

    key: str
    title: str
    about: str
    order: int = 50
    always: bool = True
    presets: frozenset[str] = frozenset()
    cost: str = ""  # in words, of parts that take long


@cache
def catalogue() -> dict[str, Entry]:
    """Every part by its key in the order of the page, as `analysis.report.part.parts` has them."""
    files = sorted(FOLDER.rglob("*.py"))
    entries = [entry for path in files for entry in _entries(path.read_text("utf-8"))]
    return {
        entry.key: entry for entry in sorted(entries, key=lambda entry: (entry.order, entry.key))
    }


def presets() -> list[str]:
    """The reports that parts belong to, such as att."""
    return sorted({preset for entry in catalogue().values() for preset in entry.presets})


def optional_parts() -> list[Entry]:
    """What can be asked for beside the parts that every report has and those of presets."""
    return [e for e in catalogue().values() if not e.always and not e.presets]


def _entries(source: str) -> Iterator[Entry]:
    known: dict[str, dict[str, Any]] = {"Part": {}, "FamilyPart": {}}  # what each class says
    for node in ast.parse(source).body:
        bases = [_named(base) for base in node.bases] if isinstance(node, ast.ClassDef) else []
        base = next((known[name] for name in bases if name in known), None)
        if not isinstance(node, ast.ClassDef) or base is None:
            continue
        own = dict(_values(node))
        values = known[node.name] = base | own
        if "key" in own and "title" in values:
            about = (ast.get_docstring(node) or "").split("\n")[0]
            names = ("key", "title", "order", "always", "presets", "cost")
            yield Entry(about=about, **{name: values[name] for name in names if name in values})


def _values(node: ast.ClassDef) -> Iterator[tuple[str, object]]:
    """The class's plain values: literals, and frozenset of one."""
    for line in node.body:
        target = line.targets[0] if isinstance(line, ast.Assign) else None
        if isinstance(line, ast.AnnAssign):
            target = line.target
        if not isinstance(target, ast.Name) or not isinstance(line, ast.Assign | ast.AnnAssign):
            continue
        value = line.value
        if isinstance(value, ast.Call) and _named(value.func) == "frozenset":
            yield target.id, frozenset(ast.literal_eval(value.args[0]) if value.args else ())
        elif value is not None:
            try:
                yield target.id, ast.literal_eval(value)
            except ValueError:
                continue  # made by code: not among what a page needs


def _named(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
