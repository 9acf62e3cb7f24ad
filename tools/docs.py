"""Lays out the pages of the documentation site for Sphinx: python -m tools.docs FOLDER.

Pages stay as they are and where they are to each other, so that their links hold; README.md
becomes the home. `make docs` calls it, then Sphinx.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.locks import ROOT

NAVIGATION = "docs/navigation.toml"
HOME = "README.md"
API = "docs/api-reference.md"
METRICS = "docs/metrics-reference.md"
COMMANDS = "docs/commands-reference.md"
PYTHON = "docs/python-reference.md"
GENERATED = (API, METRICS, COMMANDS, PYTHON)
LLMS = "llms.txt"
END_OF_HOME = "## Read on\n"  # its table is what the navigation says, too
LINK = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")


@dataclass(frozen=True)
class Part:
    title: str
    pages: tuple[str, ...]


@dataclass(frozen=True)
class Navigation:
    parts: tuple[Part, ...]
    below: dict[str, tuple[str, ...]]

    def pages(self) -> list[str]:
        """Every page, once for each time it is named."""
        named = [page for part in self.parts for page in part.pages]
        return named + [page for pages in self.below.values() for page in pages]


def navigation(root: Path = ROOT) -> Navigation:
    declared: dict[str, Any] = tomllib.loads((root / NAVIGATION).read_text("utf-8"))
    below = {
        page: tuple(sorted(path.relative_to(root).as_posix() for path in root.glob(pattern)))
        for page, pattern in declared["below"].items()
    }
    return Navigation(
        tuple(Part(each["title"], tuple(each["pages"])) for each in declared["part"]), below
    )


def lay_out(folder: Path, generated: dict[str, str], root: Path = ROOT) -> None:
    """Write all pages, the generated ones too, and each file that they link to, into a folder."""
    pages = navigation(root)
    shutil.rmtree(folder, ignore_errors=True)
    for page in pages.pages():
        text = generated.get(page) or (root / page).read_text("utf-8")
        if page.endswith(".ipynb"):
            text = of_notebook(text, Path(page).name)
        _write(folder, page, text + toctree(pages.below.get(page, ()), page), root)
    _write(folder, "index.md", home((root / HOME).read_text("utf-8"), pages), root)


def _write(folder: Path, page: str, text: str, root: Path) -> None:
    target = folder / Path(page).with_suffix(".md")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text.replace(f"]({HOME})", "](index.md)"), "utf-8")
    for link in LINK.findall(text):
        linked = (root / page).parent / link
        if linked.is_file() and linked.suffix != ".md":
            copy = target.parent / link
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, copy)


def home(readme: str, pages: Navigation) -> str:
    """The README up to where it says what to read, then the navigation."""
    text, separator, _ = readme.partition(END_OF_HOME)
    if not separator:
        raise SystemExit(
            f"{HOME} has no line “{END_OF_HOME.strip()}”, at which the home page ends."
        )
    return text + "".join(toctree(part.pages, "", part.title) for part in pages.parts)


def toctree(pages: tuple[str, ...], page: str, caption: str = "") -> str:
    """The block by which Sphinx puts pages below a page; nothing without pages."""
    if not pages:
        return ""
    options = f":caption: {caption}\n:maxdepth: 1\n" if caption else ":maxdepth: 1\n"
    names = "".join(f"/{Path(each).with_suffix('')}\n" for each in pages)
    return f"\n\n```{{toctree}}\n{options}\n{names}```\n"


def of_notebook(text: str, name: str) -> str:
    """A notebook without output as a page: its words, and its code as blocks."""
    blocks = [f"[This page as a notebook]({name})"]
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        blocks.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
    title, rest = blocks[1], blocks[2:]
    first, _, more = title.partition("\n")
    return "\n\n".join([first, blocks[0], more.strip(), *rest]) + "\n"


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("Which folder? python -m tools.docs FOLDER", file=sys.stderr)
        return 2
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django

    django.setup()
    from tools import docs_api, docs_reference

    generated = {
        API: docs_api.reference(),
        METRICS: docs_reference.metrics_page(),
        COMMANDS: docs_reference.commands_page(),
        PYTHON: docs_reference.python_page(),
    }
    lay_out(Path(arguments[0]), generated)
    write_llms(Path(arguments[0]))
    return 0


def write_llms(folder: Path) -> None:
    """Write llms.txt, which lists the pages' Markdown; `make docs` puts both beside the pages."""
    from listening.web.researcher.help import llms_text

    pages = {
        part.title: [Path(page).with_suffix(".md").as_posix() for page in part.pages]
        for part in navigation(ROOT).parts
    }
    parts = [(title, [(_title(folder / each), each) for each in of]) for title, of in pages.items()]
    (folder / LLMS).write_text(llms_text(parts), "utf-8")


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(lines).removeprefix("#").strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
