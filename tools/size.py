"""Print the size and the shape of the code: python -m tools.size [--beside REVISION].

A mirror, not a gate: lines, modules, import edges per 1,000 lines, modules with one importer,
and words of the style guide's left column, for each package and beside another revision.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import tarfile
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tools.locks import ROOT

PACKAGES = ("analysis", "config", "earnest", "listening", "metrics", "rest", "tools")
TEXTS = {
    "templates": "*.html",
    "static": "*.[cj]s*",
    "analysis/report/html/templates": "*.*",
}

# Phrases and bare participles that CONTRIBUTING asks to avoid in names, pages and docs.
AVOIDED_PHRASES = re.compile(
    r"cannot be told apart|is told of|whoever runs|\bways in\b|who left|\bdoubtful\b"
    r"|scripted raters?|nobody who|of which there|what was left out|behind the numbers"
    r"|the house\b|\bstoreys?\b|\brooms?\b|\bkeepers?\b|holds? (?:it|them|people) against"
)
AVOIDED_NAMES = re.compile(
    r"\b(?:told|came|kept|spared|gone|settled|given|asked|found|said|made)\b(?= *[=.\[(:,])"
)


@dataclass
class Size:
    """Counts of one tree, by package."""

    lines: Counter[str] = field(default_factory=Counter)
    modules: Counter[str] = field(default_factory=Counter)
    avoided: Counter[str] = field(default_factory=Counter)
    edges: int = 0
    one_importer: int = 0
    python_lines: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def rows(self) -> dict[str, int | float]:
        """Return the totals, by the name that is printed."""
        code = self.python_lines
        return {
            "lines of the product": sum(self.lines.values()) - self.lines["tests"],
            "modules": sum(self.modules.values()),
            "import edges per 1,000 lines": round(1000 * self.edges / max(code, 1), 1),
            "modules with one importer": self.one_importer,
            "avoided names and phrases": sum(self.avoided.values()),
            "lines of tests": self.lines["tests"],
            "words of docs, README and changelog": sum(self.words.values()),
        }


def measure(root: Path) -> Size:
    """Return the size of the tree below `root`."""
    size = Size()
    files = {
        path: path.read_text("utf-8")
        for package in PACKAGES
        for path in sorted((root / package).rglob("*.py"))
        if "migrations" not in path.parts
    }
    names = {path: _module(path, root) for path in files}
    modules = set(names.values())
    importers: Counter[str] = Counter()
    for path, text in files.items():
        package = path.relative_to(root).parts[0]
        size.lines[package] += text.count("\n")
        size.python_lines += text.count("\n")
        size.modules[package] += 1
        size.avoided[package] += _count_avoided(text)
        imported = _imported_modules(text, modules) - {names[path]}
        size.edges += len(imported)
        importers.update(imported)
    size.one_importer = sum(count == 1 for count in importers.values())
    for folder, pattern in TEXTS.items():
        for path in (root / folder).rglob(pattern):
            text = path.read_text("utf-8")
            package = folder.partition("/")[0]
            size.lines[package] += text.count("\n")
            size.avoided[package] += _count_avoided(text, names=False)
    for path in (root / "tests").rglob("*.py"):
        size.lines["tests"] += path.read_text("utf-8").count("\n")
    for path in (*root.glob("*.md"), *(root / "docs").rglob("*.md")):
        text = path.read_text("utf-8")
        size.words[path.relative_to(root).parts[0]] += len(text.split())
        size.avoided["docs"] += _count_avoided(text, names=False)
    return size


def _module(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")


def _count_avoided(text: str, *, names: bool = True) -> int:
    count = len(AVOIDED_PHRASES.findall(text))
    return count + len(AVOIDED_NAMES.findall(text)) if names else count


def _imported_modules(text: str, modules: set[str]) -> set[str]:
    """Return the modules of the product that a module imports, at any level of its code."""
    imported: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            imported |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for each in node.names:
                submodule = f"{node.module}.{each.name}"
                imported.add(submodule if submodule in modules else node.module)
    return imported & modules


def _revision(revision: str) -> Size:
    """Return the size of another revision of this repository."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as archive:
        subprocess.run(["git", "archive", revision], cwd=ROOT, stdout=archive, check=True)
        archive.seek(0)
        with tarfile.open(fileobj=archive) as opened:
            opened.extractall(folder, filter="data")
        return measure(Path(folder))


def main() -> None:
    parser = argparse.ArgumentParser(description="Print the size and the shape of the code.")
    parser.add_argument("--beside", metavar="REVISION", help="compare with this revision")
    revision = parser.parse_args().beside
    now = measure(ROOT)
    before = _revision(revision) if revision else None
    print(f"{'package':<12}{'lines':>9}{'modules':>9}{'avoided':>9}")
    for package in sorted(set(now.lines) | set(now.avoided)):
        counts = (now.lines[package], now.modules[package], now.avoided[package])
        print(f"{package:<12}" + "".join(f"{count:>9,}" for count in counts))
    print()
    for name, value in now.rows().items():
        change = f"  ({before.rows()[name]:,} in {revision})" if before else ""
        print(f"{name:<38}{value:>9,}{change}")


if __name__ == "__main__":
    main()
